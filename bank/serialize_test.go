package bank

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// sample is a small Bank with names and an Info.
func sample(t testing.TB) (*oracle, []bloom.Hash) {
	o, hs := walk(t, 192, 3, 40, 1)
	o.SetName(0, "zero")
	o.SetName(39, "thirty-nine")
	o.UpdateInfo(func(i *bloom.Info) {
		i.N = 10
		i.P = 0.1
		i.Hash = "SumString"
		i.Comment = "a sample"
	})
	return o, hs
}

// TestEveryFormKeepsABank: a Bank is the same after each way of encoding and decoding.
func TestEveryFormKeepsABank(t *testing.T) {
	for _, members := range []int{0, 1, 40, 1000, 16320, segmentMembers, segmentMembers + 500} {
		if testing.Short() && (members == segmentMembers || members == 16320) {
			continue
		}
		t.Run(fmt.Sprintf("members=%d", members), func(t *testing.T) {
			o, hs := walk(t, 192, 3, members, uint64(members))
			for i := 1; i < members; i += 1 + members/100 {
				o.SetName(i, fmt.Sprintf("member %d", i))
			}
			o.UpdateInfo(func(i *bloom.Info) {
				i.N = 1
				i.P = 0.1
				i.Hash = "SumString"
				i.Comment = strings.Repeat("c", members%4096)
			})
			data := bloom.Must(o.MarshalBinary())
			path := filepath.Join(t.TempDir(), "bank")
			require.NoError(t, o.SaveFile(path))
			loaded, err := LoadFile(path)
			require.NoError(t, err)
			require.Equal(t, data, bloom.Must(loaded.MarshalBinary()))

			file, err := OpenFile(path)
			require.NoError(t, err)
			defer file.Close()
			require.NoError(t, file.Verify())
			view := bloom.Must(NewView(data))
			require.NoError(t, view.Verify())
			odd := bloom.Must(NewView(append([]byte{0}, data...)[1:]))
			require.NoError(t, odd.Verify())
			o.requireSame(t, hs, loaded, file, view, odd)
			reader := bloom.Must(NewReader(bytes.NewReader(data), int64(len(data))))
			require.Equal(t, o.Bank.Info(), reader.Info())
			require.Equal(t, members, reader.Len())
			for i := 1; i < len(hs); i++ {
				require.Equal(t, view.Which([]int{-1}, hs[i]), bloom.Must(reader.Which([]int{-1}, hs[i])))
				require.Equal(t, view.WhichAll(nil, hs[i-1:i+1]), bloom.Must(reader.WhichAll(nil, hs[i-1:i+1])))
			}
			for i := 0; i < members; i += 1 + members/300 {
				for _, name := range []func(int) (string, error){view.Name, odd.Name, file.Name, reader.Name} {
					require.Equal(t, o.Name(i), bloom.Must(name(i)))
				}
			}
			require.NoError(t, file.Close())
		})
	}
}

// TestLayout: in a file, every row of a full segment is a page of 4 KiB, and begins at a multiple
// of 4 KiB.
func TestLayout(t *testing.T) {
	b := bloom.Must(NewSize(64, 2))
	for range segmentMembers + 1 {
		b.Append()
	}
	b.AddHash(5, bloom.SumString("a"))
	data := bloom.Must(b.MarshalBinary())
	require.EqualValues(t, len(data), pageBytes+64*pageBytes+64*8+form.MinTrailer)
	require.EqualValues(t, 2, b.Filter(5).OnesCount())
	v := bloom.Must(NewView(data))
	for r := range 64 {
		page := data[(1+r)*pageBytes:][:pageBytes]
		require.Equal(t, b.get(uint64(r), 5), page[0]>>5&1 != 0)
		check := func(s, p int) error {
			_, err := v.layout.readPage(func(int, int) ([]byte, error) { return page, nil }, s, p)
			return err
		}
		require.NoError(t, check(0, r))
		require.ErrorIs(t, check(0, r+1), bloom.ErrFormat, "another page")
		require.ErrorIs(t, check(2, r), bloom.ErrFormat, "another segment")
	}
}

// TestPadding: zeros before the first page of a full segment are checked.
func TestPadding(t *testing.T) {
	b := bloom.Must(NewSize(64, 1))
	for range segmentMembers {
		b.Append()
	}
	data := bloom.Must(b.MarshalBinary())
	for _, at := range []int{form.Bank.HeadSize(), pageBytes - 1} {
		bad := bytes.Clone(data)
		bad[at] = 1
		bad = filtertest.Sealed(bad)
		require.ErrorContains(t, new(Bank).UnmarshalBinary(bad), "between two parts")
		require.ErrorContains(t, bloom.Must(NewView(bad)).Verify(), "between two parts")
	}
}

func (b *Bank) get(r uint64, i int) bool {
	seg, i := b.state.member(i)
	return seg.get(r, i)
}

// TestEncodeBeside: the binary form has the Bank as it was when the encoding began. It lacks
// members that were appended later, even if they made the rows wider.
func TestEncodeBeside(t *testing.T) {
	o, hs := walk(t, 64, 2, 30, 1)
	o.SetName(29, "old")
	want := bloom.Must(o.MarshalBinary())
	e := o.state.encoder()
	for range 70 {
		o.AddHash(o.Append(), hs[0])
	}
	o.SetName(29, "new")
	var out bytes.Buffer
	_, err := form.Bank.WriteFunc(&out, e.layout.params(), e.layout.words(), o.info.Get(), e.fill)
	require.NoError(t, err)
	require.Equal(t, want, out.Bytes())
	require.Equal(t, 100, o.Len())
}

// TestFrozen freezes the binary form.
func TestFrozen(t *testing.T) {
	o, hs := sample(t)
	want := bloom.Must(os.ReadFile("testdata/v1.bank"))
	require.Equal(t, want, bloom.Must(o.MarshalBinary()))
	var b Bank
	require.NoError(t, b.UnmarshalBinary(want))
	o.requireSame(t, hs, &b)
}

// TestDamage: a file is refused if a bit is flipped, if bytes are missing, or if a byte follows. If
// a Reader answers in spite of the damage, its answer is right.
func TestDamage(t *testing.T) {
	o, hs := walk(t, 64, 2, 5, 2)
	hs = hs[15:25]
	o.SetName(1, "one")
	o.SetName(4, "four")
	data := bloom.Must(o.MarshalBinary())
	filtertest.Damage(t, data, new(Bank).UnmarshalBinary)
	filtertest.Damage(t, data, func(data []byte) error {
		v, err := NewView(data)
		if err != nil {
			return err
		}
		return v.Verify()
	})
	path := filepath.Join(t.TempDir(), "bank")
	noticed := 0
	for i := range data {
		data[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, data, 0o666))
		_, err := LoadFile(path)
		require.ErrorIs(t, err, bloom.ErrFormat)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err == nil {
			for _, h := range hs {
				got, e := r.Which(nil, h)
				if e == nil {
					require.Equal(t, o.which(h), got)
				}
				err = errors.Join(err, e)
			}
			for i := range o.Len() {
				name, e := r.Name(i)
				if e == nil {
					require.Equal(t, o.Name(i), name)
				}
				err = errors.Join(err, e)
			}
		}
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			noticed++
		}
		data[i] ^= 0x10
	}
	require.Greater(t, noticed, len(data)/3) // the rest are bytes that no look-up reads
}

// TestWrongContentIsRefused: bytes with right checksums and a wrong content are refused.
func TestWrongContentIsRefused(t *testing.T) {
	o, _ := sample(t)
	e := o.state.encoder()
	array := make([]uint64, e.layout.words())
	raw := make([]byte, 8*len(array))
	e.fill(raw, 0)
	for i := range array {
		array[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	form := func(params []uint64, words []uint64) []byte {
		return bloom.Must(form.Bank.Append(nil, params, words, form.Info{}))
	}
	good := e.layout.params()
	require.NoError(t, new(Bank).UnmarshalBinary(form(good, array)))
	// The 40 members have pages of 64 rows of a word, and a word with a checksum. Names follow the
	// third page.
	const page = 65
	table := 3 * page
	for want, change := range map[string]func(a []uint64){
		"checksum of page 0":             func(a []uint64) { a[1] ^= 1 },
		"has bits beyond its 40 members": func(a []uint64) { a[0] |= 1 << 40; reseal(a[:page], 0) },
		"page 1 of segment 0": func(a []uint64) {
			a[page+63] |= 1 << 63
			reseal(a[page:2*page], 1)
		},
		"beyond its 40 members":     func(a []uint64) { a[page-1] |= 1 << 31; reseal(a[:page], 0) },
		"a name cannot have":        func(a []uint64) { a[table] = 1 << 63 },
		"checksum of name 0":        func(a []uint64) { a[table]-- },
		"between two parts (names)": func(a []uint64) { a[len(a)-1] |= 1 << 63 },
	} {
		bad := append([]uint64(nil), array...)
		change(bad)
		data := form(good, bad)
		err := new(Bank).UnmarshalBinary(data)
		require.ErrorIs(t, err, bloom.ErrFormat, want)
		require.ErrorContains(t, err, strings.TrimSuffix(want, " (names)"))
		v, err := NewView(data)
		require.NoError(t, err)
		require.ErrorIs(t, v.Verify(), bloom.ErrFormat)
	}
	longer := slices.Clone(good)
	longer[3] += 8
	require.ErrorContains(t, new(Bank).UnmarshalBinary(form(longer,
		append(slices.Clone(array), 0))), "names end at ")
	for want, params := range map[string][]uint64{
		"word count 0 of a member":                {0, 1, 0, 0},
		"word count 4294967296 of a member":       {1 << 32, 1, 0, 0},
		"k = 0 is outside [1, 255]":               {1, 0, 0, 0},
		"k = 256 is outside [1, 255]":             {1, 256, 0, 0},
		"18446744073709551615 members of 1 words": {1, 1, 1<<64 - 1, 0},
		"1099511627776 members of 2147483647":     {1<<31 - 1, 1, 1 << 40, 0},
		// 2^64 words
		"17163091958 members of 1073741824 words":      {1 << 30, 7, 1<<19*segmentMembers - 10, 0},
		"68652367862 members of 268435456 words":       {1 << 28, 7, 1<<21*segmentMembers - 10, 0},
		"1 bytes of names cannot belong to 0 members":  {1, 1, 0, 1},
		"11 bytes of names cannot belong to 1 members": {1, 1, 1, 11},
		"18446744073709551615 bytes of names":          {1, 1, 1, 1<<64 - 1},
	} {
		data := form(params, make([]uint64, pageWords-5)) // zeros before the pages
		_, ofView := NewView(data)
		_, ofReader := NewReader(bytes.NewReader(data), int64(len(data)))
		for _, err := range []error{new(Bank).UnmarshalBinary(data), ofView, ofReader} {
			require.ErrorIs(t, err, bloom.ErrFormat)
			if bits.UintSize == 64 { // smaller machines have smaller limits
				require.ErrorContains(t, err, want)
			}
		}
	}
}

// TestWrongName: names with impossible ends are errors. A View and a Reader notice them when they
// read the name.
func TestWrongName(t *testing.T) {
	b := bloom.Must(NewSize(64, 1))
	for range 2 {
		b.Append()
	}
	b.SetName(0, "zero")
	b.SetName(1, strings.Repeat("1", maxName))
	good := bloom.Must(b.MarshalBinary())
	table := form.Bank.HeadSize() + 8*bloom.Must(NewView(good)).layout.table()
	for name, test := range map[string]struct {
		member      int
		zero1, one1 uint64 // the ends of the two names
	}{
		"behind all names":           {0, 4 + maxName + 1, 0},
		"far behind":                 {0, 1 << 63, 0},
		"behind all names, the last": {1, 4, 4 + maxName + 1},
		"longer than a name can be":  {1, 3, 4 + maxName},
		"before it begins":           {1, 4, 3},
		"begins behind all names":    {1, 1 << 62, 1<<62 + 1},
		"begins before all names":    {1, 1<<64 - 60_000, 4}, // as an int64
	} {
		bad := bytes.Clone(good)
		binary.LittleEndian.PutUint64(bad[table:], test.zero1)
		binary.LittleEndian.PutUint64(bad[table+entryBytes:], test.one1)
		_, err := bloom.Must(NewView(bad)).Name(test.member)
		require.ErrorIs(t, err, bloom.ErrFormat, name)
		_, err = bloom.Must(NewReader(bytes.NewReader(bad), int64(len(bad)))).Name(test.member)
		require.ErrorIs(t, err, bloom.ErrFormat, name)
	}
}

// reseal sets the checksum of page p of the first segment.
func reseal(page []uint64, p int) {
	data := make([]byte, 8*len(page))
	for i, w := range page {
		binary.LittleEndian.PutUint64(data[8*i:], w)
	}
	page[len(page)-1] = page[len(page)-1]&(1<<32-1) | uint64(pageSum(data, 0, p))<<32
}

// TestNotABank: if bytes have another form, the error names that form.
func TestNotABank(t *testing.T) {
	err := new(Bank).UnmarshalBinary(bloom.Must(bloom.Must(bloom.NewSize(640, 3)).MarshalBinary()))
	require.ErrorContains(t, err, "it seems to be a bloom.Filter, not a bank.Bank")
	o, _ := sample(t)
	require.Equal(t, "bank.Bank", form.Name(bloom.Must(o.MarshalBinary())))
}

// sealed returns data with the checksums that make it a Bank, if it is long enough.
func sealed(data []byte) []byte {
	data = filtertest.Sealed(data)
	v, err := NewView(data)
	if err != nil {
		return data
	}
	l := v.layout
	for s := range l.segments() {
		from, g, _ := l.segment(s)
		for p := range g.pages(l.bits()) {
			page := v.body[8*(from+p*g.page):][:8*g.page]
			binary.LittleEndian.PutUint32(page[len(page)-checkBytes:], pageSum(page, s, p))
		}
	}
	if l.names > 0 {
		names := v.body[8*l.table():]
		for i := range l.members {
			all := names[entryBytes*l.members:]
			from, to, _, err := l.entry(v.read, i)
			if err == nil && from >= 0 && from <= to && to <= len(all) {
				name := all[from:to]
				binary.LittleEndian.PutUint32(names[entryBytes*i+8:], nameSum(name, i, from))
			}
		}
	}
	return filtertest.Sealed(data)
}

func FuzzBank(f *testing.F) {
	o, _ := sample(f)
	f.Add(bloom.Must(o.MarshalBinary()))
	plain, _ := walk(f, 64, 2, 33, 1)
	f.Add(bloom.Must(plain.MarshalBinary()))
	f.Add(bloom.Must(bloom.Must(NewSize(64, 1)).MarshalBinary()))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Bank).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = sealed(data)
		h := bloom.Sum(data)
		var b Bank
		err := b.UnmarshalBinary(data)
		v, viewErr := NewView(data)
		r, readerErr := NewReader(bytes.NewReader(data), int64(len(data)))
		require.Equal(t, viewErr == nil, readerErr == nil)
		if viewErr == nil {
			require.Equal(t, err == nil, v.Verify() == nil)
			v.Which(nil, h)
			if v.Len() > 0 {
				_, _ = v.Name(v.Len() - 1)
				_, _ = r.Name(v.Len() - 1)
			}
			_, _ = r.Which(nil, h)
		}
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Zero(t, b.Len())
			return
		}
		// Flags and texts of a later version's trailer are skipped, and not written again.
		written := bloom.Must(b.MarshalBinary())
		require.Equal(t, filtertest.WithoutTrailer(data), filtertest.WithoutTrailer(written))
		require.Equal(t, b.Which(nil, h), v.Which(nil, h))
		require.Equal(t, b.Which(nil, h), bloom.Must(r.Which(nil, h)))
		if b.M() < 1<<12 { // an empty Bank of huge members has few bytes
			i := b.Append()
			b.AddHash(i, h)
			require.True(t, b.ContainsHash(i, h))
			require.NoError(t, new(Bank).UnmarshalBinary(bloom.Must(b.MarshalBinary())))
		}
	})
}

// TestParamsAtTheLimits: the largest bank and table of names are accepted, and no larger ones.
func TestParamsAtTheLimits(t *testing.T) {
	const segment = 64 * pageWords // words of a segment whose members have a word each
	const full = form.MaxFrameWords / segment
	fits := func(members, names uint64) bool {
		_, err := new(layout).parse([]uint64{1, 1, members, names})
		return err == nil
	}
	require.True(t, fits(full*segmentMembers, 0))
	require.False(t, fits((full+1)*segmentMembers, 0))
	require.False(t, fits((full+1)*segmentMembers-1, 0))
	if form.MaxFrameWords%segment == 0 {
		require.False(t, fits(full*segmentMembers+1, 0))
	}
	// The number of words is 2^64.
	_, err := new(layout).parse([]uint64{1 << 30, 1, 1 << 19 * segmentMembers, 0})
	require.Error(t, err)
	require.True(t, fits(3, 0))
	require.True(t, fits(3, 3*entryBytes))
	require.False(t, fits(3, 3*entryBytes-1))
	require.False(t, fits(0, entryBytes))
	require.True(t, fits(1, form.MaxFrameWords))
	require.False(t, fits(1, form.MaxFrameWords+1))
}
