// Package promises tests what all filters of the module promise. The tests of each package
// call it with the package's types.
package promises

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// Filter is what every type that stores keys has.
type Filter interface {
	bloom.Set
	Add(key []byte) bool
	AddString(key string) bool
	Contains(key []byte) bool
	ContainsString(key string) bool
	AddBatch(dst []bool, hs []bloom.Hash)
	ContainsBatch(dst []bool, hs []bloom.Hash)
	Reset()
	FPR() float64
	Stats() bloom.Stats
	Info() bloom.Info
	SetInfo(bloom.Info)
	SizeBytes() int64
	String() string
	LogValue() slog.Value
	SaveFile(path string) error
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
	encoding.TextMarshaler
	encoding.TextAppender
	encoding.TextUnmarshaler
	io.WriterTo
	io.ReaderFrom
}

// Type is a type of Filter.
type Type struct {
	Name string // such as blocked.SyncFilter
	// Make returns an empty filter for some thousand keys at 1 % or less. Two are equal.
	Make func() Filter
	// Zero returns a zero value.
	Zero func() Filter
	Load func(path string) (Filter, error)
	// Open opens a file, or is nil.
	Open func(path string) (io.Closer, error)
	// LoadOrNew is the package's, with Make's parameters where p is 0.01, or nil if it makes
	// others.
	LoadOrNew func(path string, p float64) (Filter, error)
	// Others are LoadOrNew with another value of one parameter each.
	Others map[string]func(path string) (Filter, error)
}

func (typ Type) pkg() string { return typ.Name[:strings.IndexByte(typ.Name, '.')] }

// filled returns a filter with keys.
func (typ Type) filled() Filter {
	f := typ.Make()
	for _, h := range keys {
		f.AddHash(h)
	}
	f.SetInfo(info)
	return f
}

var (
	keys   = testkit.Digests[bloom.Hash](3, 1000)
	others = testkit.Digests[bloom.Hash](4, 1000)
	info   = bloom.Info{N: 5000, P: 0.01, Hash: "SumString", Comment: "of a test"}
)

// Test tests all promises of types.
func Test(t *testing.T, types ...Type) {
	for _, typ := range types {
		for name, promise := range map[string]func(*testing.T, Type){
			"Keys": testKeys, "Batches": testBatches, "Allocations": testAllocations, "Zero": testZero, "Reset": testReset,
			"Stats": testStats, "Encodings": testEncodings, "Readers": testReaders, "Writers": testWriters,
			"Damage": testDamage, "Newer": testNewer, "Info": testInfo, "Files": testFiles, "NothingStaysOpen": testNothingStaysOpen, "LoadOrNew": testLoadOrNew,
			"Snapshot": testSnapshot, "Opened": testOpened, "Copies": testCopies, "SystemCalls": testSystemCalls,
		} {
			t.Run(typ.Name+"/"+name, func(t *testing.T) { promise(t, typ) })
		}
	}
}

// same requires that f and g have one binary form.
func same(t *testing.T, want, got Filter, args ...any) {
	t.Helper()
	require.True(t, bytes.Equal(bloom.Must(want.MarshalBinary()), bloom.Must(got.MarshalBinary())), args...)
}

// testKeys: a key is one key by its bytes, as a string and by its digest.
func testKeys(t *testing.T, typ Type) {
	byBytes, byString, byHash := typ.Make(), typ.Make(), typ.Make()
	long := strings.Repeat("a key of some length ", 20)
	for i := range 300 { // some of them again
		n := i % 200
		key := long[n%16:][:n] // of every length, at every place in a word
		h := bloom.SumString(key)
		isNew := byHash.AddHash(h)
		require.True(t, i >= 200 || i > 0 || isNew)
		require.False(t, i >= 200 && isNew)
		require.Equal(t, isNew, byString.AddString(key))
		require.Equal(t, isNew, byBytes.Add(memory.BytesOf(key)))
		require.True(t, byHash.ContainsHash(h) && byString.ContainsString(key) && byBytes.Contains(memory.BytesOf(key)))
		absent := "absent " + key
		found := byHash.ContainsHash(bloom.SumString(absent))
		require.Equal(t, found, byString.ContainsString(absent))
		require.Equal(t, found, byBytes.Contains([]byte(absent)))
	}
	same(t, byHash, byString)
	same(t, byHash, byBytes)
	require.Less(t, testkit.Count(testkit.Found(byHash, others)), 40, "absent keys of 1000")
}

// testBatches: a batch answers as single keys do, one after the other. It leaves what is beyond
// its answers alone, and refuses to answer where there is no room.
func testBatches(t *testing.T, typ Type) {
	one, batch := typ.Make(), typ.Make()
	hs := testkit.Digests[bloom.Hash](5, 2000)
	from := 0
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1000} {
		some := slices.Concat(hs[from:from+n], hs[max(0, from-n/2):from]) // half of them again
		from += n
		beyond := []bool{true, false, true}
		want := []bool(nil)
		for _, h := range some {
			want = append(want, one.AddHash(h))
		}
		room := append(testkit.Found(batch, some), beyond...)
		batch.AddBatch(room, some)
		require.Equal(t, append(want, beyond...), room, "%d digests", n)
		probes := slices.Concat(some, others[:min(n, len(others))])
		want = nil
		for _, h := range probes {
			want = append(want, one.ContainsHash(h))
		}
		room = append(make([]bool, len(probes)), beyond...)
		batch.ContainsBatch(room, probes)
		require.Equal(t, append(want, beyond...), room, "%d digests", n)
	}
	same(t, one, batch)
	require.Equal(t, one.Stats(), batch.Stats())
	short := "^" + typ.pkg() + ": batch of 2 with room for 1 results"
	require.Regexp(t, short, panicOf(func() { batch.AddBatch(make([]bool, 1, 2), others[:2]) }))
	require.Regexp(t, short, panicOf(func() { batch.ContainsBatch(make([]bool, 1, 2), others[:2]) }))
	require.Regexp(t, "room for 0", panicOf(func() { batch.ContainsBatch(nil, others[:2]) }))
	same(t, one, batch)
	batch.AddBatch(nil, others)
	require.NotContains(t, testkit.Found(batch, others), false, "whose answers nobody wanted")
	room := make([]bool, len(hs))
	require.Zero(t, testing.AllocsPerRun(10, func() {
		batch.AddBatch(room, hs[:300])
		batch.ContainsBatch(room, hs)
	}))
}

func testAllocations(t *testing.T, typ Type) {
	long := strings.Repeat("a long key, which goes to the murmur3 package ", 100)
	f := typ.Make()
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

// testZero: a zero value contains nothing, says who it is when it is added to, has no
// binary form, is the empty text, and can be decoded into.
func testZero(t *testing.T, typ Type) {
	z := typ.Zero()
	require.False(t, z.Contains(nil) || z.ContainsString("key") || z.ContainsHash(bloom.Hash{}))
	found := []bool{true, true}
	z.ContainsBatch(found, keys[:2])
	require.Equal(t, []bool{false, false}, found)
	z.AddBatch(nil, nil)
	require.Zero(t, z.FPR())
	require.Zero(t, z.SizeBytes())
	require.Zero(t, z.Stats())
	require.Zero(t, z.Info())
	z.Reset()
	require.NotEmpty(t, z.String())
	for _, add := range []func(){
		func() { z.Add(nil) }, func() { z.AddString("key") }, func() { z.AddHash(bloom.Hash{}) }, func() { z.AddBatch(nil, keys[:1]) },
	} {
		require.Regexp(t, "^"+typ.pkg()+": .*zero", panicOf(add))
	}
	none := typ.pkg() + ": the zero value has no binary form"
	_, err := z.MarshalBinary()
	require.EqualError(t, err, none)
	data, err := z.AppendBinary([]byte("before"))
	require.EqualError(t, err, none)
	require.Equal(t, "before", string(data))
	n, err := z.WriteTo(io.Discard)
	require.EqualError(t, err, none)
	require.Zero(t, n)
	dir := t.TempDir()
	require.EqualError(t, z.SaveFile(filepath.Join(dir, "f")), none)
	require.Empty(t, bloom.Must(os.ReadDir(dir)))

	text, err := json.Marshal(z) // of a field that was never set
	require.NoError(t, err)
	require.Equal(t, `""`, string(text))
	text, err = z.AppendText([]byte("before"))
	require.NoError(t, err)
	require.Equal(t, "before", string(text))
	again := typ.filled()
	require.NoError(t, json.Unmarshal([]byte("null"), again))
	require.True(t, again.ContainsHash(keys[999]))
	require.NoError(t, json.Unmarshal([]byte(`""`), again))
	require.Zero(t, again.SizeBytes())
	require.Zero(t, again.Stats())
	require.Zero(t, again.Info())
	require.False(t, again.ContainsHash(keys[999]))
	require.Panics(t, func() { again.AddHash(keys[0]) })
	require.Equal(t, figures(t, typ.Zero()), figures(t, again))

	f := typ.filled()
	require.NoError(t, z.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	same(t, f, z)
	require.True(t, z.AddString("another key"))
	require.True(t, z.ContainsString("another key"))
}

// figures returns what the methods of x without parameters say of it.
func figures(t *testing.T, x any) map[string]string {
	testkit.Uncollected(t)
	figures := map[string]string{}
	v := reflect.ValueOf(x)
	for i := range v.NumMethod() {
		method := v.Method(i)
		if typ := method.Type(); typ.NumIn() > 0 || typ.NumOut() != 1 || slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Interface, reflect.Slice}, typ.Out(0).Kind()) {
			continue
		}
		name := v.Type().Method(i).Name
		if name == "Config" { // whose Now stays
			figures[name] = fmt.Sprint(method.Call(nil)[0].Field(0), method.Call(nil)[0].Field(1))
			continue
		}
		figures[name] = fmt.Sprint(method.Call(nil)[0])
	}
	return figures
}

func panicOf(do func()) (value any) {
	defer func() { value = recover() }()
	do()
	return nil
}

// testReset: an emptied filter is as a new one, but for the Info that it was given.
func testReset(t *testing.T, typ Type) {
	f, fresh := typ.filled(), typ.Make()
	f.AddBatch(nil, testkit.Digests[bloom.Hash](6, 10_000))
	f.Reset()
	require.Equal(t, info, f.Info())
	fresh.SetInfo(info)
	require.Equal(t, fresh.Stats(), f.Stats())
	same(t, fresh, f)
	for _, g := range []Filter{f, fresh} {
		require.False(t, g.ContainsHash(keys[0]))
		require.True(t, g.AddHash(keys[0]))
		g.AddBatch(nil, keys)
	}
	same(t, fresh, f)
	require.Equal(t, fresh.Stats(), f.Stats())
}

// testStats: one call returns what the methods do.
func testStats(t *testing.T, typ Type) {
	empty := typ.Make().Stats()
	require.Zero(t, empty.OnesCount)
	require.Zero(t, empty.ApproxCount)
	require.Zero(t, empty.FillRatio)
	require.Zero(t, empty.FPR)
	f := typ.filled()
	s := f.Stats()
	require.Equal(t, empty.K, s.K)
	require.Equal(t, f.FPR(), s.FPR)
	require.Positive(t, s.FPR)
	require.LessOrEqual(t, s.FPR, 0.01)
	require.Equal(t, f.SizeBytes(), s.SizeBytes)
	require.InDelta(t, 1000, s.ApproxCount, 50)
	require.InDelta(t, 10_000, s.OnesCount, 7_000) // a key has 4 to 16
	require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
	if f, ok := f.(interface{ ApproxCount() uint64 }); ok {
		require.Equal(t, f.ApproxCount(), s.ApproxCount)
	}
	if f, ok := f.(interface{ FillRatio() float64 }); ok {
		require.Equal(t, f.FillRatio(), s.FillRatio)
	}
	if f, ok := f.(interface{ OnesCount() uint64 }); ok {
		require.Equal(t, f.OnesCount(), s.OnesCount)
	}
	if f, ok := f.(interface{ M() uint64 }); ok {
		require.Equal(t, f.M(), s.M)
	}
	if f, ok := f.(interface{ K() int }); ok {
		require.Equal(t, f.K(), s.K)
	}
	if f, ok := f.(interface{ Lines() int }); ok {
		require.Equal(t, 8*f.Lines(), s.K)
	}
	decoded := typ.Zero()
	require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	decoded.SetInfo(info) // which counts in SizeBytes, and which Guava's form lacks
	got := decoded.Stats()
	require.InDelta(t, s.ApproxCount, got.ApproxCount, 20)
	got.ApproxCount = s.ApproxCount
	require.InEpsilon(t, s.FPR, got.FPR, 1e-9)
	got.FPR = s.FPR
	require.Equal(t, s, got)
}

// testEncodings: every form has the keys, SizeBytes is the length of the binary one, and
// JSON has text or an error, never {}.
func testEncodings(t *testing.T, typ Type) {
	f := typ.filled()
	data := bloom.Must(f.MarshalBinary())
	require.EqualValues(t, len(data), f.SizeBytes())
	require.Less(t, len(f.String()), 200)
	require.Regexp(t, "^"+strings.Replace(typ.Name, ".", `\.`, 1)+`\(`, f.String())
	require.Equal(t, f.String(), fmt.Sprint(f))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "filter", f)
	require.Less(t, log.Len(), 500)
	require.Regexp(t, `"filter":{("m":\d+,)?.*"rate":`, log.String())

	for _, before := range [][]byte{nil, []byte("before"), append(make([]byte, 0, 3*len(data)), "before"...)} {
		got := bloom.Must(f.AppendBinary(before))
		require.True(t, bytes.Equal(slices.Concat(before, data), got))
		text := bloom.Must(f.AppendText(before))
		require.Equal(t, string(before)+base64.StdEncoding.EncodeToString(data), string(text))
	}
	text := bloom.Must(f.MarshalText())
	require.Equal(t, base64.StdEncoding.EncodeToString(data), string(text))
	var stream bytes.Buffer
	n, err := f.WriteTo(&stream)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.True(t, bytes.Equal(data, stream.Bytes()))

	stream.WriteString("after")
	viaText, viaStream, viaJSON := typ.Zero(), typ.Zero(), typ.Zero()
	require.NoError(t, viaText.UnmarshalText(text))
	n, err = viaStream.ReadFrom(&stream)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.Equal(t, "after", stream.String())
	require.NoError(t, json.Unmarshal(bloom.Must(json.Marshal(f)), viaJSON))
	for _, g := range []Filter{viaText, viaStream, viaJSON} {
		same(t, f, g)
		require.True(t, g.ContainsHash(keys[999]))
		require.False(t, g.AddHash(keys[999]))
	}

	// Held by value, in a struct that has no address.
	holder := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: reflect.TypeOf(f).Elem()}})).Elem()
	holder.Field(0).Set(reflect.ValueOf(f).Elem())
	byValue, err := json.Marshal(holder.Interface())
	require.NoError(t, err)
	require.Equal(t, `{"F":"`+string(text)+`"}`, string(byValue))
	require.Equal(t, "{"+f.String()+"}", fmt.Sprint(holder.Interface()))
	require.NoError(t, gob.NewEncoder(&stream).Encode(holder.Interface()))
	stream.Next(len("after"))
	got := reflect.New(holder.Type())
	require.NoError(t, gob.NewDecoder(&stream).Decode(got.Interface()))
	if typ.pkg() != "window" { // where the keys are older by the system's time
		same(t, f, got.Elem().Field(0).Addr().Interface().(Filter))
	}
}

// cuts are places in n bytes.
func cuts(n int) (at []int) {
	for i := range 48 {
		at = append(at, i, n-1-i)
	}
	return append(at, n/3, n/2)
}

// kept requires that f still is what filled returned, of that size.
func kept(t *testing.T, f Filter, size int64, args ...any) {
	t.Helper()
	require.Equal(t, info, f.Info(), args...)
	require.True(t, f.ContainsHash(keys[999]), args...)
	require.Equal(t, size, f.SizeBytes(), args...)
}

// testReaders: ReadFrom reads by any portions, counts what it reads, returns its reader's
// own error, and takes an end for damage. On error the filter is what it was.
func testReaders(t *testing.T, typ Type) {
	f := typ.filled()
	data, size := bloom.Must(f.MarshalBinary()), f.SizeBytes()
	for name, reader := range map[string]io.Reader{
		"half": iotest.HalfReader(bytes.NewReader(data)), "with EOF": iotest.DataErrReader(bytes.NewReader(data)),
	} {
		g := typ.Zero()
		n, err := g.ReadFrom(reader)
		require.NoError(t, err, name)
		require.EqualValues(t, len(data), n)
		same(t, f, g, name)
	}
	down := errors.New("down")
	for _, i := range cuts(len(data)) {
		n, err := f.ReadFrom(io.MultiReader(bytes.NewReader(data[:i]), iotest.ErrReader(down)))
		require.ErrorIs(t, err, down)
		require.NotErrorIs(t, err, bloom.ErrFormat)
		require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
		require.EqualValues(t, i, n, "error after %d bytes", i)
		kept(t, f, size, "error after %d bytes", i)

		n, err = f.ReadFrom(iotest.DataErrReader(bytes.NewReader(data[:i])))
		require.ErrorIs(t, err, bloom.ErrFormat)
		require.Equal(t, i == 0, errors.Is(err, io.EOF), "ends after %d bytes", i)
		require.Equal(t, i > 0, errors.Is(err, io.ErrUnexpectedEOF), "ends after %d bytes", i)
		require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
		require.EqualValues(t, i, n, "ends after %d bytes", i)
		kept(t, f, size, "ends after %d bytes", i)
	}
}

// testWriters: WriteTo returns its writer's error, whichever write has it, and counts what
// was written.
func testWriters(t *testing.T, typ Type) {
	f := typ.filled()
	size := int(f.SizeBytes())
	down := errors.New("down")
	for _, i := range cuts(size) {
		n, err := f.WriteTo(&testkit.LimitedWriter{N: int64(i), Err: down})
		require.ErrorIs(t, err, down, "after %d bytes of %d", i, size)
		require.EqualValues(t, i, n)
		n, err = f.WriteTo(&testkit.LimitedWriter{N: int64(i)})
		require.ErrorIs(t, err, io.ErrShortWrite, "after %d bytes of %d", i, size)
		require.EqualValues(t, i, n)
	}
	n, err := f.WriteTo(&testkit.LimitedWriter{N: int64(size), Err: down})
	require.NoError(t, err)
	require.EqualValues(t, size, n)
}

// testDamage: damage to any byte of what SaveFile wrote is noticed, in every form. The
// filter is what it was.
func testDamage(t *testing.T, typ Type) {
	f := typ.filled()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	data, size := bloom.Must(os.ReadFile(path)), f.SizeBytes()
	whole := len(data)
	refused := func(data []byte, what string, at int) {
		errs := []error{f.UnmarshalBinary(data), f.UnmarshalText(base64.StdEncoding.AppendEncode(nil, data))}
		if typ.pkg() != "bloom" && at < whole { // what has no checksum, or follows, is not read
			_, err := f.ReadFrom(bytes.NewReader(data))
			errs = append(errs, err)
		}
		for _, err := range errs {
			require.ErrorIs(t, err, bloom.ErrFormat, "%s %d", what, at)
			require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
			kept(t, f, size, "%s %d", what, at)
		}
	}
	bare := len(data) // without a trailer, Guava's form is whole
	if typ.pkg() == "bloom" {
		bare = int(size)
	}
	for _, i := range cuts(len(data)) {
		if i != bare && i > 0 {
			refused(data[:i], "cut at", i)
		}
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		refused(bad, "byte", i)
	}
	require.ErrorIs(t, f.UnmarshalBinary(nil), bloom.ErrFormat)
	refused(append(bytes.Clone(data), 0), "one more than", len(data))
	good := string(bloom.Must(f.MarshalText()))
	for _, text := range []string{"!", "====", "AAA", "\n", good + "\n", good[:76] + "\r\n" + good[76:], good + "A"} {
		err := f.UnmarshalText([]byte(text))
		require.ErrorIs(t, err, bloom.ErrFormat)
		require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
		kept(t, f, size, text)
	}
}

// testNewer: what a newer version may have written is told from damage, by every decoder.
func testNewer(t *testing.T, typ Type) {
	f := typ.filled()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	data, size := bloom.Must(os.ReadFile(path)), f.SizeBytes()
	at := func(i int, b byte) []byte {
		data := bytes.Clone(data)
		data[(i+len(data))%len(data)] = b
		return data
	}
	later := map[string][]byte{
		"trailer":               at(-5, 2),
		"trailer of any length": append(bytes.Clone(data), "another trailer of bloom\x09crc."...),
	}
	if typ.pkg() == "bloom" {
		later["strategy"] = at(0, 2)
	} else {
		later["version"], later["kind"] = at(4, 2), at(3, 'X')
	}
	for what, data := range later {
		require.NoError(t, os.WriteFile(path, data, 0o666))
		_, err := typ.Load(path)
		errs := []error{err, f.UnmarshalBinary(data), f.UnmarshalText(base64.StdEncoding.AppendEncode(nil, data))}
		if typ.Open != nil {
			_, err := typ.Open(path)
			errs = append(errs, err)
		}
		if what == "strategy" || what == "version" || what == "kind" {
			_, err := f.ReadFrom(bytes.NewReader(data))
			errs = append(errs, err)
		}
		for i, err := range errs {
			require.ErrorIs(t, err, bloom.ErrVersion, "%s, decoder %d", what, i)
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
			kept(t, f, size, what)
		}
	}
}

// testInfo: what a filter says of itself goes through every form and file but Guava's bare
// one, and is replaced when the filter is.
func testInfo(t *testing.T, typ Type) {
	f := typ.filled()
	require.Equal(t, info, f.Info())
	require.Positive(t, typ.Make().Info().P)
	path := filepath.Join(t.TempDir(), "f")
	for _, info := range []bloom.Info{info, {}, {Hash: strings.Repeat("h", 255)}, {Comment: strings.Repeat("c", 4000)}, {N: 1<<64 - 1, P: 1e-300}, {N: 7}} {
		before := f.Info()
		f.SetInfo(info)
		info.N, info.P = cmp.Or(info.N, before.N), cmp.Or(info.P, before.P) // which stay where there are none
		require.Equal(t, info, f.Info())
		require.NoError(t, f.SaveFile(path))
		require.Equal(t, info, bloom.Must(typ.Load(path)).Info())
		g := typ.filled()
		g.SetInfo(bloom.Info{Comment: "to be replaced"})
		require.NoError(t, g.UnmarshalBinary(bloom.Must(os.ReadFile(path))))
		require.Equal(t, info, g.Info())

		want := info
		if typ.pkg() == "bloom" {
			want = bloom.Info{}
		} else {
			require.EqualValues(t, len(bloom.Must(os.ReadFile(path))), f.SizeBytes())
		}
		g.SetInfo(bloom.Info{Comment: "to be replaced"})
		require.NoError(t, g.UnmarshalText(bloom.Must(f.MarshalText())))
		require.Equal(t, want, g.Info())
		g.SetInfo(bloom.Info{Comment: "to be replaced"})
		_, err := g.ReadFrom(bytes.NewReader(bloom.Must(f.MarshalBinary())))
		require.NoError(t, err)
		require.Equal(t, want, g.Info())
	}
	f.SetInfo(info)
	require.NoError(t, f.SaveFile(path))
	data := bloom.Must(os.ReadFile(path))
	f.SetInfo(bloom.Info{Hash: strings.Repeat("x", 256)})
	require.ErrorContains(t, f.SaveFile(path), typ.pkg()+": Info.Hash has 256 bytes, more than 255")
	require.Equal(t, data, bloom.Must(os.ReadFile(path)), "the old file")
	if typ.pkg() != "bloom" {
		_, err := f.MarshalBinary()
		require.EqualError(t, err, typ.pkg()+": Info.Hash has 256 bytes, more than 255")
		_, err = f.MarshalText()
		require.EqualError(t, err, typ.pkg()+": Info.Hash has 256 bytes, more than 255")
		n, err := f.WriteTo(io.Discard)
		require.EqualError(t, err, typ.pkg()+": Info.Hash has 256 bytes, more than 255")
		require.Zero(t, n)
	}
}

// testFiles: a saved file is the filter, and errors name their file once.
func testFiles(t *testing.T, typ Type) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	f := typ.filled()
	require.NoError(t, f.SaveFile(path))
	require.Len(t, bloom.Must(os.ReadDir(dir)), 1)
	same(t, f, bloom.Must(typ.Load(path)))
	once := func(err error, path string, is error) {
		t.Helper()
		require.ErrorIs(t, err, is)
		require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
		require.Equal(t, 1, strings.Count(err.Error(), path), "%v", err)
	}
	data := bloom.Must(os.ReadFile(path))
	for i, bad := range [][]byte{nil, data[:5], data[:len(data)-1], append(bytes.Clone(data), 0)} {
		damaged := filepath.Join(dir, fmt.Sprint("damaged", i))
		require.NoError(t, os.WriteFile(damaged, bad, 0o666))
		_, err := typ.Load(damaged)
		once(err, damaged, bloom.ErrFormat)
		if typ.Open != nil {
			_, err = typ.Open(damaged)
			once(err, damaged, bloom.ErrFormat)
		}
	}
	_, err := typ.Load(filepath.Join(dir, "missing"))
	once(err, filepath.Join(dir, "missing"), fs.ErrNotExist)
	_, err = typ.Load(dir)
	require.Regexp(t, "^"+typ.pkg()+": ", fmt.Sprint(err))
	require.Equal(t, 1, strings.Count(err.Error(), dir), "%v", err)
	err = f.SaveFile(filepath.Join(dir, "missing", "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Regexp(t, "^"+typ.pkg()+": saving: ", err.Error())
}

func testCopies(t *testing.T, typ Type) { TestCopies(t, typ.Zero()) }

// TestCopies: go vet reports copies of what values point to. It does so for a struct that has a
// sync.Locker in it.
func TestCopies(t *testing.T, values ...any) {
	var locked func(reflect.Type) bool
	locked = func(r reflect.Type) bool {
		if r.Kind() != reflect.Struct {
			return false
		}
		for i := range r.NumField() {
			if locked(r.Field(i).Type) {
				return true
			}
		}
		return reflect.PointerTo(r).Implements(reflect.TypeFor[sync.Locker]())
	}
	for _, v := range values {
		require.True(t, locked(reflect.TypeOf(v).Elem()), "%T", v)
	}
}

// alike requires that x and y say the same of themselves, apart from what they are.
func alike(t *testing.T, x, y any) {
	t.Helper()
	theirs := figures(t, y)
	for name, figure := range figures(t, x) {
		if other, ok := theirs[name]; ok && name != "String" && name != "Stats" && name != "LogValue" && name != "SizeBytes" {
			require.Equal(t, figure, other, name)
		}
	}
}

// testSnapshot: a snapshot has the keys and the Info, and shares nothing.
func testSnapshot(t *testing.T, typ Type) {
	f := typ.filled()
	method := reflect.ValueOf(f).MethodByName("Snapshot")
	if !method.IsValid() {
		t.Skip("there is no such method")
	}
	testkit.Uncollected(t)
	g := method.Call(nil)[0].Interface().(Filter)
	require.Equal(t, info, g.Info())
	alike(t, f, g)
	for i, h := range others {
		require.True(t, g.ContainsHash(keys[i]))
		require.Equal(t, f.ContainsHash(h), g.ContainsHash(h))
	}
	require.True(t, g.AddHash(others[0]))
	require.False(t, f.ContainsHash(others[0]))
	require.True(t, f.AddHash(others[1]))
	require.False(t, g.ContainsHash(others[1]))
}

// testOpened: a file answers as the filter does, and says the same of itself.
func testOpened(t *testing.T, typ Type) {
	if typ.Open == nil {
		t.Skip("no file of it is opened")
	}
	f := typ.filled()
	for i := range 100 {
		f.AddString(fmt.Sprint(i))
	}
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	file := bloom.Must(typ.Open(path))
	defer file.Close()
	alike(t, f, file)
	v := file.(interface {
		ContainsHash(bloom.Hash) bool
		ContainsBatch(dst []bool, hs []bloom.Hash)
		Info() bloom.Info
		Stats() bloom.Stats
		SizeBytes() int64
		Verify() error
	})
	require.Equal(t, info, v.Info())
	require.Equal(t, f.Stats(), v.Stats())
	require.Equal(t, f.SizeBytes(), v.SizeBytes())
	require.Regexp(t, "^"+typ.pkg()+`\.File\(`, fmt.Sprint(file))
	require.NoError(t, v.Verify())
	require.Zero(t, testing.AllocsPerRun(100, func() { v.ContainsHash(keys[0]) }))
	if v, ok := file.(interface { // a bank's has none of these
		Contains(key []byte) bool
		ContainsString(key string) bool
	}); ok {
		for i := range 500 {
			key := fmt.Sprint(i)
			want := f.ContainsString(key)
			require.True(t, want == v.ContainsString(key) && want == v.Contains([]byte(key)), key)
		}
		key := []byte("key")
		require.Zero(t, testing.AllocsPerRun(100, func() { v.Contains(key); v.ContainsString("key") }))
	}
	for _, hs := range [][]bloom.Hash{keys, others} {
		require.Equal(t, testkit.Found(f, hs), testkit.Found(v, hs))
		for _, h := range hs {
			require.Equal(t, f.ContainsHash(h), v.ContainsHash(h))
		}
	}
	_, err := typ.Open(path + "-missing")
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
	require.Equal(t, 1, strings.Count(err.Error(), path+"-missing"), "%v", err)

	// What is read in passing is all that Open checks. Verify checks the rest.
	data := bloom.Must(os.ReadFile(path))
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o666))
	damaged := bloom.Must(typ.Open(path))
	defer damaged.Close()
	require.ErrorIs(t, damaged.(interface{ Verify() error }).Verify(), bloom.ErrFormat)
}

// testNothingStaysOpen: no descriptor and no map is left of a file that was closed, loaded, or
// refused.
func testNothingStaysOpen(t *testing.T, typ Type) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	dir := t.TempDir()
	open := func() (open []string) {
		for _, e := range bloom.Must(os.ReadDir("/proc/self/fd")) {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
				open = append(open, "descriptor of "+to)
			}
		}
		for line := range strings.Lines(string(bloom.Must(os.ReadFile("/proc/self/maps")))) {
			if strings.Contains(line, dir) {
				open = append(open, line)
			}
		}
		return open
	}
	path := filepath.Join(dir, "f")
	require.NoError(t, typ.filled().SaveFile(path))
	good := bloom.Must(os.ReadFile(path))
	require.Empty(t, open(), "saved")
	for damaged, data := range [][]byte{good, good[:len(good)-1], append(bytes.Clone(good), 0), append(bytes.Clone(good[:len(good)-3]), 1, 2, 3), good[:5], {}} {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err := typ.Load(path)
		require.Equal(t, damaged > 0, err != nil)
		require.Empty(t, open(), "loaded, with damage %d", damaged)
		if typ.Open == nil {
			continue
		}
		if file, err := typ.Open(path); err == nil {
			require.NotEmpty(t, open())
			require.NoError(t, file.Close())
			TestClosed(t, typ.pkg(), file)
		}
		require.Empty(t, open(), "opened, with damage %d", damaged)
	}
}

// TestClosed: a closed File, and a zero one, panics when it is asked. It knows nothing of the
// filter whose memory it has given back.
func TestClosed(t *testing.T, pkg string, file io.Closer) {
	testkit.Uncollected(t)
	for _, closed := range []any{file, reflect.New(reflect.TypeOf(file).Elem()).Interface()} {
		require.NoError(t, closed.(io.Closer).Close())
		require.Equal(t, pkg+".File(closed)", fmt.Sprint(closed))
		v := reflect.ValueOf(closed)
		for i := range v.NumMethod() {
			if name := v.Type().Method(i).Name; name != "Close" && name != "String" {
				require.PanicsWithValue(t, pkg+": use of a File that is closed or zero", func() { call(v.Method(i), keys[:1]) }, name)
			}
		}
	}
}

// call calls a method with zeros, and with other where it takes such a value.
func call(method reflect.Value, other any) {
	var in []reflect.Value
	for i := range method.Type().NumIn() {
		if of := method.Type().In(i); of == reflect.TypeOf(other) {
			in = append(in, reflect.ValueOf(other))
		} else {
			in = append(in, reflect.Zero(of))
		}
	}
	method.Call(in)
}

// testLoadOrNew: a file that is there is loaded, with its keys and Info, unless it is for other
// parameters. If there is none, the filter is new, and no file is written.
func testLoadOrNew(t *testing.T, typ Type) {
	if typ.LoadOrNew == nil {
		t.Skip("LoadOrNew makes no such filter")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	fresh := bloom.Must(typ.LoadOrNew(path, 0.01))
	same(t, typ.Make(), fresh)
	require.Equal(t, typ.Make().Info(), fresh.Info())
	require.Empty(t, bloom.Must(os.ReadDir(dir)))
	f := typ.filled()
	require.NoError(t, f.SaveFile(path))
	got := bloom.Must(typ.LoadOrNew(path, 0.01))
	same(t, f, got)
	require.Equal(t, info, got.Info())

	fails := func(path string, p float64, is error, says string) {
		t.Helper()
		_, err := typ.LoadOrNew(path, p)
		require.ErrorContains(t, err, says)
		require.Regexp(t, "^"+typ.pkg()+": ", err.Error())
		require.True(t, is == nil || errors.Is(err, is), "%v", err)
	}
	fails(path, 0.001, bloom.ErrMismatch, path)
	fails(path, 2, nil, " = 2 is outside ")
	fails(filepath.Join(dir, "none"), 2, nil, " = 2 is outside ")
	require.NotEmpty(t, typ.Others)
	for parameter, loadOrNew := range typ.Others {
		_, err := loadOrNew(path)
		require.ErrorIs(t, err, bloom.ErrMismatch, parameter)
		_, err = loadOrNew(filepath.Join(dir, "none"))
		require.NoError(t, err, parameter)
	}
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o666))
	fails(path, 0.01, bloom.ErrFormat, path)

	// Where nothing can be read, and SaveFile would fail later or replace what is there.
	in := func(name string) string { return filepath.Join(dir, name) }
	fails("", 0.01, fs.ErrNotExist, "no such file")
	fails(in("missing/f"), 0.01, fs.ErrNotExist, in("missing"))
	fails(in("f/f"), 0.01, nil, in("f"))
	fails(dir, 0.01, nil, dir)
	if os.Symlink("nowhere", in("dangling")) == nil && os.Symlink("circle", in("circle")) == nil {
		fails(in("dangling"), 0.01, fs.ErrNotExist, in("dangling"))
		fails(in("circle"), 0.01, nil, in("circle"))
	}
	require.NoError(t, f.SaveFile(path))
	require.NoError(t, os.Chmod(path, 0))
	if _, err := os.ReadFile(path); err == nil {
		t.Log("not shown: this user may read a file without permissions")
	} else {
		fails(path, 0.01, fs.ErrPermission, path)
	}
}

// Set is a Filter that can be copied, compared and merged.
type Set[F any] interface {
	Filter
	Clone() F
	Equal(F) bool
	Merge(F) error
}

// TestSets tests the promises of sets. Those that make returns are equal, and those that other
// returns are of another size.
func TestSets[F Set[F]](t *testing.T, pkg string, make, other func() F) {
	f := make()
	f.AddBatch(nil, keys)
	f.SetInfo(info)
	g := f.Clone()
	require.Equal(t, info, g.Info())
	require.Equal(t, f.Stats(), g.Stats())
	require.True(t, f.Equal(g) && g.Equal(f) && f.Equal(f))
	g.SetInfo(bloom.Info{})
	require.True(t, f.Equal(g), "Infos do not count")
	require.Equal(t, info, f.Info())
	alike(t, f.Clone(), f)
	require.True(t, g.AddHash(others[0]))
	require.False(t, f.Equal(g) || g.Equal(f))
	require.False(t, f.ContainsHash(others[0]))
	require.True(t, f.AddHash(others[1]))
	require.False(t, g.ContainsHash(others[1]))
	require.False(t, f.Equal(other()) || other().Equal(f))
	require.False(t, make().Equal(other()))
	zero := reflect.New(reflect.TypeFor[F]().Elem()).Interface().(F)
	require.True(t, zero.Equal(zero) && zero.Equal(zero.Clone()))
	require.False(t, zero.Equal(f) || f.Equal(zero))
	require.NoError(t, zero.Merge(zero.Clone()))
	require.ErrorIs(t, zero.Merge(f), bloom.ErrMismatch)
	require.ErrorIs(t, f.Merge(zero), bloom.ErrMismatch)
	zero.SetInfo(info)
	require.Equal(t, info, zero.Clone().Info())
	var none F
	require.PanicsWithValue(t, pkg+": Equal to a nil Filter", func() { f.Equal(none) })
	require.ErrorIs(t, f.Merge(none), bloom.ErrMismatch)
	require.EqualError(t, f.Merge(none), pkg+": filters differ: one is nil")

	if f, ok := any(f).(interface{ Fold(int) (F, error) }); ok {
		require.Equal(t, bloom.Info{Hash: info.Hash, Comment: info.Comment}, bloom.Must(f.Fold(1)).Info(), "N and P are of the larger filter")
	}
	a, b, both := make(), make(), make()
	a.AddBatch(nil, keys)
	b.AddBatch(nil, others)
	both.AddBatch(nil, keys)
	both.AddBatch(nil, others)
	before := b.Clone()
	require.NoError(t, a.Merge(b))
	require.True(t, a.Equal(both))
	require.Equal(t, both.Stats(), a.Stats())
	require.True(t, b.Equal(before), "what is merged stays as it is")
	require.NoError(t, b.Merge(make()))
	require.True(t, b.Equal(before))

	require.ErrorIs(t, b.Merge(other()), bloom.ErrMismatch)
	require.Regexp(t, "^"+pkg+": filters differ in ", b.Merge(other()).Error())
	first, second := make(), make()
	first.AddBatch(nil, keys[:600])
	second.AddBatch(nil, keys[400:])
	common := first.Clone()
	if f, ok := any(common).(interface{ Intersect(F) error }); ok {
		require.NoError(t, f.Intersect(second))
		for _, h := range slices.Concat(keys, others) {
			require.Equal(t, first.ContainsHash(h) && second.ContainsHash(h), common.ContainsHash(h))
		}
		require.NoError(t, zero.UnmarshalBinary(bloom.Must(common.MarshalBinary())))
		require.True(t, zero.Equal(common), "with the count of its bits")
	}
	a.SetInfo(bloom.Info{Hash: "one"})
	require.NoError(t, a.Merge(b), "only one names a hash")
	require.Equal(t, "one", a.Info().Hash)
	require.NoError(t, b.Merge(a))
	require.Equal(t, "one", b.Info().Hash, "it travels")
	b = before.Clone()
	b.SetInfo(bloom.Info{Hash: "another"})
	err := b.Merge(a)
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.EqualError(t, err, pkg+": filters differ in hash: another and one")
	require.True(t, b.Equal(before), "after an error")
}

// TestTaken: whoever uses a filter that another took over hears of it. The keys would go where
// nobody looks for them.
func TestTaken[F Set[F]](t *testing.T, pkg, by string, taken, other F) {
	panics := func(name string, use func()) {
		t.Helper()
		require.PanicsWithValue(t, pkg+": use of a Filter that was taken over by "+by, use, name)
	}
	require.Equal(t, pkg+".Filter(taken over)", fmt.Sprint(taken))
	testkit.Uncollected(t)
	v := reflect.ValueOf(taken)
	for i := range v.NumMethod() {
		if name := v.Type().Method(i).Name; name != "String" {
			panics(name, func() { call(v.Method(i), other) })
		}
	}
	panics("Merge", func() { _ = other.Merge(taken) })
	panics("Equal", func() { other.Equal(taken) })
}

// TestIndivisible: of two that write to the same words at once, neither takes a bit of the
// other's back. The race detector does not see an atomic load that is followed by an atomic
// store. sync makes a set that many may add to of one that make returns.
func TestIndivisible[F Set[F], S interface {
	bloom.Set
	AddBatch(dst []bool, hs []bloom.Hash)
	Merge(F) error
}](t *testing.T, make func() F, sync func(F) S) {
	if testkit.Race {
		t.Skip("go test -tags purego has the same code, and is faster")
	}
	const n = 10_000 // of each: enough for both to run at once, whoever starts first
	hs := testkit.Digests[bloom.Hash](11, 2*n)
	var parts []F
	for part := range slices.Chunk(hs[:n], 100) {
		f := make()
		f.AddBatch(nil, part)
		parts = append(parts, f)
	}
	add := func(s S, hs []bloom.Hash) {
		for _, h := range hs {
			s.AddHash(h)
		}
	}
	for name, writers := range map[string][2]func(s S){
		"AddHash":  {func(s S) { add(s, hs[:n]) }, func(s S) { add(s, hs[n:]) }},
		"AddBatch": {func(s S) { s.AddBatch(nil, hs[:n]) }, func(s S) { s.AddBatch(nil, hs[n:]) }},
		"Merge": {func(s S) {
			for _, f := range parts {
				bloom.Must(0, s.Merge(f))
			}
		}, func(s S) { add(s, hs[n:]) }},
	} {
		t.Run(name, func(t *testing.T) {
			for round := range 50 {
				s := sync(make())
				testkit.Together(func() { writers[0](s) }, func() { writers[1](s) })
				for _, h := range hs {
					if !s.ContainsHash(h) {
						t.Fatal("lost in round", round)
					}
				}
			}
		})
	}
}

// Fuzz decodes bytes, and frames with the right checksums. What is refused is a wrong format
// and leaves a zero value. What is not is encoded to the same bytes, keeps its promises, and
// is given to more.
func Fuzz[F Filter](f *testing.F, zero func() F, more func(t *testing.T, g F), seeds ...[]byte) {
	for _, data := range seeds {
		f.Add(data)
		f.Add(data[:len(data)-1])
	}
	f.Add([]byte{})
	pkg, _, _ := strings.Cut(fmt.Sprintf("%T", zero())[1:], ".")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := zero().UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
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
		require.Equal(t, data, bloom.Must(g.MarshalBinary()))
		require.Equal(t, data, bloom.Must(read.MarshalBinary()))
		g.AddString("key")
		require.True(t, g.ContainsString("key"))
		g.Stats()
		more(t, g)
	})
}
