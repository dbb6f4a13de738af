package bloom_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// randomFilter returns a filter of the given number of words. Each bit is set with the given
// probability.
func randomFilter(rnd *rand.Rand, words int, fill float64) *bloom.Filter {
	w := make([]uint64, words)
	for i := range 64 * words {
		if rnd.Float64() < fill {
			w[i/64] |= 1 << (i % 64)
		}
	}
	return bloom.Must(bloom.NewWords(w, 3))
}

// flipped returns a copy of f in which n random bits were flipped, and the number of bits that
// differ in the end.
func flipped(rnd *rand.Rand, f *bloom.Filter, n int) (g *bloom.Filter, differ int) {
	data := bloom.Must(f.MarshalBinary())
	was := bytes.Clone(data)
	for range n {
		i := rnd.IntN(8 * (len(data) - 6))
		data[6+i/8] ^= 1 << (i % 8)
	}
	for i := range data {
		differ += bits.OnesCount8(data[i] ^ was[i])
	}
	g = new(bloom.Filter)
	if err := g.UnmarshalBinary(data); err != nil {
		panic(err)
	}
	return g, differ
}

// samePatched fails unless f has g's bits, Info and count of bits.
func samePatched(t *testing.T, want, got *bloom.Filter) {
	t.Helper()
	require.True(t, got.Equal(want), "the patched filter has other bits")
	require.Equal(t, want.Info(), got.Info())
}

// TestPatch makes one filter of another, for pairs of every size and distance.
func TestPatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{1, 2, 3, 63, 64, 65, 1000} {
		for _, fill := range []float64{0, 0.01, 0.5, 1} {
			for _, n := range []int{0, 1, 2, 10, 100, 7 * words, 100 * words} {
				from := randomFilter(rnd, words, fill)
				to, differ := flipped(rnd, from, n)
				to.UpdateInfo(func(i *bloom.Info) {
					i.N = uint64(n + 1)
					i.P = 0.25
					i.Hash = "SumString"
					i.Comment = "to"
				})
				name := fmt.Sprintf("%d words, %v set, %d bits differ", words, fill, differ)

				patch, err := bloom.Diff(from, to)
				require.NoError(t, err, name)
				require.LessOrEqual(t, len(patch), 200+min(6*differ, 8*words), name)

				got, shared := from.Clone(), bloom.NewSyncFrom(from)
				require.NoError(t, got.Patch(patch), name)
				samePatched(t, to, got)
				require.NoError(t, shared.Patch(patch), name)
				samePatched(t, to, shared.Snapshot())

				if differ == 0 {
					require.NoError(t, got.Patch(patch), name)
					continue
				}
				require.ErrorIs(t, got.Patch(patch), bloom.ErrMismatch, name)
				require.ErrorIs(t, shared.Patch(patch), bloom.ErrMismatch, name)
				samePatched(t, to, got)
				samePatched(t, to, shared.Snapshot())
			}
		}
	}
}

// TestPatchOfKeys: the patch for a hundred new keys in a million has less than three bytes for each
// bit, and 200.
func TestPatchOfKeys(t *testing.T) {
	from := bloom.Must(bloom.New(1_000_000, 0.01))
	for i := range uint64(1_000_000) {
		from.AddHash(bloom.SumUint64(i))
	}
	to := from.Clone()
	for i := range uint64(100) {
		to.AddHash(bloom.SumUint64(1_000_000 + i))
	}
	patch := bloom.Must(bloom.Diff(from, to))
	changed := to.OnesCount() - from.OnesCount()
	require.Less(t, uint64(len(patch)), 3*changed+200)
	require.Less(t, len(patch), int(from.SizeBytes())/100)
	require.NoError(t, from.Patch(patch))
	samePatched(t, to, from)
}

func TestPatchOfBothStrategies(t *testing.T) {
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		from := bloom.Must(bloom.NewWithStrategy(s, 100, 0.01))
		to := from.Clone()
		to.AddString("key")
		require.NoError(t, from.Patch(bloom.Must(bloom.Diff(from, to))))
		samePatched(t, to, from)
	}
}

func TestPatchOfOtherFilters(t *testing.T) {
	from := bloom.Must(bloom.New(1000, 0.01))
	for i := range 1000 {
		from.AddString(fmt.Sprint(i))
	}
	to := from.Clone()
	to.AddString("new")
	patch := bloom.Must(bloom.Diff(from, to))

	other := bloom.Must(bloom.New(1000, 0.01))
	for i := range 1000 {
		other.AddString(fmt.Sprint(-i))
	}
	size := bloom.Must(bloom.NewSize(from.M()+64, from.K()))
	hashes := bloom.Must(bloom.NewSize(from.M(), from.K()+1))
	strategy := bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01))
	empty := bloom.Must(bloom.New(1000, 0.01))
	for name, f := range map[string]*bloom.Filter{
		"the same":   to,
		"other keys": other,
		"empty":      empty,
		"size":       size,
		"hashes":     hashes,
		"strategy":   strategy,
		"zero":       new(bloom.Filter),
	} {
		before := f.Clone()
		err := f.Patch(patch)
		require.ErrorIs(t, err, bloom.ErrMismatch, name)
		require.Regexp(t, "^bloom: filters differ", err.Error(), name)
		samePatched(t, before, f)
		shared := bloom.NewSyncFrom(f)
		require.ErrorIs(t, shared.Patch(patch), bloom.ErrMismatch, name)
		samePatched(t, before, shared.Snapshot())
	}
	require.ErrorIs(t, new(bloom.SyncFilter).Patch(patch), bloom.ErrMismatch)

	for name, f := range map[string]*bloom.Filter{
		"size": size, "hashes": hashes, "strategy": strategy, "zero": new(bloom.Filter), "nil": nil,
	} {
		_, err := bloom.Diff(from, f)
		require.ErrorIs(t, err, bloom.ErrMismatch, name)
		_, err = bloom.Diff(f, from)
		require.ErrorIs(t, err, bloom.ErrMismatch, name)
	}
	_, err := bloom.Diff(new(bloom.Filter), new(bloom.Filter))
	require.EqualError(t, err, "bloom: the zero value has no binary form")
	bad := from.Clone()
	bad.UpdateInfo(func(i *bloom.Info) { i.P = 2 })
	_, err = bloom.Diff(from, bad)
	require.EqualError(t, err, "bloom: Info.P = 2 is outside [0, 1)")
}

// TestPatchOfAnotherDay: if the patch of a day is left out, the patch of the next day is refused,
// however few keys a day has. So is one that is applied twice or too early.
func TestPatchOfAnotherDay(t *testing.T) {
	const rounds = 10
	start := bloom.Must(bloom.New(1_000_000, 0.01))
	for i := range uint64(1_000_000) {
		start.AddHash(bloom.SumUint64(i))
	}
	days := make([]*bloom.Filter, 3)
	next := uint64(1_000_000)
	for _, keys := range []int{1, 10, 30, 100} {
		refused := 0
		for range rounds {
			days[0] = start
			for day := range days[1:] {
				days[day+1] = days[day].Clone()
				for added := 0; added < keys; next++ {
					if days[day+1].AddHash(bloom.SumUint64(next)) {
						added++
					}
				}
			}
			patch := bloom.Must(bloom.Diff(days[1], days[2]))
			late, shared := days[0].Clone(), bloom.NewSyncFrom(days[0])
			err := late.Patch(patch)
			sharedErr := shared.Patch(patch)
			if errors.Is(err, bloom.ErrMismatch) && errors.Is(sharedErr, bloom.ErrMismatch) {
				refused++
			}
			require.True(t, late.Equal(start), "a refused patch")
			require.True(t, shared.Snapshot().Equal(start), "a refused patch")
		}
		require.Equal(t, rounds, refused, "with %d keys a day", keys)
	}
	patch := bloom.Must(bloom.Diff(days[1], days[2]))
	for _, f := range []*bloom.Filter{days[0], days[2]} {
		require.ErrorIs(t, f.Clone().Patch(patch), bloom.ErrMismatch)
	}
	require.NoError(t, days[1].Patch(patch))
	samePatched(t, days[2], days[1])
}

// smallPatch returns a patch, the filter that it fits, and the filter that it makes.
func smallPatch() (patch []byte, from, to *bloom.Filter) {
	rnd := rand.New(rand.NewPCG(3, 4))
	from = randomFilter(rnd, 20, 0.5)
	to, _ = flipped(rnd, from, 30)
	to.UpdateInfo(func(i *bloom.Info) {
		i.N = 9
		i.Hash = "Sum"
	})
	return bloom.Must(bloom.Diff(from, to)), from, to
}

// TestPatchDamaged: every byte matters, and so does the length.
func TestPatchDamaged(t *testing.T) {
	patch, from, _ := smallPatch()
	refused := func(data []byte, message string, args ...any) {
		t.Helper()
		f, shared := from.Clone(), bloom.NewSyncFrom(from)
		err := f.Patch(data)
		require.ErrorIs(t, err, bloom.ErrFormat, append([]any{message}, args...)...)
		require.Regexp(t, "^bloom: invalid format: ", err.Error())
		samePatched(t, from, f)
		require.ErrorIs(t, shared.Patch(data), bloom.ErrFormat, append([]any{message}, args...)...)
		samePatched(t, from, shared.Snapshot())
	}
	for i := range patch {
		for _, flip := range []byte{1, 0x80, 0xff} {
			data := bytes.Clone(patch)
			data[i] ^= flip
			refused(data, "byte %d", i)
		}
		refused(patch[:i], "cut to %d bytes", i)
	}
	refused(append(bytes.Clone(patch), 0), "a byte more")
	refused(bloom.Must(from.MarshalBinary()), "a filter")
	err := new(bloom.Filter).UnmarshalBinary(patch)
	require.EqualError(t, err, "bloom: invalid format: it is a patch, not a bloom.Filter")
	require.ErrorIs(t, err, bloom.ErrFormat)
}

// TestPatchConditions makes patches with right checksums. Each breaks one condition of
// docs/format.md.
func TestPatchConditions(t *testing.T) {
	patch, from, _ := smallPatch()
	const (
		strategy = 8 + 8*iota
		k
		words
		changed
		rice
		length
		proof
	)
	end := len(patch) - int(binary.LittleEndian.Uint16(patch[6:]))
	for _, c := range []struct {
		name  string
		at    int
		value uint64
	}{
		{"strategy", strategy, 2},
		{"strategy of 64 bits", strategy, 1<<32 | 1},
		{"no hashes", k, 0},
		{"too many hashes", k, 256},
		{"no words", words, 0},
		{"too many words", words, 1 << 31},
		{"fewer words than change", words, 10},
		{"a bit fewer", changed, binary.LittleEndian.Uint64(patch[changed:]) - 1},
		{"a bit more", changed, binary.LittleEndian.Uint64(patch[changed:]) + 1},
		{"more bits than the filter has", changed, 20*64 + 1},
		{"more bits than the stream has", changed, 10*64 + 1},
		{"no bits", changed, 0},
		{"rice", rice, 38},
		{"a longer code", rice, 37},
		{"a length of the address space", length, 1 << 61},
		{"proof of more than 32 bits", proof, 1 << 32},
		{"behind the last change", end - 8, binary.LittleEndian.Uint64(patch[end-8:]) | 1<<63},
		{"no change", end - 8, 0},
	} {
		data := bytes.Clone(patch)
		binary.LittleEndian.PutUint64(data[c.at:], c.value)
		require.NotEqual(t, patch, data, c.name)
		f := from.Clone()
		require.ErrorIs(t, f.Patch(filtertest.Sealed(data)), bloom.ErrFormat, c.name)
		samePatched(t, from, f)
	}
	require.NoError(t, from.Clone().Patch(filtertest.Sealed(patch)))
	// A patch with an additional word of zeros, which length includes.
	longer := append(append(bytes.Clone(patch[:end]), make([]byte, 8)...), patch[end:]...)
	longer[length]++
	require.ErrorIs(t, from.Clone().Patch(filtertest.Sealed(longer)), bloom.ErrFormat)
}

// TestPatchMemory: decoding a small patch for a large filter does not take the memory of the
// filter.
func TestPatchMemory(t *testing.T) {
	patch, from, _ := smallPatch()
	binary.LittleEndian.PutUint64(patch[24:], 1<<31-1)
	if bits.UintSize == 32 {
		binary.LittleEndian.PutUint64(patch[24:], 1<<27)
	}
	patch = filtertest.Sealed(patch)
	taken := filtertest.Allocated(func() {
		require.ErrorIs(t, from.Patch(patch), bloom.ErrMismatch)
	})
	require.Less(t, taken, uint64(20_000))
}

// TestPatchBytes freezes the bytes of a patch. Its sums and its stream were computed by hand. Bits
// 3, 4, 70 and 191 of three words differ. So the gaps are 3, 0, 65 and 120.
func TestPatchBytes(t *testing.T) {
	from := bloom.Must(bloom.NewWords([]uint64{1 << 4, 0, 1 << 63}, 2))
	to := bloom.Must(bloom.NewWords([]uint64{1 << 3, 1 << 6, 0}, 2))
	patch := bloom.Must(bloom.Diff(from, to))

	// The proof is of the words of from as they are in Guava's form.
	proof := crc32.Checksum(bloom.Must(from.MarshalBinary())[6:], crc32.MakeTable(crc32.Castagnoli))
	head := make([]byte, 0, 64)
	head = append(head, "BLMP\x01\x00\x24\x00"...)
	for _, p := range []uint64{1, 2, 3, 4, 5, 1, uint64(proof)} {
		head = binary.LittleEndian.AppendUint64(head, p)
	}
	// Each code is a string of bits: the unary part, and the five lower bits from the least.
	stream := uint64(0)
	at := 0
	for _, code := range []string{"1" + "11000", "1" + "00000", "001" + "10000", "0001" + "00011"} {
		for _, bit := range code {
			stream |= uint64(bit-'0') << at
			at++
		}
	}
	head = binary.LittleEndian.AppendUint64(head, stream)
	require.Equal(t, hex.EncodeToString(head), hex.EncodeToString(patch[:len(head)]))
}

// TestPatchFrozen applies a patch that an earlier version wrote.
func TestPatchFrozen(t *testing.T) {
	read := func(name string) []byte {
		return bloom.Must(os.ReadFile(filepath.Join("testdata", name)))
	}
	var from, to bloom.Filter
	require.NoError(t, from.UnmarshalBinary(read("v1.bloom")))
	require.NoError(t, to.UnmarshalBinary(read("v1-patched.bloom")))
	patch := read("v1.patch")
	require.NoError(t, from.Patch(patch))
	samePatched(t, &to, &from)
}

// TestPatchBesideLookUps: during Patch, keys that are in both filters are found at any time. Keys
// that are added at the same time stay.
func TestPatchBesideLookUps(t *testing.T) {
	from := bloom.Must(bloom.New(20_000, 0.01))
	to := from.Clone()
	for i := range uint64(10_000) {
		from.AddHash(bloom.SumUint64(i))
		to.AddHash(bloom.SumUint64(i + 5_000))
	}
	there := bloom.Must(bloom.Diff(from, to))
	back := bloom.Must(bloom.Diff(to, from))
	s := bloom.NewSyncFrom(from)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := uint64(g); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				key := 5_000 + i%5_000
				if !s.ContainsHash(bloom.SumUint64(key)) {
					t.Errorf("key %d of both filters is away beside a patch", key)
					return
				}
			}
		}()
	}
	for range 20 {
		assert.NoError(t, s.Patch(there))
		assert.NoError(t, s.Patch(back))
	}
	close(stop)
	wg.Wait()
	samePatched(t, from, s.Snapshot())
}

// TestPatchesTakeTurns: of two patches for the same filter, one fits, and the other changes
// nothing.
func TestPatchesTakeTurns(t *testing.T) {
	from := bloom.Must(bloom.New(20_000, 0.01))
	var to [2]*bloom.Filter
	var patches [2][]byte
	for i := range to {
		to[i] = from.Clone()
		for key := range uint64(5_000) {
			to[i].AddHash(bloom.SumUint64(2*key + uint64(i)))
		}
		patches[i] = bloom.Must(bloom.Diff(from, to[i]))
	}
	for round := range 50 {
		s := bloom.NewSyncFrom(from)
		var errs [2]error
		filtertest.AtOnce(2, func(i int) { errs[i] = s.Patch(patches[i]) })
		first := 0
		if errs[first] != nil {
			first = 1
		}
		require.NoError(t, errs[first], "round %d", round)
		require.ErrorIs(t, errs[1-first], bloom.ErrMismatch, "round %d", round)
		require.True(t, s.Snapshot().Equal(to[first]), "round %d: bits of both patches", round)
	}
}

// TestPatchBesideAdds: a key that is added before Patch makes it fail, and change nothing. A key
// that is added once Patch changes bits stays. Of keys that are added at any time, one or the
// other holds.
func TestPatchBesideAdds(t *testing.T) {
	const m = 1 << 22 // a filter of one hash, so that a digest is a bit
	bit := func(i uint64) bloom.Hash { return bloom.NewHash(i, 0) }
	from := bloom.Must(bloom.NewSize(m, 1))
	to := from.Clone()
	for i := uint64(0); i < m; i += 8 {
		to.AddHash(bit(i))
	}
	patch := bloom.Must(bloom.Diff(from, to))
	var added []bloom.Hash
	for i := uint64(1); i < m; i += m / 64 {
		added = append(added, bit(i), bit(m-8-i/64*8)) // the second bit is one that the patch sets
	}
	for name, test := range map[string]struct {
		wait func(s *bloom.SyncFilter)
		fits []bool
	}{
		"before":   {nil, []bool{false}},
		"any time": {func(*bloom.SyncFilter) {}, []bool{false, true}},
		"while it set": {func(s *bloom.SyncFilter) {
			filtertest.Becomes(t, "the patch sets its first bit",
				func() bool { return s.ContainsHash(bit(0)) })
		}, []bool{true}},
	} {
		rounds := 20
		if testing.Short() {
			rounds = 5
		}
		for round := range rounds {
			s := bloom.NewSyncFrom(from)
			add := func() { s.AddBatch(nil, added) }
			var err error
			if test.wait == nil {
				add()
				err = s.Patch(patch)
			} else {
				filtertest.Together(func() { err = s.Patch(patch) }, func() { test.wait(s); add() })
			}
			require.Contains(t, test.fits, err == nil, "%s, round %d: %v", name, round, err)
			want := to
			if err != nil {
				require.ErrorIs(t, err, bloom.ErrMismatch)
				want = from
			}
			want = want.Clone()
			want.AddBatch(nil, added)
			require.True(t, s.Snapshot().Equal(want), "%s, round %d: %v", name, round, err)
		}
	}
}

// FuzzPatch: if a patch is accepted, it makes another filter, and Diff of both filters makes a
// patch that does the same. If a patch is refused, it changes nothing.
func FuzzPatch(f *testing.F) {
	patch, from, _ := smallPatch()
	f.Add(patch)
	f.Add(bloom.Must(bloom.Diff(from, from)))
	for n := range len(patch) / 8 {
		data := bytes.Clone(patch)
		data[8*n] ^= 1
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = filtertest.Sealed(data)
		got, shared := from.Clone(), bloom.NewSyncFrom(from)
		err := got.Patch(data)
		sharedErr := shared.Patch(data)
		require.Equal(t, err, sharedErr)
		samePatched(t, got, shared.Snapshot())
		if err != nil {
			require.True(t, got.Equal(from), "receiver changed")
			if !errors.Is(err, bloom.ErrMismatch) {
				require.ErrorIs(t, err, bloom.ErrFormat)
			}
			return
		}
		again := from.Clone()
		require.NoError(t, again.Patch(bloom.Must(bloom.Diff(from, got))))
		samePatched(t, got, again)
	})
}
