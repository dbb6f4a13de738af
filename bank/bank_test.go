package bank

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// oracle has a Bank, and a single filter for each of its members.
type oracle struct {
	*Bank
	filters []*bloom.Filter
}

func newOracle(t testing.TB, m uint64, k int) *oracle {
	b := bloom.Must(NewSize(m, k))
	return &oracle{Bank: b}
}

func (o *oracle) append(t testing.TB) {
	require.Equal(t, len(o.filters), o.Append())
	o.filters = append(o.filters, bloom.Must(bloom.NewSize(o.M(), o.K())))
}

func (o *oracle) add(t testing.TB, i int, h bloom.Hash) {
	filtertest.Equal(t, o.filters[i].AddHash(h), o.AddHash(i, h))
}

// which asks the single filters, one after the other.
func (o *oracle) which(hs ...bloom.Hash) (found []int) {
	for i, f := range o.filters {
		if !slices.ContainsFunc(hs, func(h bloom.Hash) bool { return !f.ContainsHash(h) }) {
			found = append(found, i)
		}
	}
	return found
}

// asker has the methods that every form of a Bank has.
type asker interface {
	Which(dst []int, h bloom.Hash) []int
	WhichAll(dst []int, hs []bloom.Hash) []int
	ContainsHash(i int, h bloom.Hash) bool
	Filter(i int) *bloom.Filter
	Len() int
	Info() bloom.Info
	Stats() bloom.Stats
}

// requireSame requires that some forms of a Bank answer as the single filters do.
func (o *oracle) requireSame(t testing.TB, hs []bloom.Hash, forms ...asker) {
	t.Helper()
	for i := 1; i < len(hs); i++ {
		one, both := o.which(hs[i]), o.which(hs[i-1:i+1]...)
		for _, a := range forms {
			require.Equal(t, append([]int{-1}, one...), a.Which([]int{-1}, hs[i]))
			require.Equal(t, both, a.WhichAll(nil, hs[i-1:i+1]))
		}
	}
	var want bloom.Stats
	for _, f := range o.filters {
		s := f.Stats()
		want.OnesCount += s.OnesCount
		want.ApproxCount += s.ApproxCount
		want.FillRatio += s.FillRatio / float64(len(o.filters))
		want.FPR += s.FPR / float64(len(o.filters))
	}
	for _, a := range forms {
		o.requireSameMembers(t, hs, a, want)
	}
}

func (o *oracle) requireSameMembers(t testing.TB, hs []bloom.Hash, a asker, want bloom.Stats) {
	t.Helper()
	require.Equal(t, len(o.filters), a.Len())
	require.Equal(t, o.Bank.Info(), a.Info())
	require.Len(t, a.WhichAll(nil, nil), len(o.filters))
	for i := len(o.filters) - 1; i >= 0; i -= 1 + len(o.filters)/50 {
		require.True(t, o.filters[i].Equal(a.Filter(i)), "member %d", i)
		require.Equal(t, a.Info(), a.Filter(i).Info())
		for _, h := range hs {
			filtertest.Equal(t, o.filters[i].ContainsHash(h), a.ContainsHash(i, h))
		}
	}
	got := a.Stats()
	require.Equal(t, want.OnesCount, got.OnesCount)
	require.Equal(t, want.ApproxCount, got.ApproxCount)
	if len(o.filters) > 0 {
		require.InDelta(t, want.FillRatio, got.FillRatio, 1e-12)
		require.InDelta(t, want.FPR, got.FPR, 1e-12)
	}
	require.Equal(t, o.M(), got.M)
	require.Equal(t, o.K(), got.K)
	require.Equal(t, o.SizeBytes(), got.SizeBytes)
}

// walk returns a Bank after random steps of every kind. It also returns keys: the Bank may have the
// first half of them.
func walk(t testing.TB, m uint64, k, members int, seed uint64) (*oracle, []bloom.Hash) {
	o := newOracle(t, m, k)
	hs := filtertest.Digests(seed, 40)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for len(o.filters) < members {
		switch n := len(o.filters); {
		case n > 0 && rnd.IntN(100) == 0:
			i := rnd.IntN(n)
			o.Clear(i)
			o.filters[i].Reset()
		case rnd.IntN(4) == 0:
			f := bloom.Must(bloom.NewSize(m*uint64(1+rnd.IntN(3)), k))
			f.AddHash(hs[rnd.IntN(len(hs)/2)])
			folded := bloom.Must(f.Fold(int(f.M() / o.M())))
			got, err := o.AppendFilter(f)
			require.NoError(t, err)
			require.Equal(t, n, got)
			o.filters = append(o.filters, folded)
		default:
			o.append(t)
		}
		o.add(t, rnd.IntN(len(o.filters)), hs[rnd.IntN(len(hs)/2)])
	}
	return o, hs
}

// TestOracle compares a Bank with single filters, around the numbers of members at which rows
// get wider and segments begin.
func TestOracle(t *testing.T) {
	for _, test := range []struct {
		m       uint64
		k       int
		members []int
	}{
		{576, 7, []int{0, 1, 31, 32, 33, 63, 64, 65, 96, 97, 128, 448, 449, 1000}},
		{128, 3, []int{300, 16320, 16321, 16352, segmentMembers - 1, segmentMembers, segmentMembers + 1}},
		{64, 1, []int{70, 2*segmentMembers + 40}},
		{1024, 9, []int{40}},
		{192, 190, []int{40}},
	} {
		for _, members := range test.members {
			if testing.Short() && members > 2000 && members != segmentMembers+1 {
				continue
			}
			t.Run(fmt.Sprintf("m=%d/k=%d/members=%d", test.m, test.k, members), func(t *testing.T) {
				o, hs := walk(t, test.m, test.k, members, uint64(members))
				o.requireSame(t, hs, o.Bank)
				if members > 0 {
					o.SetName(members-1, "the last")
					o.AddHash(members-1, hs[0])
					o.Clear(members - 1)
					require.Empty(t, o.Name(members-1))
					require.Zero(t, o.Filter(members-1).OnesCount())
					o.AddHash(members-1, hs[0])
				}
				o.Reset()
				require.Zero(t, o.Stats().OnesCount)
			})
		}
	}
}

func (b *Bank) segmentsOf() *[]segment {
	_, segments := b.state.current()
	return &segments
}

// TestWidenedRowsAreCopies: when wider rows replace the rows of a segment, a look-up that has begun
// continues with the old rows.
func TestWidenedRowsAreCopies(t *testing.T) {
	b := bloom.Must(NewSize(64, 3))
	b.Append()
	before := *b.segmentsOf()
	was := before[0].stride
	for (*b.segmentsOf())[0].stride == was {
		b.Append()
	}
	require.Equal(t, was, before[0].stride)
	require.Equal(t, fmt.Sprintf("bank.Bank(m=64, k=3, members=%d)", b.Len()), b.String())
}

// TestMembersHaveBloomsSize: members have the size of bloom.New's filters.
func TestMembersHaveBloomsSize(t *testing.T) {
	for _, n := range []uint64{1, 3, 50, 1e6} {
		for _, p := range []float64{0.5, 0.01, 1e-6} {
			b, f := bloom.Must(New(n, p)), bloom.Must(bloom.New(n, p))
			require.Equal(t, f.M(), b.M())
			require.Equal(t, f.K(), b.K())
			require.Equal(t, bloom.Info{N: n, P: p}, b.Info())
			_, err := b.AppendFilter(f)
			require.NoError(t, err)
		}
	}
	for want, err := range map[string]error{
		"bank: p = 0 is outside (0, 1)":                         second(New(1, 0)),
		"bank: p = 1 is outside (0, 1)":                         second(New(1, 1)),
		"bank: k = 0 is outside [1, 255]":                       second(NewSize(64, 0)),
		"bank: k = 64 is more than m = 7; are the two swapped?": second(NewSize(7, 64)),
		"bank: k = 256 is outside [1, 255]":                     second(NewSize(64, 256)),
		"bank: m = 0 is outside [1, ":                           second(NewSize(0, 1)),
		"bank: m = 1099511627776 is outside":                    second(NewSize(1<<40, 1)),
		"bank: p = 1e-100 is too low: it needs 332 hashes":      second(New(1, 1e-100)),
	} {
		require.ErrorContains(t, err, want)
	}
}

func second(_ *Bank, err error) error { return err }

// TestFilterThatDoesNotFit: AppendFilter refuses a filter that does not fit, and changes nothing.
func TestFilterThatDoesNotFit(t *testing.T) {
	b := bloom.Must(NewSize(192, 3))
	b.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
	b.AddString(b.Append(), "a")
	other := bloom.Must(bloom.NewSize(192, 3))
	other.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumUTF16" })
	unfit := map[string]*bloom.Filter{
		"bank: filters differ in strategy: Mitz64 and Mitz32": bloom.Must(
			bloom.NewWithStrategy(bloom.Mitz32, 10, 0.1)),
		"bank: filters differ in k: 3 and 4":                         bloom.Must(bloom.NewSize(192, 4)),
		"bank: filters differ in m: 192 and 64":                      bloom.Must(bloom.NewSize(64, 3)),
		"bank: filters differ in m: 192 and 320":                     bloom.Must(bloom.NewSize(320, 3)),
		"bank: filters differ in hash: SumString and SumUTF16":       other,
		"bank: filters differ: one is nil":                           nil,
		"bank: filters differ in strategy: Mitz64 and Mitz32 (zero)": {},
	}
	for want, f := range unfit {
		_, err := b.AppendFilter(f)
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, want[:min(len(want), 51)])
		require.Equal(t, 1, b.Len())
	}
	unnamed := bloom.Must(NewSize(192, 3))
	for why, f := range unfit {
		if f == other {
			continue
		}
		if f != nil {
			f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumUTF16" })
		}
		_, err := unnamed.AppendFilter(f)
		require.ErrorIs(t, err, bloom.ErrMismatch, why)
		require.Zero(t, unnamed.Info(), why)
	}
	require.Equal(t, 0, bloom.Must(unnamed.AppendFilter(other)))
	require.Equal(t, "SumUTF16", unnamed.Info().Hash, "taken over")
}

// TestZero: a zero Bank has no members, and says so to callers that append to it.
func TestZero(t *testing.T) {
	var b Bank
	h := bloom.SumString("a")
	require.Empty(t, b.Which(nil, h))
	require.Empty(t, b.WhichAll(nil, nil))
	require.Zero(t, b.Len())
	require.Zero(t, b.M())
	require.Zero(t, b.K())
	b.Reset()
	require.Equal(t, "bank.Bank(zero)", b.String())
	const refusal = "bank: Append to a zero Bank: make it with a constructor, or decode into it"
	require.PanicsWithValue(t, refusal, func() { b.Append() })
	require.PanicsWithValue(t, refusal, func() { _, _ = b.AppendFilter(new(bloom.Filter)) })
	for name, do := range map[string]func(){
		"AddHash":      func() { b.AddHash(0, h) },
		"ContainsHash": func() { b.ContainsHash(0, h) },
		"Clear":        func() { b.Clear(0) },
		"Filter":       func() { b.Filter(0) },
		"Name":         func() { b.Name(0) },
		"SetName":      func() { b.SetName(0, "") },
	} {
		require.PanicsWithValue(t, "bank: member 0 is out of range: the bank has 0", do, name)
	}
}

// TestNoSuchMember: a row has room for more members than there are.
func TestNoSuchMember(t *testing.T) {
	h := bloom.SumString("a")
	for members := range 2 {
		b := bloom.Must(NewSize(64, 2))
		for range members {
			b.Append()
		}
		data := bloom.Must(b.MarshalBinary())
		v := bloom.Must(NewView(data))
		r := bloom.Must(NewReader(bytes.NewReader(data), int64(len(data))))
		for name, do := range map[string]func(i int){
			"AddHash":           func(i int) { b.AddHash(i, h) },
			"ContainsHash":      func(i int) { b.ContainsHash(i, h) },
			"Clear":             b.Clear,
			"Filter":            func(i int) { b.Filter(i) },
			"Name":              func(i int) { b.Name(i) },
			"SetName":           func(i int) { b.SetName(i, "") },
			"View.ContainsHash": func(i int) { v.ContainsHash(i, h) },
			"View.Filter":       func(i int) { v.Filter(i) },
			"View.Name":         func(i int) { _, _ = v.Name(i) },
			"Reader.Name":       func(i int) { _, _ = r.Name(i) },
		} {
			for i := range members {
				do(i)
			}
			for _, i := range []int{-1, members, 31, 32, 64} {
				refusal := fmt.Sprintf("bank: member %d is out of range: the bank has %d", i, members)
				require.PanicsWithValue(t, refusal, func() { do(i) }, name)
			}
		}
	}
}

// TestAllocs: look-ups with room for their answers, and additions, do not allocate.
func TestAllocs(t *testing.T) {
	o, hs := walk(t, 576, 7, 3000, 1)
	dst := make([]int, 0, 3000)
	data := bloom.Must(o.MarshalBinary())
	view := bloom.Must(NewView(data))
	odd := bloom.Must(NewView(append([]byte{0}, data...)[1:]))
	for name, do := range map[string]func(){
		"Add":            func() { o.Add(1, []byte("key")) },
		"AddString":      func() { o.AddString(1, "key") },
		"AddHash":        func() { o.AddHash(1, hs[0]) },
		"ContainsHash":   func() { o.ContainsHash(1, hs[0]) },
		"Which":          func() { o.Which(dst[:0], hs[0]) },
		"WhichAll":       func() { o.WhichAll(dst[:0], hs[:3]) },
		"View.Which":     func() { view.Which(dst[:0], hs[0]) },
		"odd View.Which": func() { odd.Which(dst[:0], hs[0]) },
	} {
		require.Zero(t, testing.AllocsPerRun(10, do), name)
	}
}

// TestConcurrent looks up keys whose Add has returned. At the same time one goroutine appends
// members, so that rows get wider, and other goroutines add keys to members and clear members.
func TestConcurrent(t *testing.T) {
	const members, spare = 3000, 10
	b := bloom.Must(NewSize(128, 3))
	for range spare {
		b.Append()
	}
	hs := filtertest.Digests(1, members)
	var added atomic.Int64 // the number of members that have their key
	var wg sync.WaitGroup
	done := make(chan struct{})
	look := func(do func(n int)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-done:
					return
				default:
					do(int(added.Load()))
				}
			}
		}()
	}
	var dst []int
	rnd := rand.New(rand.NewPCG(1, 1))
	look(func(n int) {
		if n > 0 {
			i := rnd.IntN(n)
			dst = b.Which(dst[:0], hs[i])
			if _, found := slices.BinarySearch(dst, spare+i); !found {
				t.Errorf("member %d is not found, of %d", i, n)
			}
		}
	})
	look(func(n int) {
		for i := max(0, n-3); i < n; i++ {
			if !b.ContainsHash(spare+i, hs[i]) || !b.Filter(spare+i).ContainsHash(hs[i]) {
				t.Errorf("member %d does not contain its key", i)
			}
		}
	})
	look(func(n int) {
		c := new(Bank)
		data, err := b.MarshalBinary()
		if err != nil || c.UnmarshalBinary(data) != nil || c.Len() < n ||
			n > 0 && !c.ContainsHash(spare+n-1, hs[n-1]) {
			t.Errorf("a copy lacks some of %d members: %v", n, err)
		}
	})
	look(func(n int) { b.AddHash(n%spare, hs[n%members]); b.SetName(n%spare, "name") })
	look(func(n int) {
		b.Clear(n % spare)
		b.Name(n % spare)
		b.UpdateInfo(func(i *bloom.Info) { i.N = uint64(n) })
	})
	for i, h := range hs {
		if i%2 == 0 {
			b.AddHash(b.Append(), h)
		} else {
			f := bloom.Must(bloom.NewSize(128, 3))
			f.AddHash(h)
			_, err := b.AppendFilter(f)
			require.NoError(t, err)
		}
		added.Store(int64(i + 1))
	}
	close(done)
	wg.Wait()
}

// TestMemory: members take few more bytes than their bits, in memory and in files. Rows have whole
// words. A file adds a word to each page, which has 64 rows or at least 256 words. Memory adds up
// to a 32nd and a word to each row of the last segment.
func TestMemory(t *testing.T) {
	const m = 512
	ratios := map[int]float64{33: 2.03, 100: 1.33, 1000: 1.04, 10000: 1.02, 17000: 1.02,
		segmentMembers: 1.01}
	b := bloom.Must(NewSize(m, 7))
	for members := 1; members <= segmentMembers+100; members++ {
		b.Append()
		memory := 0
		for _, s := range *b.segmentsOf() {
			memory += len(s.words)
		}
		// words of a row of each
		rows := members/segmentMembers*pageWords + (members%segmentMembers+63)/64
		file := (int(b.SizeBytes())-form.MinTrailer)/8 - members/segmentMembers*pageWords
		if memory > m*(rows+rows/32+1) || file > m*rows+max(m*rows/256, m/64)+5 {
			require.Fail(t, "too much", "%d words of memory, and %d in a file, for %d members",
				memory, file, members)
		}
		if most, ok := ratios[members]; ok {
			require.LessOrEqual(t, float64(b.SizeBytes()), most*m/8*float64(members),
				"a file of %d members", members)
			require.LessOrEqual(t, float64(8*memory), max(most, 1.04)*m/8*float64(members),
				"%d members", members)
			delete(ratios, members)
		}
	}
	require.Empty(t, ratios)
}

// TestNames: Clear removes a member's name, and Reset removes all names. A file keeps the longest
// name.
func TestNames(t *testing.T) {
	b := bloom.Must(NewSize(64, 1))
	for range 3 {
		b.Append()
	}
	b.SetName(1, "one")
	name := b.Name
	require.Equal(t, []string{"", "one", ""}, []string{name(0), name(1), name(2)})
	b.Clear(2)
	b.Clear(1)
	require.Empty(t, name(1))
	b.SetName(2, "two")
	b.Reset()
	require.Equal(t, 3, b.Len())
	require.Empty(t, name(2))
	require.Panics(t, func() { b.SetName(1, string(make([]byte, maxName+1))) })
	longest := strings.Repeat("n", maxName)
	b.SetName(1, longest)
	data := bloom.Must(b.MarshalBinary())
	require.NoError(t, b.UnmarshalBinary(data))
	require.Equal(t, longest, name(1))
}

// TestTableOfPackageComment: the table in docs/sizes.md is true.
func TestTableOfPackageComment(t *testing.T) {
	for n, want := range map[uint64][3]uint64{
		3: {64, 320, 2240}, 50: {512, 1472, 9536}, 1000: {9664, 19712, 53184},
	} {
		for i, p := range []float64{1e-2, 1e-4, 1e-6} {
			m, _, err := bloom.StrictSize(n, p)
			require.NoError(t, err)
			require.Equal(t, want[i], m)
		}
	}
}

// TestFalseMembersAreCorrelated: the figures in docs/sizes.md are true.
func TestFalseMembersAreCorrelated(t *testing.T) {
	if testing.Short() || filtertest.Race {
		t.Skip("takes a second")
	}
	const members, keys, probes = 100_000, 20, 20_000
	m, k, err := bloom.StrictSize(keys, 1e-4)
	require.NoError(t, err)
	b, f := bloom.Must(NewSize(m, k)), bloom.Must(bloom.NewSize(m, k))
	for i := range uint64(members) {
		f.Reset()
		for j := range uint64(keys) {
			f.AddHash(bloom.SumUint64(keys*i + j))
		}
		bloom.Must(b.AppendFilter(f))
	}
	var dst, counts []int
	sum := 0
	for i := range uint64(probes) {
		dst = b.Which(dst[:0], bloom.SumUint64(1<<40+i))
		counts, sum = append(counts, len(dst)), sum+len(dst)
	}
	slices.Sort(counts)
	require.InDelta(t, 8.8, float64(sum)/probes, 0.5)
	require.Equal(t, 1, counts[probes/2])
	require.Equal(t, 18, counts[probes*99/100])
	require.InDelta(t, 15_600, counts[probes-1], 50)
	empty := len(b.Which(nil, bloom.SumString("")))
	require.InDelta(t, b.Stats().FillRatio, float64(empty)/members, 0.01)
}

// TestTurns: calls that write take turns. Look-ups do not wait.
func TestTurns(t *testing.T) {
	b, h := bloom.Must(NewSize(64, 1)), bloom.SumString("key")
	f := b.Filter(b.Append())
	for name, call := range map[string]func(){
		"Append":       func() { b.Append() },
		"AppendFilter": func() { bloom.Must(b.AppendFilter(f)) },
		"AddHash":      func() { b.AddHash(0, h) },
		"Clear":        func() { b.Clear(0) },
		"Reset":        b.Reset,
		"SetName":      func() { b.SetName(0, "name") },
		"Name":         func() { b.Name(0) },
		"SizeBytes":    func() { b.SizeBytes() },
		"encoder":      func() { b.state.encoder() },
	} {
		require.True(t, filtertest.Waits(&b.state.mu, true, call), "%s does not wait", name)
	}
	for name, call := range map[string]func(){
		"Which":        func() { b.Which(nil, h) },
		"WhichAll":     func() { b.WhichAll(nil, nil) },
		"ContainsHash": func() { b.ContainsHash(0, h) },
		"Len":          func() { b.Len() },
	} {
		require.False(t, filtertest.Waits(&b.state.mu, false, call), "%s waits", name)
	}
}

// TestRowsTakeTurns: if two rows of a segment reach a Reader at the same time, they rule out
// members one after the other.
func TestRowsTakeTurns(t *testing.T) {
	b := bloom.Must(NewSize(64, 1))
	b.Append()
	data := bloom.Must(b.MarshalBinary())
	r := bloom.Must(NewReader(bytes.NewReader(data), int64(len(data))))
	left := new(remains)
	left.acc = left.candidates.setAll(b.Len())
	waits := filtertest.Waits(&left.mu, true, func() { _ = r.ruleOut(left, 0, 0) })
	require.True(t, waits, "a row does not wait for another one")
}

// TestFilterMakesOneCopy: Filter allocates the words of the member that it returns, and
// AppendFilter none for those of the filter that it gets.
func TestFilterMakesOneCopy(t *testing.T) {
	b := bloom.Must(NewSize(1<<20, 4))
	b.Append()
	f := b.Filter(0)
	size := uint64(f.SizeBytes())
	require.Less(t, filtertest.Allocated(func() { b.Filter(0) }), size*11/10)
	require.Less(t, filtertest.Allocated(func() { bloom.Must(b.AppendFilter(f)) }), size/2)
}

// TestTooLargeForTheAddressSpace: on 32-bit platforms, a member of more words is refused, and a
// segment that would need more than 2 GiB panics, where its size would wrap around.
func TestTooLargeForTheAddressSpace(t *testing.T) {
	if math.MaxInt > math.MaxInt32 {
		t.Skip("for 32-bit platforms")
	}
	for _, m := range []uint64{64 << 22, 64 << 26, 64 << 27} {
		_, err := NewSize(m, 3)
		require.ErrorContains(t, err, "bank: m = ", "%d", m)
	}
	_, err := NewSize(64<<22-64, 3)
	require.NoError(t, err)
	s := state{shape: shapeOf(1<<17, 3)} // 2^32 words in a full segment
	require.PanicsWithValue(t, "bank: out of memory: the members exceed the address space",
		func() { s.newSegment(pageWords) })
}
