// Package filtertest tests the promises that all filters of this module make: each package calls
// [Test] with its types. It also has functions that the tests of several packages share. It imports
// package bloom, so tests of bloom, and of packages that bloom imports, can use filtertest only in
// external test packages.
package filtertest

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

type answers interface {
	Stats() bloom.Stats
	Info() bloom.Info
	String() string
}

// View has methods that every package's View has.
type View interface {
	answers
	Verify() error
	io.Closer
}

// Filter has methods that all filters have.
type Filter interface {
	answers
	Reset()
	UpdateInfo(func(*bloom.Info))
	LogValue() slog.Value
	SaveFile(path string) error
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	io.WriterTo
	io.ReaderFrom
}

// asker has the usual methods that look keys up.
type asker interface {
	Contains(key []byte) bool
	ContainsString(key string) bool
	ContainsHash(bloom.Hash) bool
	ContainsBatch(found []bool, hs []bloom.Hash)
}

// Set is a Filter that also has the usual methods to add keys and look them up.
type Set interface {
	Filter
	asker
	Add(key []byte) bool
	AddString(key string) bool
	AddHash(bloom.Hash) bool
	AddBatch(added []bool, hs []bloom.Hash)
}

// Adds has the methods of a filter that add keys. AddBatch is nil if the filter has none.
type Adds struct {
	Add       func(key []byte) bool
	AddString func(key string) bool
	AddHash   func(bloom.Hash) bool
	AddBatch  func(added []bool, hs []bloom.Hash)
}

// Asks has the methods of a filter or View that look keys up. Contains and ContainsString may both
// be nil, and ContainsBatch may be nil.
type Asks struct {
	Contains       func(key []byte) bool
	ContainsString func(key string) bool
	ContainsHash   func(bloom.Hash) bool
	ContainsBatch  func(found []bool, hs []bloom.Hash)
}

// Type describes a type of Filter.
type Type struct {
	Name string // for example blocked.SyncFilter
	// Make returns an empty filter for a few thousand keys at a rate of 1 % or less. All results
	// are equal.
	Make func() Filter
	// Zero returns a zero value.
	Zero func() Filter
	// Adds returns a filter's methods that add keys. If Adds is nil, the filter is a Set.
	Adds func(Filter) Adds
	// Asks returns the methods of a Filter or View that look keys up. If Asks is nil, the methods
	// have their usual names.
	Asks func(any) Asks
	Load func(path string) (Filter, error)
	// Open opens a file. It may be nil.
	Open func(path string) (View, error)
	// LoadOrNew calls the package's LoadOrNew. With p = 0.01, it uses the same parameters as Make.
	// It is nil if the package's LoadOrNew returns a different type.
	LoadOrNew func(path string, p float64) (Filter, error)
	// Others has functions that call LoadOrNew with one parameter that differs from Make's. Each
	// key is the name of that parameter.
	Others map[string]func(path string) (Filter, error)
	// Snapshot calls the Snapshot method of a filter that Make returned. It is nil if there is no
	// such method.
	Snapshot func(Filter) Filter

	// The fields below are true for types that make exceptions.

	Guava         bool // the binary form is Guava's, which has no checksum and no Info
	GuavasIndexes bool // keys have Guava's indexes: for the empty key, all are 0
	AnyN          bool // the Info of a new filter may have any N, even 0
	Multiset      bool // a key added twice is kept twice, and is new each time; AddBatch refuses nil
}

type filter struct {
	Filter
	Adds
	Asks
}

func (typ Type) wrap(f Filter) *filter {
	if f, ok := f.(*filter); ok {
		return f
	}
	if typ.Adds != nil {
		return &filter{f, typ.Adds(f), typ.asks(f)}
	}
	own := f.(Set)
	return &filter{f, Adds{own.Add, own.AddString, own.AddHash, own.AddBatch}, typ.asks(f)}
}

func (typ Type) asks(x any) Asks {
	if typ.Asks == nil {
		own := x.(asker)
		return Asks{own.Contains, own.ContainsString, own.ContainsHash, own.ContainsBatch}
	}
	a := typ.Asks(x)
	if a.Contains == nil {
		a.Contains = func(key []byte) bool { return a.ContainsHash(bloom.Sum(key)) }
		a.ContainsString = func(key string) bool { return a.ContainsHash(bloom.SumString(key)) }
	}
	return a
}

func (a *Asks) found(hs []bloom.Hash) []bool {
	found := slices.Repeat([]bool{true}, len(hs)) // so ContainsBatch must also write false
	if a.ContainsBatch != nil {
		a.ContainsBatch(found, hs)
		return found
	}
	for i, h := range hs {
		found[i] = a.ContainsHash(h)
	}
	return found
}

func (f *filter) addAll(hs []bloom.Hash) {
	if f.AddBatch != nil {
		f.AddBatch(make([]bool, len(hs)), hs)
		return
	}
	for _, h := range hs {
		f.AddHash(h)
	}
}

func (typ Type) makeOne() *filter { return typ.wrap(typ.Make()) }
func (typ Type) zero() *filter    { return typ.wrap(typ.Zero()) }

func (typ Type) load(path string) (*filter, error) {
	f, err := typ.Load(path)
	if err != nil {
		return nil, err
	}
	return typ.wrap(f), nil
}

var (
	keys   = Digests(3, 1000)
	others = Digests(4, 1000)
	info   = bloom.Info{
		N: 5000, P: 0.01, Hash: "SumString", Comment: "of a test", Meta: "a=1&b=%FF",
	}
)

// Test runs a subtest for each promise of each type.
func Test(t *testing.T, types ...Type) {
	for _, typ := range types {
		for name, promise := range map[string]func(*testing.T, Type){
			"Keys":             testKeys,
			"EmptyKey":         testEmptyKey,
			"Batches":          testBatches,
			"Allocations":      testAllocations,
			"Zero":             testZero,
			"Reset":            testReset,
			"Stats":            testStats,
			"Encodings":        testEncodings,
			"Readers":          testReaders,
			"Writers":          testWriters,
			"Damage":           testDamage,
			"Newer":            testNewer,
			"Info":             testInfo,
			"Files":            testFiles,
			"NothingStaysOpen": testNothingStaysOpen,
			"LoadOrNew":        testLoadOrNew,
			"Snapshot":         testSnapshot,
			"Opened":           testOpened,
		} {
			t.Run(typ.Name+"/"+name, func(t *testing.T) { promise(t, typ) })
		}
	}
}

func (typ Type) pkg() string { return typ.Name[:strings.IndexByte(typ.Name, '.')] }

func (typ Type) filled() *filter {
	f := typ.makeOne()
	for _, h := range keys {
		f.AddHash(h)
	}
	f.UpdateInfo(func(i *bloom.Info) { *i = info })
	return f
}

func (typ Type) saved(t *testing.T) (f *filter, path string, data []byte) {
	f, path = typ.filled(), filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	return f, path, bloom.Must(os.ReadFile(path))
}

func (typ Type) failed(t *testing.T, err, target error, about ...any) {
	t.Helper()
	require.Error(t, err, about...)
	require.Regexp(t, "^"+typ.pkg()+": ", err.Error(), about...)
	if target != nil {
		require.ErrorIs(t, err, target, about...)
	}
}

func (typ Type) failedFor(t *testing.T, path string, err, target error, about ...any) {
	t.Helper()
	typ.failed(t, err, target, about...)
	require.Equal(t, 1, strings.Count(err.Error(), path), "%v", err)
}

func requireSame(t *testing.T, want, got Filter, about ...any) {
	t.Helper()
	wanted := bloom.Must(want.MarshalBinary())
	require.True(t, bytes.Equal(wanted, bloom.Must(got.MarshalBinary())), about...)
}

// requireKept requires that f, a result of filled, still has its Info, its last key and its size.
func requireKept(t *testing.T, f *filter, size int64, about ...any) {
	t.Helper()
	require.Equal(t, info, f.Info(), about...)
	require.True(t, f.ContainsHash(keys[999]), about...)
	require.Equal(t, size, f.Stats().SizeBytes, about...)
}

func errOf[T any](_ T, err error) error { return err }

func panicOf(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// testKeys tests that bytes, strings and digests are interchangeable as keys.
func testKeys(t *testing.T, typ Type) {
	byBytes, byString, byHash := typ.makeOne(), typ.makeOne(), typ.makeOne()
	long := strings.Repeat("a key of some length ", 20)
	for i := range 300 { // the last 100 keys repeat the first 100
		n := i % 200
		key := long[n%16:][:n] // keys have every length up to 199, and every alignment
		h := bloom.SumString(key)
		isNew := byHash.AddHash(h)
		if i == 0 {
			require.True(t, isNew, "the first key")
		}
		if i >= 200 {
			require.Equal(t, typ.Multiset, isNew, "key %d again", n)
		}
		require.Equal(t, isNew, byString.AddString(key), "key %d", i)
		require.Equal(t, isNew, byBytes.Add(bitwords.BytesOf(key)), "key %d", i)
		require.True(t, byHash.ContainsHash(h), "key %d", i)
		require.True(t, byString.ContainsString(key), "key %d", i)
		require.True(t, byBytes.Contains(bitwords.BytesOf(key)), "key %d", i)
		absent := "absent " + key
		found := byHash.ContainsHash(bloom.SumString(absent))
		require.Equal(t, found, byString.ContainsString(absent), "absent key %d", i)
		require.Equal(t, found, byBytes.Contains([]byte(absent)), "absent key %d", i)
	}
	requireSame(t, byHash, byString)
	requireSame(t, byHash, byBytes)
	require.Less(t, Count(byHash.found(others)), 40, "absent keys of 1000")
}

// testEmptyKey tests that the empty key is absent until it is added. It must not be a false
// positive more often than other keys, except with Guava's indexes.
func testEmptyKey(t *testing.T, typ Type) {
	f := typ.makeOne()
	require.Equal(t, bloom.Hash{}, bloom.Sum(nil))
	require.False(t, f.Contains(nil), "in an empty filter")
	require.True(t, f.Add(nil), "to an empty filter")
	require.True(t, f.Contains(nil), "after Add")
	require.True(t, f.ContainsString(""), "after Add")
	require.True(t, f.ContainsHash(bloom.Hash{}), "after Add")
	require.Equal(t, []bool{true}, f.found([]bloom.Hash{{}}), "after Add")
	if typ.GuavasIndexes {
		return
	}
	const filters = 200
	found, rate := 0, 0.01
	for i := range uint64(filters) {
		f := typ.makeOne()
		f.addAll(Digests(1000+i, 4000))
		rate = max(rate, f.Stats().FPR)
		if f.Contains(nil) {
			found++
		}
	}
	require.LessOrEqual(t, float64(found), RateBound(filters, rate), "of %d filters", filters)
}

// testBatches tests that a batch returns the results of single calls in order, does not change the
// elements after these results, and panics if the slice is too short.
func testBatches(t *testing.T, typ Type) {
	one, batch := typ.makeOne(), typ.makeOne()
	if batch.AddBatch == nil {
		t.Skip("there are no batches")
	}
	hs := Digests(5, 2000)
	beyond := []bool{true, false, true}
	answers := func(ask func(bloom.Hash) bool, hs []bloom.Hash) (results []bool) {
		for _, h := range hs {
			results = append(results, ask(h))
		}
		return append(results, beyond...)
	}
	start := 0
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000} {
		again := hs[max(0, start-n/2):start]
		some := slices.Concat(hs[start:start+n], again)
		start += n
		room := append(batch.found(some), beyond...)
		batch.AddBatch(room, some)
		require.Equal(t, answers(one.AddHash, some), room, "%d digests", n)
		probes := slices.Concat(some, others[:min(n, len(others))])
		room = append(make([]bool, len(probes)), beyond...)
		batch.ContainsBatch(room, probes)
		require.Equal(t, answers(one.ContainsHash, probes), room, "%d digests", n)
	}
	requireSame(t, one, batch)
	require.Equal(t, one.Stats(), batch.Stats())
	short := "^" + typ.pkg() + ": batch of 2 keys with room for 1 results"
	require.Regexp(t, short, panicOf(func() { batch.AddBatch(make([]bool, 1, 2), others[:2]) }))
	require.Regexp(t, short, panicOf(func() { batch.ContainsBatch(make([]bool, 1, 2), others[:2]) }))
	require.Regexp(t, "room for 0", panicOf(func() { batch.ContainsBatch(nil, others[:2]) }))
	requireSame(t, one, batch)
	room := make([]bool, len(hs))
	withoutRoom := room[:len(others)]
	if typ.Multiset {
		require.Regexp(t, "room for 0", panicOf(func() { batch.AddBatch(nil, others[:2]) }))
	} else {
		withoutRoom = nil
	}
	batch.AddBatch(withoutRoom, others)
	require.NotContains(t, batch.found(others), false, "added without room for answers")
	allocations := testing.AllocsPerRun(10, func() {
		batch.AddBatch(room, hs[:300])
		batch.AddBatch(withoutRoom, hs[:300])
		batch.ContainsBatch(room, hs)
	})
	if !Race { // with the race detector, a sync.Pool drops elements at random
		require.Zero(t, allocations, "of batches")
	}
}

func testAllocations(t *testing.T, typ Type) {
	long := strings.Repeat("a long key, which goes to the murmur3 package ", 100)
	f := typ.makeOne()
	f.AddString("begin a layer")
	for _, key := range []string{"", "key", long} {
		bytes := []byte(key)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			f.Add(bytes)
			f.AddString(key)
			f.AddHash(bloom.SumUTF16(key))
			f.Contains(bytes)
			f.ContainsString(key)
			f.ContainsHash(bloom.SumUint32(7))
		}), "%d bytes", len(key))
	}
}

// testZero tests that a zero value contains nothing, has no binary form, has an empty text, and can
// be decoded into. Adding to it must panic.
func testZero(t *testing.T, typ Type) {
	z, f := typ.zero(), typ.filled()
	require.Equal(t, `""`, string(bloom.Must(json.Marshal(z))), "a field that was never set")
	require.NoError(t, json.Unmarshal([]byte("null"), f))
	require.True(t, f.ContainsHash(keys[999]))
	require.NoError(t, json.Unmarshal([]byte(`""`), f))
	for _, z := range []*filter{z, f} {
		require.False(t, z.Contains(nil), "the empty key")
		require.False(t, z.ContainsString("key"), "key")
		require.False(t, z.ContainsHash(bloom.Hash{}), "the zero Hash")
		require.False(t, z.ContainsHash(keys[999]), "a key of before")
		require.NotContains(t, z.found(keys[:2]), true)
		require.NotContains(t, z.found(keys), true)
		z.addAll(nil)
		z.Reset()
		agrees(t, z.Filter, bloom.Stats{})
		require.Zero(t, z.Stats())
		require.Zero(t, z.Info())
		require.Equal(t, typ.zero().String(), z.String())
		require.Panics(t, func() { z.AddHash(keys[0]) })
	}
	for name, add := range map[string]func(){
		"Add":        func() { z.Add(nil) },
		"AddString":  func() { z.AddString("key") },
		"AddHash":    func() { z.AddHash(bloom.Hash{}) },
		"AddBatch":   func() { z.addAll(keys[:1]) },
		"long batch": func() { z.addAll(keys) },
	} {
		require.Regexp(t, "^"+typ.pkg()+": .*zero", panicOf(add), name)
	}
	data, err := z.AppendBinary([]byte("before"))
	require.Equal(t, "before", string(data))
	dir := t.TempDir()
	for call, err := range map[string]error{
		"AppendBinary":  err,
		"MarshalBinary": errOf(z.MarshalBinary()),
		"WriteTo":       errOf(z.WriteTo(io.Discard)),
		"SaveFile":      z.SaveFile(filepath.Join(dir, "f")),
	} {
		require.EqualError(t, err, typ.pkg()+": the zero value has no binary form", call)
	}
	require.Empty(t, bloom.Must(os.ReadDir(dir)))

	text, err := z.MarshalText()
	require.NoError(t, err)
	require.Empty(t, text)
	require.NoError(t, z.UnmarshalBinary(bloom.Must(typ.filled().MarshalBinary())))
	requireSame(t, typ.filled(), z)
	require.True(t, z.AddString("another key"))
	require.True(t, z.ContainsString("another key"))
}

// testReset tests that Reset makes a filter like a new one, but keeps its Info.
func testReset(t *testing.T, typ Type) {
	f, fresh := typ.filled(), typ.makeOne()
	f.addAll(Digests(6, 10_000))
	f.Reset()
	require.Equal(t, info, f.Info())
	fresh.UpdateInfo(func(i *bloom.Info) { *i = info })
	require.Equal(t, fresh.Stats(), f.Stats())
	requireSame(t, fresh, f)
	for _, g := range []*filter{f, fresh} {
		require.False(t, g.ContainsHash(keys[0]))
		require.True(t, g.AddHash(keys[0]))
		g.addAll(keys)
	}
	requireSame(t, fresh, f)
	require.Equal(t, fresh.Stats(), f.Stats())
}

// testStats tests that Stats agrees with the methods for single statistics, and that decoding
// keeps all statistics: ApproxCount and FPR approximately, the others exactly.
func testStats(t *testing.T, typ Type) {
	empty := typ.makeOne().Stats()
	require.Equal(t, bloom.Stats{M: empty.M, K: empty.K, SizeBytes: empty.SizeBytes}, empty)
	f := typ.filled()
	s := f.Stats()
	require.Equal(t, empty.K, s.K)
	require.Positive(t, s.FPR)
	require.LessOrEqual(t, s.FPR, 0.01)
	require.InDelta(t, 1000, s.ApproxCount, 50)
	require.InDelta(t, 10_000, s.OnesCount, 7_000) // a key sets 4 to 16 bits
	require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
	agrees(t, f.Filter, s)
	decoded := typ.zero()
	require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	// Guava's form has no Info.
	decoded.UpdateInfo(func(i *bloom.Info) { *i = info })
	got := decoded.Stats()
	require.InDelta(t, s.ApproxCount, got.ApproxCount, 20)
	got.ApproxCount = s.ApproxCount
	require.InEpsilon(t, s.FPR, got.FPR, 1e-9)
	got.FPR = s.FPR
	require.Equal(t, s, got)
}

func agrees(t *testing.T, x any, s bloom.Stats) {
	t.Helper()
	if x, ok := x.(interface{ M() uint64 }); ok {
		require.Equal(t, s.M, x.M(), "M")
	}
	if x, ok := x.(interface{ K() int }); ok {
		require.Equal(t, s.K, x.K(), "K")
	}
	if x, ok := x.(interface{ Lines() int }); ok {
		require.Equal(t, s.K/8, x.Lines(), "Lines")
	}
	if x, ok := x.(interface{ SizeBytes() int64 }); ok {
		require.Equal(t, s.SizeBytes, x.SizeBytes(), "SizeBytes")
	}
	if x, ok := x.(interface{ OnesCount() uint64 }); ok {
		require.Equal(t, s.OnesCount, x.OnesCount(), "OnesCount")
	}
	if x, ok := x.(interface{ FillRatio() float64 }); ok {
		require.Equal(t, s.FillRatio, x.FillRatio(), "FillRatio")
	}
	if x, ok := x.(interface{ FPR() float64 }); ok {
		require.Equal(t, s.FPR, x.FPR(), "FPR")
	}
	if x, ok := x.(interface{ ApproxCount() uint64 }); ok {
		require.Equal(t, s.ApproxCount, x.ApproxCount(), "ApproxCount")
	}
}

// testSnapshot tests that a snapshot has the keys and the Info of its filter, but shares no memory
// with it.
func testSnapshot(t *testing.T, typ Type) {
	if typ.Snapshot == nil {
		t.Skip("there is no such method")
	}
	f := typ.filled()
	g := typ.wrap(typ.Snapshot(f.Filter))
	require.Equal(t, info, g.Info())
	agrees(t, g.Filter, g.Stats())
	require.Equal(t, f.Stats().FPR, g.Stats().FPR)
	require.Equal(t, f.Stats().ApproxCount, g.Stats().ApproxCount)
	for i, h := range others {
		require.True(t, g.ContainsHash(keys[i]))
		require.Equal(t, f.ContainsHash(h), g.ContainsHash(h))
	}
	require.True(t, g.AddHash(others[0]))
	require.False(t, f.ContainsHash(others[0]))
	require.True(t, f.AddHash(others[1]))
	require.False(t, g.ContainsHash(others[1]))
}

// testEncodings tests that every encoding holds the keys, that SizeBytes is the length of the
// binary form, and that a filter's JSON is its text, never {}.
func testEncodings(t *testing.T, typ Type) {
	f := typ.filled()
	data := bloom.Must(f.MarshalBinary())
	text := base64.StdEncoding.EncodeToString(data)
	require.EqualValues(t, len(data), f.Stats().SizeBytes)
	require.Less(t, len(f.String()), 200)
	require.Regexp(t, "^"+strings.Replace(typ.Name, ".", `\.`, 1)+`\(`, f.String())
	require.Equal(t, slog.StringValue(f.String()), f.LogValue())

	withRoom := append(make([]byte, 0, 3*len(data)), "before"...)
	for _, before := range [][]byte{nil, []byte("before"), withRoom} {
		require.True(t, bytes.Equal(slices.Concat(before, data), bloom.Must(f.AppendBinary(before))))
	}
	require.Equal(t, text, string(bloom.Must(f.MarshalText())))
	var stream bytes.Buffer
	n, err := f.WriteTo(&stream)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.True(t, bytes.Equal(data, stream.Bytes()))

	stream.WriteString("after")
	viaText, viaStream, viaJSON := typ.zero(), typ.zero(), typ.zero()
	require.NoError(t, viaText.UnmarshalText([]byte(text)))
	n, err = viaStream.ReadFrom(&stream)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.Equal(t, "after", stream.String())
	require.NoError(t, json.Unmarshal(bloom.Must(json.Marshal(f)), viaJSON))
	for _, g := range []*filter{viaText, viaStream, viaJSON} {
		requireSame(t, f, g)
		require.True(t, g.ContainsHash(keys[999]))
		require.Equal(t, typ.Multiset, g.AddHash(keys[999]))
	}

	// A copy of the filter in an interface is not addressable.
	held := reflect.ValueOf(f.Filter).Elem().Interface()
	require.Equal(t, `"`+text+`"`, string(bloom.Must(json.Marshal(held))))
	require.Equal(t, f.String(), fmt.Sprint(held))
	require.Equal(t, f.String(), fmt.Sprint(f))
	viaGob := typ.zero()
	stream.Reset()
	require.NoError(t, gob.NewEncoder(&stream).Encode(held))
	require.NoError(t, gob.NewDecoder(&stream).Decode(viaGob))
	requireSame(t, f, viaGob)
}

func cuts(n int) (places []int) {
	for i := range 48 {
		places = append(places, i, n-1-i)
	}
	return append(places, n/3, n/2)
}

// testReaders tests that ReadFrom accepts short reads, and returns the number of bytes that it
// read. If the reader fails, the error must wrap the reader's; if the reader ends early,
// the error must wrap ErrFormat. In both cases the filter must not change.
func testReaders(t *testing.T, typ Type) {
	f := typ.filled()
	data, size := bloom.Must(f.MarshalBinary()), f.Stats().SizeBytes
	for name, reader := range map[string]io.Reader{
		"half":     iotest.HalfReader(bytes.NewReader(data)),
		"with EOF": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		g := typ.zero()
		n, err := g.ReadFrom(reader)
		require.NoError(t, err, name)
		require.EqualValues(t, len(data), n)
		requireSame(t, f, g, name)
	}
	down := errors.New("down")
	for _, i := range cuts(len(data)) {
		n, err := f.ReadFrom(io.MultiReader(bytes.NewReader(data[:i]), iotest.ErrReader(down)))
		typ.failed(t, err, down)
		require.NotErrorIs(t, err, bloom.ErrFormat)
		require.EqualValues(t, i, n, "error after %d bytes", i)
		requireKept(t, f, size, "error after %d bytes", i)

		n, err = f.ReadFrom(iotest.DataErrReader(bytes.NewReader(data[:i])))
		typ.failed(t, err, bloom.ErrFormat)
		require.Equal(t, i == 0, errors.Is(err, io.EOF), "ends after %d bytes", i)
		require.Equal(t, i > 0, errors.Is(err, io.ErrUnexpectedEOF), "ends after %d bytes", i)
		require.EqualValues(t, i, n, "ends after %d bytes", i)
		requireKept(t, f, size, "ends after %d bytes", i)
	}
}

func testWriters(t *testing.T, typ Type) {
	f := typ.filled()
	size := int(f.Stats().SizeBytes)
	down := errors.New("down")
	for _, i := range cuts(size) {
		n, err := f.WriteTo(&LimitedWriter{N: int64(i), Err: down})
		require.ErrorIs(t, err, down, "after %d bytes of %d", i, size)
		require.EqualValues(t, i, n)
		n, err = f.WriteTo(&LimitedWriter{N: int64(i)})
		require.ErrorIs(t, err, io.ErrShortWrite, "after %d bytes of %d", i, size)
		require.EqualValues(t, i, n)
	}
	n, err := f.WriteTo(&LimitedWriter{N: int64(size), Err: down})
	require.NoError(t, err)
	require.EqualValues(t, size, n)
}

// decoders decode a binary form. The last one ignores bytes after the form.
var decoders = []func(f Filter, data []byte) error{
	Filter.UnmarshalBinary,
	func(f Filter, data []byte) error {
		return f.UnmarshalText(base64.StdEncoding.AppendEncode(nil, data))
	},
	func(f Filter, data []byte) error { return errOf(f.ReadFrom(bytes.NewReader(data))) },
}

// refused writes data to the file at path. It requires that Load refuses the file, that Open or
// Verify refuses it, that decoders[:ways] refuse data, and that f, a result of filled, does not
// change. All errors must wrap ErrFormat, and also target if it is not nil, but no ParamError.
func (typ Type) refused(
	t *testing.T, f *filter, path string, data []byte, target error, ways int, about string,
) {
	t.Helper()
	size, errs := f.Stats().SizeBytes, []error(nil)
	for _, decode := range decoders[:ways] {
		errs = append(errs, decode(f, data))
	}
	require.NoError(t, os.WriteFile(path, data, 0o666))
	errs = append(errs, errOf(typ.load(path)))
	typ.failedFor(t, path, errs[ways], target, about)
	if typ.Open != nil {
		file, err := typ.Open(path)
		if err == nil { // Open does not check the bits
			err = file.Verify()
			require.NoError(t, file.Close())
		} else {
			typ.failedFor(t, path, err, target, about)
		}
		errs = append(errs, err)
	}
	for _, err := range errs {
		typ.failed(t, err, target, about)
		require.ErrorIs(t, err, bloom.ErrFormat, about)
		require.False(t, errors.As(err, new(*bloom.ParamError)), "%s: %v", about, err)
	}
	requireKept(t, f, size, about)
}

// testDamage tests that decoders notice damage to the bytes that SaveFile wrote, and leave the
// filter unchanged.
func testDamage(t *testing.T, typ Type) {
	f, path, data := typ.saved(t)
	bare, ways := len(data), 3
	if typ.Guava { // Guava's form is complete without a trailer, and has no checksum
		bare, ways = int(f.Stats().SizeBytes), 2
	}
	for _, i := range cuts(len(data)) {
		if i != bare && i > 0 {
			typ.refused(t, f, path, data[:i], bloom.ErrFormat, ways, fmt.Sprint("cut at ", i))
		}
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		typ.refused(t, f, path, bad, bloom.ErrFormat, ways, fmt.Sprint("byte ", i))
	}
	require.ErrorIs(t, f.UnmarshalBinary(nil), bloom.ErrFormat)
	typ.refused(t, f, path, append(bytes.Clone(data), 0), bloom.ErrFormat, 2, "one more")
	size, good := f.Stats().SizeBytes, string(bloom.Must(f.MarshalText()))
	for _, text := range []string{
		"!", "====", "AAA", "\n", good + "\n", good[:76] + "\r\n" + good[76:], good + "A",
	} {
		typ.failed(t, f.UnmarshalText([]byte(text)), bloom.ErrFormat, text)
		requireKept(t, f, size, text)
	}
}

// testNewer tests that decoders distinguish a newer version's data from damaged data.
func testNewer(t *testing.T, typ Type) {
	f, path, data := typ.saved(t)
	at := func(i int, b byte) []byte {
		data := bytes.Clone(data)
		data[(i+len(data))%len(data)] = b
		return data
	}
	starts := map[string][]byte{"version": at(4, 2), "kind": at(3, 'X')}
	if typ.Guava {
		starts = map[string][]byte{"strategy": at(0, 2)}
	}
	for what, data := range starts {
		typ.refused(t, f, path, data, bloom.ErrVersion, 3, what)
	}
	typ.refused(t, f, path, at(-5, 2), bloom.ErrVersion, 2, "trailer")
	longer := append(bytes.Clone(data), "another trailer of bloom\x09crc."...)
	typ.refused(t, f, path, longer, bloom.ErrVersion, 2, "trailer of any length")
}

// testInfo tests that every encoding and every file holds the Info, except Guava's form without a
// trailer. Decoding must replace a filter's Info and keys.
func testInfo(t *testing.T, typ Type) {
	f, path, _ := typ.saved(t)
	absent := f.found(others) // all false, except for false positives
	require.Equal(t, info, f.Info())
	fresh := typ.makeOne().Info()
	require.Positive(t, fresh.P)
	if !typ.AnyN {
		require.Greater(t, fresh.N, uint64(1000))
	}
	for _, info := range []bloom.Info{
		info,
		{},
		{Hash: strings.Repeat("h", 255)},
		{Comment: strings.Repeat("c", 4000)},
		{Meta: "c=" + strings.Repeat("m", 4094)},
		{N: 1<<64 - 1, P: 1e-300},
		{N: 7},
	} {
		f.UpdateInfo(func(i *bloom.Info) { *i = info })
		require.Equal(t, info, f.Info())
		require.NoError(t, f.SaveFile(path))
		require.Equal(t, info, bloom.Must(typ.load(path)).Info())
		file, bare := bloom.Must(os.ReadFile(path)), info
		if typ.Guava {
			bare = bloom.Info{}
		} else {
			require.EqualValues(t, len(file), f.Stats().SizeBytes)
		}
		g := typ.filled()
		spoil := func() {
			g.UpdateInfo(func(i *bloom.Info) { i.Comment = "to be replaced" })
			for _, h := range others {
				g.AddHash(h)
			}
		}
		spoil()
		require.NoError(t, g.UnmarshalBinary(file))
		require.Equal(t, info, g.Info())
		require.Equal(t, absent, g.found(others))
		for way, decode := range decoders {
			spoil()
			require.NoError(t, decode(g, bloom.Must(f.MarshalBinary())), way)
			require.Equal(t, bare, g.Info(), "decoder %d", way)
			require.Equal(t, absent, g.found(others), "decoder %d", way)
		}
	}
	old := bloom.Must(os.ReadFile(path))
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = strings.Repeat("x", 256) })
	long := typ.pkg() + ": len(Info.Hash) = 256 is more than 255"
	require.EqualError(t, f.SaveFile(path), long)
	require.Equal(t, old, bloom.Must(os.ReadFile(path)), "the old file")
	if !typ.Guava {
		for _, err := range []error{
			errOf(f.MarshalBinary()),
			errOf(f.MarshalText()),
			errOf(f.WriteTo(io.Discard)),
		} {
			require.EqualError(t, err, long)
		}
	}
}

// testFiles tests that errors mention their file once.
func testFiles(t *testing.T, typ Type) {
	f, path, _ := typ.saved(t)
	dir := filepath.Dir(path)
	require.Equal(t, []string{"f"}, Names(t, dir))
	requireSame(t, f, bloom.Must(typ.load(path)))
	missing := filepath.Join(dir, "missing")
	typ.failedFor(t, missing, errOf(typ.Load(missing)), fs.ErrNotExist)
	typ.failedFor(t, dir, errOf(typ.Load(dir)), nil)
	err := f.SaveFile(filepath.Join(missing, "f"))
	typ.failed(t, err, fs.ErrNotExist)
	require.Regexp(t, ": saving: ", err.Error())
	if typ.Open != nil {
		typ.failedFor(t, missing, errOf(typ.Open(missing)), fs.ErrNotExist)
	}
}

func testOpened(t *testing.T, typ Type) {
	if typ.Open == nil {
		t.Skip("no file of it is opened")
	}
	f, path, _ := typ.saved(t)
	for i := range 100 {
		f.AddString(fmt.Sprint(i))
	}
	require.NoError(t, f.SaveFile(path))
	file := bloom.Must(typ.Open(path))
	defer file.Close()
	asks := typ.asks(file)
	require.Equal(t, info, file.Info())
	require.Equal(t, f.Stats(), file.Stats())
	agrees(t, file, f.Stats())
	require.Regexp(t, "^"+typ.pkg()+`\.View\(`, file.String())
	require.NoError(t, file.Verify())
	for _, hs := range [][]bloom.Hash{keys, others} {
		require.Equal(t, f.found(hs), asks.found(hs))
		for _, h := range hs {
			require.Equal(t, f.ContainsHash(h), asks.ContainsHash(h))
		}
	}
	key := []byte("key")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		asks.ContainsHash(keys[0])
		asks.Contains(key)
		asks.ContainsString("key")
	}))
	for i := range 500 {
		key := fmt.Sprint(i)
		want := f.ContainsString(key)
		require.Equal(t, want, asks.ContainsString(key), key)
		require.Equal(t, want, asks.Contains([]byte(key)), key)
	}
}

// testNothingStaysOpen tests that no descriptor and no mapping of a file is left after the file is
// closed, loaded or refused.
func testNothingStaysOpen(t *testing.T, typ Type) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a garbage collection might close files
	_, path, good := typ.saved(t)
	dir := filepath.Dir(path)
	open := func() (open []string) {
		for line := range strings.Lines(string(bloom.Must(os.ReadFile("/proc/self/maps")))) {
			open = append(open, line)
		}
		for _, name := range Names(t, "/proc/self/fd") {
			target, _ := os.Readlink("/proc/self/fd/" + name)
			open = append(open, target)
		}
		return slices.DeleteFunc(open, func(path string) bool { return !strings.Contains(path, dir) })
	}
	require.Empty(t, open(), "saved")
	for damaged, data := range [][]byte{
		good,
		good[:len(good)-1],
		append(bytes.Clone(good), 0),
		append(bytes.Clone(good[:len(good)-3]), 1, 2, 3),
		good[:5],
		{},
	} {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		require.Equal(t, damaged > 0, errOf(typ.load(path)) != nil)
		require.Empty(t, open(), "loaded, with damage %d", damaged)
		if typ.Open == nil {
			continue
		}
		if file, err := typ.Open(path); err == nil {
			require.NotEmpty(t, open())
			require.NoError(t, file.Close())
			testClosed(t, typ, file)
		}
		require.Empty(t, open(), "opened, with damage %d", damaged)
	}
}

// testClosed tests that most methods of a closed View panic.
func testClosed(t *testing.T, typ Type, v View) {
	require.NoError(t, v.Close(), "closing again")
	require.Equal(t, typ.pkg()+".View(closed)", v.String())
	asks := typ.asks(v)
	for name, use := range map[string]func(){
		"Contains":       func() { asks.Contains(nil) },
		"ContainsString": func() { asks.ContainsString("") },
		"ContainsHash":   func() { asks.ContainsHash(keys[0]) },
		"ContainsBatch":  func() { asks.found(keys[:1]) },
		"Stats":          func() { v.Stats() },
		"Info":           func() { v.Info() },
		"Verify":         func() { _ = v.Verify() },
	} {
		require.PanicsWithValue(t, typ.pkg()+": use of a View that is closed or zero", use, name)
	}
}

// testLoadOrNew tests that LoadOrNew loads a file with its keys and Info, but refuses it if it has
// different parameters. Without a file, LoadOrNew must return a new filter, and must not write a
// file.
func testLoadOrNew(t *testing.T, typ Type) {
	if typ.LoadOrNew == nil {
		t.Skip("LoadOrNew makes no such filter")
	}
	f, path, _ := typ.saved(t)
	in := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	got := bloom.Must(typ.LoadOrNew(path, 0.01))
	requireSame(t, f, got)
	require.Equal(t, info, got.Info())
	fresh := bloom.Must(typ.LoadOrNew(in("none"), 0.01))
	requireSame(t, typ.makeOne(), fresh)
	require.Equal(t, typ.makeOne().Info(), fresh.Info())
	require.Equal(t, []string{"f"}, Names(t, filepath.Dir(path)))

	fails := func(path string, p float64, target error, says string) {
		t.Helper()
		err := errOf(typ.LoadOrNew(path, p))
		typ.failed(t, err, target)
		require.ErrorContains(t, err, says)
	}
	fails(path, 0.001, bloom.ErrMismatch, path)
	fails(path, 2, nil, " = 2 is outside ")
	fails(in("none"), 2, nil, " = 2 is outside ")
	require.NotEmpty(t, typ.Others)
	for parameter, loadOrNew := range typ.Others {
		require.ErrorIs(t, errOf(loadOrNew(path)), bloom.ErrMismatch, parameter)
		require.NoError(t, errOf(loadOrNew(in("none"))), parameter)
	}
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o666))
	fails(path, 0.01, bloom.ErrFormat, path)
	fails(in("missing/f"), 0.01, fs.ErrNotExist, in("missing"))
	if exec.Command("mkfifo", in("pipe")).Run() == nil { // every Unix has mkfifo
		waits := time.AfterFunc(2*time.Minute, func() {
			panic("LoadOrNew waits for a writer of a pipe")
		})
		fails(in("pipe"), 0.01, nil, in("pipe"))
		waits.Stop()
	}
}

// WithoutTrailer returns data without its trailer, which must be there. A trailer ends with its
// length, 5 bytes of magic, a version and a checksum.
func WithoutTrailer(data []byte) []byte {
	size := binary.BigEndian.Uint16(data[len(data)-12:])
	return data[:len(data)-int(size)]
}

// Fuzz decodes data as it is, and again after Sealed has corrected the checksums. If data is
// refused, the error must wrap ErrFormat, and the zero value must stay zero. Otherwise the filter
// must encode to the same bytes, except in the trailer, find keys that are added to it, and survive
// another encoding and decoding. Fuzz then passes the filter to more for further checks. It uses
// only the fields Zero, Adds, Asks and Multiset of typ.
func Fuzz[F Filter](f *testing.F, typ Type, more func(t *testing.T, g F), seeds ...[]byte) {
	for _, data := range seeds {
		f.Add(data)
		f.Add(data[:len(data)-1])
	}
	f.Add([]byte{})
	zero := typ.Zero
	pkg, _, _ := strings.Cut(fmt.Sprintf("%T", zero())[1:], ".")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, err := range []error{zero().UnmarshalBinary(data), zero().UnmarshalText(data)} {
			if err != nil {
				require.ErrorIs(t, err, bloom.ErrFormat)
			}
		}
		data = Sealed(data)
		g, read := zero(), zero()
		err := g.UnmarshalBinary(data)
		n, errFrom := read.ReadFrom(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Regexp(t, "^"+pkg+": ", err)
			require.Equal(t, zero(), g)
			require.True(t, errFrom != nil || n < int64(len(data)))
			return
		}
		require.NoError(t, errFrom)
		// Decoders skip the flags and fields of a later version, and encoders do not write them.
		written := bloom.Must(g.MarshalBinary())
		require.Equal(t, WithoutTrailer(data), WithoutTrailer(written))
		require.Equal(t, written, bloom.Must(read.MarshalBinary()))
		rewritten := zero()
		require.NoError(t, rewritten.UnmarshalBinary(written))
		require.Equal(t, written, bloom.Must(rewritten.MarshalBinary()))
		filled := typ.wrap(g)
		if !filled.AddString("key") && typ.Multiset { // a full filter refuses keys
			g.Reset()
			require.True(t, filled.AddString("key"))
		}
		require.True(t, filled.ContainsString("key"))
		filled.addAll(keys[:300])
		g.Stats()
		again := zero()
		require.NoError(t, again.UnmarshalBinary(bloom.Must(g.MarshalBinary())))
		require.Equal(t, filled.found(keys), typ.wrap(again).found(keys))
		more(t, g.(F))
	})
}
