// Package originals compares package foreign with the libraries whose filters it reads.
package originals

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	dcso "github.com/DCSO/bloom"
	"github.com/bits-and-blooms/bitset"
	bits "github.com/bits-and-blooms/bloom/v3"
	holiman "github.com/holiman/bloomfilter/v2"
	"github.com/stretchr/testify/require"
	willf "github.com/willf/bloom"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/foreign"
)

var update = flag.Bool("update", false, "write the samples")

// filter is a filter of either side.
type filter struct {
	contains func(key []byte) bool
	add      func(key []byte)
	bytes    func() []byte
}

// library makes filters with the original, and reads them with package foreign.
type library struct {
	name string
	make func(n uint, p float64) filter
	read func(data []byte) (filter, error)
}

// sum makes Holiman's hashes.
func sum(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(key)
	return h.Sum64()
}

func written(f io.WriterTo) func() []byte {
	return func() []byte {
		var out bytes.Buffer
		n := bloom.Must(f.WriteTo(&out))
		if n != int64(out.Len()) {
			panic(fmt.Sprintf("%T: wrote %d bytes and returned %d", f, out.Len(), n))
		}
		return out.Bytes()
	}
}

func readBits(data []byte) (filter, error) {
	f, err := foreign.NewBitsAndBlooms(data)
	return filter{f.Contains, func(key []byte) { f.AddString(string(key)) }, written(f)}, err
}

func readHoliman(data []byte) (filter, error) {
	f, err := foreign.NewHoliman(data)
	return filter{func(key []byte) bool {
		return f.ContainsHash64(sum(key))
	}, func(key []byte) { f.AddHash64(sum(key)) }, written(f)}, err
}

func readDCSO(data []byte) (filter, error) {
	f, err := foreign.NewDCSO(data)
	return filter{f.Contains, func(key []byte) { f.Add(key) }, written(f)}, err
}

// bitsFilter is a filter whose bytes encode makes, with the settings of package bitset.
func bitsFilter(
	f *bits.BloomFilter, set, unset func(), encode func(*bits.BloomFilter) ([]byte, error),
) filter {
	return filter{f.Test, func(key []byte) { f.Add(key) }, func() []byte {
		set()
		defer unset()
		return bloom.Must(encode(f))
	}}
}

func nothing() {}

func bitsLibrary(
	name string, set, unset func(), encode func(*bits.BloomFilter) ([]byte, error),
) library {
	return library{name, func(n uint, p float64) filter {
		return bitsFilter(bits.NewWithEstimates(n, p), set, unset, encode)
	}, readBits}
}

func toJSON(f *bits.BloomFilter) ([]byte, error) { return json.Marshal(f) }

func holimanLibrary(name string, encode func(f *holiman.Filter) []byte) library {
	return library{name, func(n uint, p float64) filter {
		f := bloom.Must(holiman.NewOptimal(uint64(n), p))
		return filter{func(key []byte) bool {
			return f.ContainsHash(sum(key))
		}, func(key []byte) { f.AddHash(sum(key)) }, func() []byte { return encode(f) }}
	}, readHoliman}
}

var libraries = []library{
	bitsLibrary("bits.bin", nothing, nothing, (*bits.BloomFilter).MarshalBinary),
	bitsLibrary("bits-little.bin", bitset.LittleEndian, bitset.BigEndian,
		(*bits.BloomFilter).MarshalBinary),
	bitsLibrary("bits.json", nothing, nothing, toJSON),
	{"bits-longer.bin", func(n uint, p float64) filter { // m is less than the set's bits
		m, k := bits.EstimateParameters(n, p)
		return bitsFilter(bits.FromWithM(make([]uint64, m/64+3), m, k), nothing, nothing,
			(*bits.BloomFilter).MarshalBinary)
	}, readBits},
	{"willf.bin", func(n uint, p float64) filter {
		f := willf.NewWithEstimates(n, p)
		return filter{f.Test, func(key []byte) {
			f.Add(key)
		}, func() []byte { return bloom.Must(f.GobEncode()) }}
	}, readBits},
	holimanLibrary("holiman.bin", func(f *holiman.Filter) []byte {
		return bloom.Must(f.MarshalBinary())
	}),
	holimanLibrary("holiman.gz", func(f *holiman.Filter) []byte {
		var out bytes.Buffer
		bloom.Must(f.WriteTo(&out))
		return out.Bytes()
	}),
	{"dcso.bin", func(n uint, p float64) filter {
		f := dcso.Initialize(uint64(n), p)
		f.Data = []byte("{\"user\": 1}")
		return filter{f.Check, f.Add, func() []byte {
			var out bytes.Buffer
			bloom.Must(0, f.Write(&out))
			return out.Bytes()
		}}
	}, readDCSO},
}

// key returns the i-th key, of 0 to 99 bytes.
func key(buf []byte, i uint64) []byte {
	n := int(i % 100)
	for len(buf) < n {
		buf = binary.LittleEndian.AppendUint64(buf, i*0x9e3779b97f4a7c15)
	}
	return buf[:n]
}

// TestAnswers compares a million answers of each library, half of them for keys that were
// added, and the bytes before and after further keys.
func TestAnswers(t *testing.T) {
	keys := uint64(1_000_000)
	if testing.Short() {
		keys /= 20
	}
	for _, lib := range libraries {
		for n, p := range map[uint]float64{uint(keys) / 2: 0.01, 1000: 1e-6, 64: 0.3} {
			t.Run(fmt.Sprintf("%s/n=%d", lib.name, n), func(t *testing.T) {
				theirs := lib.make(n, p)
				var buf [112]byte
				for i := range min(keys, 2*uint64(n)) / 2 {
					theirs.add(key(buf[:0], 2*i))
				}
				data := theirs.bytes()
				ours, err := lib.read(data)
				require.NoError(t, err)
				require.True(t, bytes.Equal(data, ours.bytes()))
				found := 0
				for i := range keys {
					k := key(buf[:0], i)
					want := theirs.contains(k)
					if got := ours.contains(k); got != want {
						t.Fatalf("key %d: %v, want %v", i, got, want)
					}
					if want {
						found++
					}
				}
				require.Greater(t, found, int(min(keys, uint64(n)))/3)
				for i := range uint64(100) {
					theirs.add(key(buf[:0], 2*i+1))
					ours.add(key(buf[:0], 2*i+1))
				}
				require.True(t, bytes.Equal(theirs.bytes(), ours.bytes()))
			})
		}
	}
}

// TestNewZero: New(0, 0) of the original has one bit, in a set of none until a key is added.
func TestNewZero(t *testing.T) {
	theirs := bits.New(0, 0)
	ours, err := foreign.NewBitsAndBlooms(bloom.Must(theirs.MarshalBinary()))
	require.NoError(t, err)
	require.False(t, ours.ContainsString("a"))
	require.True(t, ours.AddString("a"))
	theirs.AddString("a")
	require.Equal(t, bloom.Must(theirs.MarshalBinary()), written(ours)())
}

// encodings are the methods that an original has, and that its type in package foreign has with the
// same bytes.
type encodings interface {
	json.Marshaler
	json.Unmarshaler
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	gob.GobEncoder
	gob.GobDecoder
}

// TestEncodings: each encoding has the original's bytes, and either side reads what the other
// wrote.
func TestEncodings(t *testing.T) {
	theirBits := bits.NewWithEstimates(1000, 0.01)
	theirHoliman := bloom.Must(holiman.NewOptimal(1000, 0.01))
	for i := range uint64(1000) {
		theirBits.Add(key(nil, i))
		theirHoliman.AddHash(i * 0x9e3779b97f4a7c15)
	}
	for name, made := range map[string]struct{ theirs, ours, again encodings }{
		"bits-and-blooms": {theirBits, new(foreign.BitsAndBlooms), new(bits.BloomFilter)},
		"holiman":         {theirHoliman, new(foreign.Holiman), new(holiman.Filter)},
	} {
		t.Run(name, func(t *testing.T) {
			text := bloom.Must(json.Marshal(made.theirs))
			require.NoError(t, json.Unmarshal(text, made.ours))
			require.Equal(t, string(text), string(bloom.Must(json.Marshal(made.ours))))

			binary := bloom.Must(made.theirs.MarshalBinary())
			require.NoError(t, made.ours.UnmarshalBinary(binary))
			require.Equal(t, binary, bloom.Must(made.ours.MarshalBinary()))
			require.Equal(t, text, bloom.Must(json.Marshal(made.ours)),
				"JSON of a filter that was read in binary")

			var stream bytes.Buffer
			require.NoError(t, gob.NewEncoder(&stream).Encode(made.theirs))
			require.NoError(t, gob.NewDecoder(&stream).Decode(made.ours))
			require.Equal(t, text, bloom.Must(json.Marshal(made.ours)))

			require.NoError(t, gob.NewEncoder(&stream).Encode(made.ours))
			require.NoError(t, gob.NewDecoder(&stream).Decode(made.again))
			require.Equal(t, text, bloom.Must(json.Marshal(made.again)))
			require.NoError(t, made.again.UnmarshalJSON(bloom.Must(json.Marshal(made.ours))))
			require.Equal(t, binary, bloom.Must(made.again.MarshalBinary()))
		})
	}
}

// TestGzip: after UnmarshalBinary, WriteTo writes what the original's ReadFrom reads.
func TestGzip(t *testing.T) {
	theirs := bloom.Must(holiman.NewOptimal(1000, 0.01))
	theirs.AddHash(5)
	var ours foreign.Holiman
	require.NoError(t, ours.UnmarshalBinary(bloom.Must(theirs.MarshalBinary())))
	again, _, err := holiman.ReadFrom(bytes.NewReader(written(&ours)()))
	require.NoError(t, err)
	require.Equal(t, bloom.Must(theirs.MarshalBinary()), bloom.Must(again.MarshalBinary()))
}

// TestEmptyBits: an empty filter of the original is the head that docs/migrate.md gives, and zeros.
func TestEmptyBits(t *testing.T) {
	for _, size := range []struct{ m, k uint }{{1, 1}, {64, 3}, {9586, 7}} {
		empty := binary.BigEndian.AppendUint64(nil, uint64(size.m))
		empty = binary.BigEndian.AppendUint64(empty, uint64(size.k))
		empty = binary.BigEndian.AppendUint64(empty, uint64(size.m))
		empty = append(empty, make([]byte, (size.m+63)/64*8)...)
		require.Equal(t, bloom.Must(bits.New(size.m, size.k).MarshalBinary()), empty)
	}
}

// TestSamples compares the samples of package foreign with the originals. With -update it
// writes them: of each library a filter of the first half of the keys, and one of all.
func TestSamples(t *testing.T) {
	const n = 400
	sampleKey := func(i int) []byte { return []byte(strings.Repeat("bloom", i%13) + strconv.Itoa(i)) }
	answers := map[string]string{}
	// nothing sets it back
	std := bitsLibrary("bits-std.json", bitset.Base64StdEncoding, nothing, toJSON)
	for _, lib := range append(libraries, std) {
		f := lib.make(n/2, 0.05)
		for i := range n {
			if i == n/2 {
				answers[lib.name] = ""
				for j := range n {
					answers[lib.name] += map[bool]string{false: "0", true: "1"}[f.contains(sampleKey(j))]
				}
				compare(t, lib, lib.name, f.bytes())
			}
			f.add(sampleKey(i))
		}
		compare(t, lib, "all-"+lib.name, f.bytes())
	}
	compare(t, library{}, "answers.json", bloom.Must(json.MarshalIndent(answers, "", " ")))
}

// compare compares a sample with what the original writes today, or writes it. Each of
// Holiman's filters has random numbers of its own.
func compare(t *testing.T, lib library, name string, data []byte) {
	path := filepath.Join("..", "..", "foreign", "testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, data, 0o666))
	} else if !strings.HasPrefix(lib.name, "holiman") && lib.name != "" {
		require.Equal(t, bloom.Must(os.ReadFile(path)), data, name)
	}
}

// BenchmarkContains asks filters of 200,000 keys at 1 % for keys of 8 bytes and of 36.
func BenchmarkContains(b *testing.B) {
	const n = 100_000
	for _, lib := range []library{libraries[0], libraries[5], libraries[7]} {
		theirs := lib.make(2*n, 0.01)
		for _, size := range []int{8, 36} {
			keys := make([][]byte, 2*n)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "%0*d", size, i)
				if i < n {
					theirs.add(keys[i])
				}
			}
			ours := bloom.Must(lib.read(theirs.bytes()))
			for by, f := range map[string]filter{"theirs": theirs, "ours": ours} {
				for which, keys := range map[string][][]byte{"present": keys[:n], "absent": keys[n:]} {
					b.Run(fmt.Sprintf("%s/key=%dB/%s/by=%s", lib.name, size, which, by), func(b *testing.B) {
						for i := 0; b.Loop(); i++ {
							f.contains(keys[i%1024])
						}
					})
				}
			}
		}
	}
}
