package foreign

import (
	"bytes"
	"compress/gzip"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
)

// filter has the methods of all types. For a Holiman, keys take the place of hashes; see
// fnvHoliman.
type filter interface {
	Contains(key []byte) bool
	Add(key []byte) bool
	Stats() bloom.Stats
	M() uint64
	K() int
	io.WriterTo
}

// fnvHoliman is a Holiman for keys. It hashes them as the program did that made the samples.
type fnvHoliman struct{ *Holiman }

func (f fnvHoliman) Contains(key []byte) bool { return f.ContainsHash64(sum64(key)) }
func (f fnvHoliman) Add(key []byte) bool      { return f.AddHash64(sum64(key)) }

func sum64(key []byte) uint64 {
	h := fnv.New64a()
	h.Write(key)
	return h.Sum64()
}

// readers has the constructor for each beginning of a sample's name.
var readers = map[string]func(data []byte) (filter, error){
	"bits":  func(data []byte) (filter, error) { return NewBitsAndBlooms(data) },
	"willf": func(data []byte) (filter, error) { return NewBitsAndBlooms(data) },
	"holiman": func(data []byte) (filter, error) {
		f, err := NewHoliman(data)
		return fnvHoliman{f}, err
	},
	"dcso":  func(data []byte) (filter, error) { return NewDCSO(data) },
	"spark": func(data []byte) (filter, error) { return NewSpark(data) },
}

func reader(sample string) func([]byte) (filter, error) {
	return readers[sample[:strings.IndexAny(sample, "-.")]]
}

func sample(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return data
}

// samples returns for each sample the answers of the original for all sample keys. A sample has the
// first half of the keys. The file with all- before the sample's name has all keys.
func samples(t testing.TB) (answers map[string]string) {
	require.NoError(t, json.Unmarshal(sample(t, "answers.json"), &answers))
	require.NoError(t, json.Unmarshal(sample(t, "spark-answers.json"), &answers))
	return answers
}

func sampleKey(i int) []byte { return []byte(strings.Repeat("bloom", i%13) + strconv.Itoa(i)) }

func written(t testing.TB, f io.WriterTo) []byte {
	var out bytes.Buffer
	n, err := f.WriteTo(&out)
	require.NoError(t, err)
	require.EqualValues(t, out.Len(), n)
	return out.Bytes()
}

// plain undoes gzip, whose bytes depend on Go's version.
func plain(t testing.TB, data []byte) []byte {
	if in, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
		data, err = io.ReadAll(in)
		require.NoError(t, err)
	}
	return data
}

// TestSamples: a filter that the original wrote answers as the original does. After further keys it
// is written as the original writes it.
func TestSamples(t *testing.T) {
	for name, answers := range samples(t) {
		t.Run(name, func(t *testing.T) {
			data, half := sample(t, name), len(answers)/2
			if strings.HasSuffix(name, ".json") {
				data = slices.Concat([]byte(" \n"), data, []byte("\n"))
			}
			f, err := reader(name)(data)
			require.NoError(t, err)
			clear(data) // f retains nothing of data
			for i, answer := range answers {
				require.Equal(t, answer == '1', f.Contains(sampleKey(i)), i)
			}
			out := written(t, f)
			require.Equal(t, gunzip.Begins(sample(t, name)), gunzip.Begins(out), "gzip")
			require.Equal(t, plain(t, sample(t, name)), plain(t, out))
			s := f.Stats()
			require.Equal(t, f.M(), s.M)
			require.Equal(t, f.K(), s.K)
			require.InDelta(t, half, s.ApproxCount, 15)
			require.InDelta(t, float64(strings.Count(answers[half:], "1"))/float64(half), s.FPR,
				filtertest.RateBound(half, s.FPR))
			if strings.HasSuffix(name, ".bin") {
				require.EqualValues(t, len(data), s.SizeBytes)
			}
			for i := half; i < len(answers); i++ {
				had := f.Contains(sampleKey(i))
				require.Equal(t, !had, f.Add(sampleKey(i)))
				require.True(t, f.Contains(sampleKey(i)))
			}
			require.Equal(t, plain(t, sample(t, "all-"+name)), plain(t, written(t, f)))
		})
	}
}

// TestNewZero: New(0, 3) of the original makes a filter of one bit, with an empty bit set.
func TestNewZero(t *testing.T) {
	f, err := NewBitsAndBlooms(form.AppendWords(nil, []uint64{1, 3, 0}, form.BigEndian))
	require.NoError(t, err)
	require.True(t, f.AddString("a"))
	require.True(t, f.ContainsString("a"))
}

// TestAlphabets: one character tells which of two base64 alphabets a text has. WriteTo uses the
// same alphabet.
func TestAlphabets(t *testing.T) {
	for _, char := range []string{"A", "-", "_", "+", "/"} {
		data := `{"m":64,"k":1,"b":"AAAAAAAAAEA` + char + `AAAAAAAAAA=="}`
		f, err := NewBitsAndBlooms([]byte(data))
		require.NoError(t, err, char)
		require.Equal(t, data, string(written(t, f)))
	}
}

// TestStrings: a string is the same key as its bytes. The hash of a DCSO is FNV-1.
func TestStrings(t *testing.T) {
	b, d := bloom.Must(NewBitsAndBlooms(sample(t, "bits.bin"))),
		bloom.Must(NewDCSO(sample(t, "dcso.bin")))
	for i := range 1000 {
		key := sampleKey(i)
		require.Equal(t, b.Contains(key), b.ContainsString(string(key)))
		require.Equal(t, d.Contains(key), d.ContainsString(string(key)))
		h := fnv.New64()
		h.Write(key)
		require.Equal(t, d.Contains(key), d.ContainsHash64(h.Sum64()))
	}
	d.AddHash64(math.MaxUint64) // hashes count modulo the prime
	for _, hash := range []uint64{math.MaxUint64, math.MaxUint64 - dcsoPrime} {
		require.True(t, d.ContainsHash64(hash))
	}
	for _, key := range []string{"", "x", "of the string"} {
		b.AddString(key)
		d.AddString(key)
		require.True(t, b.Contains([]byte(key)))
		require.True(t, d.Contains([]byte(key)))
	}
}

// TestLocate: remainders are exact, for every number of bits.
func TestLocate(t *testing.T) {
	for _, m := range []uint64{1, 2, 3, 63, 64, 65, 1000, 12345, 1<<20 - 1, 1 << 20, 1<<20 + 1} {
		f, err := newTable(make([]uint64, wordsFor(m)), m, m, 1, 0)
		require.NoError(t, err)
		for _, x := range append(filtertest.Words(1000), 0, 1, m-1, m, m+1, 2*m-1, math.MaxUint64,
			math.MaxUint64/m*m, math.MaxUint64/m*m-1) {
			word, bit := f.locate(x)
			require.Same(t, &f.words[x%m/64], word)
			require.Equal(t, uint64(1)<<(x%m%64), bit)
		}
	}
}

func TestZero(t *testing.T) {
	for name, f := range map[string]filter{
		"foreign.BitsAndBlooms(zero)": new(BitsAndBlooms),
		"foreign.Holiman(zero)":       fnvHoliman{new(Holiman)},
		"foreign.DCSO(zero)":          new(DCSO),
		"foreign.Spark(zero)":         new(Spark),
	} {
		require.Equal(t, name, fmt.Sprint(f))
		require.False(t, f.Contains(nil), name)
		require.Equal(t, bloom.Stats{}, f.Stats(), name)
		_, err := f.WriteTo(io.Discard)
		require.EqualError(t, err, "foreign: the zero value has no binary form", name)
		_, err = json.Marshal(f)
		require.Error(t, err, name)
		if holder, ok := f.(fnvHoliman); ok {
			requireNoForm(t, holder.Holiman)
		} else {
			requireNoForm(t, f)
		}
		require.PanicsWithValue(t, "foreign: Add to a zero filter: make it with a constructor",
			func() { f.Add(nil) }, name)
	}
	require.False(t, new(Spark).ContainsInt64(0))
	require.Panics(t, func() { new(Spark).AddInt64(0) })
}

// requireNoForm requires that no encoding method of f, a zero value, returns bytes.
func requireNoForm(t *testing.T, f any) {
	for _, method := range []string{"MarshalBinary", "MarshalJSON", "GobEncode"} {
		if m := reflect.ValueOf(f).MethodByName(method); m.IsValid() {
			out := m.Call(nil)
			require.Empty(t, out[0].Bytes(), "%T.%s", f, method)
			require.NotNil(t, out[1].Interface(), "%T.%s", f, method)
		}
	}
}

// encoder has the encoding methods that some originals have.
type encoder interface {
	json.Marshaler
	json.Unmarshaler
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	gob.GobEncoder
	gob.GobDecoder
	io.WriterTo
}

// TestEncodings: a filter is the same after each way of encoding and decoding, even if a struct
// holds it by value.
func TestEncodings(t *testing.T) {
	for name, made := range map[string]struct{ f, g encoder }{
		"bits.bin": {bloom.Must(NewBitsAndBlooms(sample(t, "bits.bin"))), new(BitsAndBlooms)},
		"bits-little.bin": {bloom.Must(NewBitsAndBlooms(sample(t, "bits-little.bin"))),
			new(BitsAndBlooms)},
		"holiman.bin": {bloom.Must(NewHoliman(sample(t, "holiman.bin"))), new(Holiman)},
	} {
		t.Run(name, func(t *testing.T) {
			binary, err := made.f.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, sample(t, name), binary)
			require.NoError(t, made.g.UnmarshalBinary(binary))
			requireForm := func() {
				out := written(t, made.g)
				require.Equal(t, name == "holiman.bin", bytes.HasPrefix(out, []byte{0x1f, 0x8b}), "gzip")
				if name == "holiman.bin" {
					require.Equal(t, binary, plain(t, out))
				}
			}
			requireForm()
			require.Equal(t, binary, plain(t, written(t, made.g)))

			text, err := json.Marshal(made.f)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, made.g))
			require.Equal(t, binary, bloom.Must(made.g.MarshalBinary()))
			require.NoError(t, made.g.UnmarshalJSON([]byte("null")))
			requireForm()

			var stream bytes.Buffer
			require.NoError(t, gob.NewEncoder(&stream).Encode(made.f))
			require.NoError(t, gob.NewDecoder(&stream).Decode(made.g))
			requireForm()
			require.Equal(t, text, bloom.Must(json.Marshal(made.g)))

			for _, decode := range []func([]byte) error{
				made.g.UnmarshalBinary, made.g.UnmarshalJSON, made.g.GobDecode,
			} {
				require.ErrorIs(t, decode(binary[:len(binary)-1]), bloom.ErrFormat)
				require.Equal(t, text, bloom.Must(json.Marshal(made.g)), "an error leaves the filter as it was")
			}
		})
	}
	held := struct {
		B bitsAndBlooms // has the methods of a BitsAndBlooms
		H holiman
	}{bloom.Must(NewBitsAndBlooms(sample(t, "bits.json"))).bitsAndBlooms,
		bloom.Must(NewHoliman(sample(t, "holiman.gz"))).holiman}
	text, err := json.Marshal(held)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"B":{"m":`)
	require.Contains(t, string(text), `"H":{"version":"v02\n","bits":[`)
	require.EqualValues(t, sample(t, "bits.json"), text[len(`{"B":`):][:len(sample(t, "bits.json"))])
}

// TestHolimanJSON: JSON whose fields contradict each other is refused.
func TestHolimanJSON(t *testing.T) {
	for text, says := range map[string]string{
		`{"version":"v02\n","bits":[0],"keys":[5],"m":64,"n":0}`:   "",
		`{"version":"v03\n","bits":[0],"keys":[5],"m":64,"n":0}`:   `its version is "v03\n", not "v02\n"`,
		`{"version":"v02\n","bits":[0],"keys":[],"m":64,"n":0}`:    "k = 0 is outside [1, 1024]",
		`{"version":"v02\n","bits":[],"keys":[5],"m":0,"n":0}`:     "m = 0 is outside [1, 8796093022208]",
		`{"version":"v02\n","bits":[0],"keys":[5],"m":65,"n":0}`:   "m = 65 does not fit 1 words",
		`{"version":"v02\n","bits":[0,0],"keys":[5],"m":64,"n":0}`: "m = 64 does not fit 2 words",
		`{"version":"v02\n","bits":[8],"keys":[5],"m":3,"n":0}`:    "bits beyond 3 are set",
		`{}`: `its version is "", not "v02\n"`,
	} {
		var f Holiman
		err := f.UnmarshalJSON([]byte(text))
		if says == "" {
			require.NoError(t, err, text)
			require.Equal(t, text, string(bloom.Must(f.MarshalJSON())))
			continue
		}
		require.EqualError(t, err, "foreign: invalid format: "+says, text)
		require.ErrorIs(t, err, bloom.ErrFormat, text)
		require.Zero(t, f.K(), text)
	}
}

// TestNoText: if an original has neither JSON nor text, its type returns an error, even if a struct
// holds it by value.
func TestNoText(t *testing.T) {
	d := bloom.Must(NewDCSO(sample(t, "dcso.bin")))
	s := bloom.Must(NewSpark(sample(t, "spark-v1.bin")))
	for name, v := range map[string]any{
		"DCSO":           d,
		"Spark":          s,
		"DCSO by value":  struct{ D dcso }{d.dcso},
		"Spark by value": struct{ S spark }{s.spark},
	} {
		_, err := json.Marshal(v)
		require.ErrorContains(t, err,
			"foreign: the original library has neither JSON nor text: store the bytes of WriteTo", name)
	}
	for _, v := range []any{d, s} {
		_, err := xml.Marshal(v)
		require.ErrorContains(t, err, "foreign: the original library has neither JSON nor text")
	}
}

// TestText: neither fmt nor slog writes the words of a filter.
func TestText(t *testing.T) {
	for want, v := range map[string]interface {
		fmt.Stringer
		slog.LogValuer
		Stats() bloom.Stats
	}{
		"foreign.BitsAndBlooms(m=1248, k=5)": bloom.Must(NewBitsAndBlooms(sample(t, "bits.bin"))),
		"foreign.Holiman(m=1248, k=5)":       bloom.Must(NewHoliman(sample(t, "holiman.bin"))),
		"foreign.DCSO(m=1247, k=5)":          bloom.Must(NewDCSO(sample(t, "dcso.bin"))),
		"foreign.Spark(V1, m=1280, k=4)":     bloom.Must(NewSpark(sample(t, "spark-v1.bin"))),
		"foreign.Spark(V2, m=1280, k=4)":     bloom.Must(NewSpark(sample(t, "spark-v2.bin"))),
	} {
		require.Equal(t, want, fmt.Sprint(v))
		require.Equal(t, want, fmt.Sprintf("%v", v))
		require.Equal(t, v.String(), v.LogValue().String())
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("read", "filter", v)
		require.Contains(t, log.String(), `"filter":"`+want+`"`)
		require.Less(t, log.Len(), 300, want)
	}
}

// TestTooMuchOrZipped: if bytes follow a filter, or if it is compressed, the error says so.
func TestTooMuchOrZipped(t *testing.T) {
	for name, says := range map[string]string{
		"bits.bin":        "1 bytes follow the set of 1248 bits",
		"bits-little.bin": "1 bytes follow the set of 1248 bits",
		"holiman.bin":     "more bytes follow the filter",
		"spark-v1.bin":    "1 bytes follow the filter",
		"spark-v2.bin":    "1 bytes follow the filter",
	} {
		_, err := reader(name)(append(sample(t, name), 'x'))
		require.EqualError(t, err, "foreign: invalid format: "+says, name)
	}
	zip := func(data []byte) []byte {
		var zipped bytes.Buffer
		out := gzip.NewWriter(&zipped)
		_, err := out.Write(data)
		require.NoError(t, err)
		require.NoError(t, out.Close())
		return zipped.Bytes()
	}
	holiman := sample(t, "holiman.bin")
	for _, padding := range []int{1, 2, 512, 1 << 20} {
		f, err := NewHoliman(append(zip(holiman), make([]byte, padding)...))
		require.NoError(t, err)
		require.Equal(t, zip(holiman), written(t, f), "a filter without the padding")
	}
	for behind, says := range map[string]string{
		"x": "1 byte follows", "some text": "9 bytes follow", "\x00\x00x": "3 bytes follow",
		"\x1f\x8b": "truncated",
	} {
		_, err := NewHoliman(append(zip(holiman), behind...))
		require.ErrorContains(t, err, "foreign: invalid format: "+says, behind)
		_, err = NewHoliman(zip(append(bytes.Clone(holiman), behind...)))
		require.EqualError(t, err, "foreign: invalid format: more bytes follow the filter", behind)
	}
	_, err := NewHoliman(zip(holiman)[:100])
	require.EqualError(t, err, "foreign: invalid format: truncated: unexpected EOF")
	for _, name := range []string{"bits.bin", "dcso.bin", "spark-v1.bin", "spark-v2.bin"} {
		_, err := reader(name)(zip(sample(t, name)))
		require.EqualError(t, err,
			"foreign: invalid format: it is compressed with gzip: unpack it first", name)
	}
}

func TestNoAllocations(t *testing.T) {
	b, d := bloom.Must(NewBitsAndBlooms(sample(t, "bits.bin"))),
		bloom.Must(NewDCSO(sample(t, "dcso.bin")))
	h := bloom.Must(NewHoliman(sample(t, "holiman.bin")))
	s1, s2 := bloom.Must(NewSpark(sample(t, "spark-v1.bin"))),
		bloom.Must(NewSpark(sample(t, "spark-v2.bin")))
	text := "a string of more than thirty-two bytes, which is not copied"
	require.Zero(t, testing.AllocsPerRun(100, func() {
		var key [40]byte
		b.Contains(key[:])
		b.Add(key[:])
		d.Contains(key[:])
		d.Add(key[:])
		h.ContainsHash64(1)
		h.AddHash64(1)
		for _, s := range []*Spark{s1, s2} {
			s.Contains(key[:])
			s.Add(key[:])
			s.ContainsString(text)
			s.AddString(text)
			s.ContainsInt64(1)
			s.AddInt64(1)
		}
	}))
}

// TestWriteFails: WriteTo returns the writer's error, and the number of bytes that were written.
func TestWriteFails(t *testing.T) {
	for name := range samples(t) {
		f := bloom.Must(reader(name)(sample(t, name)))
		for room := range len(written(t, f)) {
			n, err := f.WriteTo(&filtertest.LimitedWriter{N: int64(room), Err: io.ErrClosedPipe})
			require.ErrorIs(t, err, io.ErrClosedPipe)
			require.EqualValues(t, room, n, name)
		}
	}
}

// refused checks that the constructor refuses data and allocates little memory.
func refused(t *testing.T, name string, data []byte) {
	var err error
	took := filtertest.Allocated(func() { _, err = reader(name)(data) })
	require.ErrorIs(t, err, bloom.ErrFormat, name)
	require.Regexp(t, "^foreign: invalid format: [^:]", err.Error())
	require.Less(t, took, uint64(1<<20), name)
}

// TestRefused: bytes that no original writes are an error, and take little memory, whatever sizes
// they announce.
func TestRefused(t *testing.T) {
	for name := range samples(t) {
		data := sample(t, name)
		end := len(data)
		if name == "dcso.bin" {
			end -= len(`{"user": 1}`)
			_, err := NewDCSO(data[:end])
			require.NoError(t, err, "a filter without a user's data")
		} else {
			refused(t, name, append(bytes.Clone(data), 'x'))
		}
		for i := range end {
			refused(t, name, data[:i])
		}
		if name == "holiman.bin" {
			filtertest.Damage(t, data, func(data []byte) error { _, err := NewHoliman(data); return err })
		}
	}
	big, little := binary.BigEndian, binary.LittleEndian
	with := func(name string, order binary.ByteOrder, at int, x uint64) []byte {
		data := sample(t, name)
		order.PutUint64(data[at:], x)
		return data
	}
	words := uint64(len(sample(t, "bits.bin"))-24) / 8
	for _, x := range []uint64{0, 1 << 42, 1 << 43, 1<<43 + 1, math.MaxUint64, 1 << 63} {
		refused(t, "bits.bin", with("bits.bin", big, 0, x))                                // m
		refused(t, "bits.bin", with("bits.bin", big, 8, max(x, 1025)&^(1<<63)))            // k
		refused(t, "bits.bin", with("bits.bin", big, 16, x))                               // length
		refused(t, "dcso.bin", with("dcso.bin", little, 32, x))                            // m
		refused(t, "dcso.bin", with("dcso.bin", little, 24, x))                            // k
		refused(t, "holiman.bin", with("holiman.bin", little, 12, x))                      // k
		refused(t, "holiman.bin", with("holiman.bin", little, 28, x))                      // m
		refused(t, "dcso.bin", with("dcso.bin", little, 16, math.Float64bits(float64(x)))) // p
	}
	require.EqualValues(t, 1024, bloom.Must(NewBitsAndBlooms(with("bits.bin", big, 8, 1024))).K())
	// has bits beyond m
	require.Equal(t, 1.0, bloom.Must(NewBitsAndBlooms(with("bits.bin", big, 0, 1))).Stats().FillRatio)
	refused(t, "bits.bin", with("bits.bin", big, 0, 64*words+1))
	// bits beyond the length
	refused(t, "bits.bin", with("bits.bin", big, 8*2+8*int(words), math.MaxUint64))
	for _, head := range [][]byte{
		big.AppendUint64(big.AppendUint64(big.AppendUint64(nil, 1), 1), 1),
		big.AppendUint64(big.AppendUint64(big.AppendUint64(nil, 63), 1), 63),
	} {
		one := big.AppendUint64(bytes.Clone(head), 1)
		_, err := NewBitsAndBlooms(one)
		require.NoError(t, err)
		one[24] = 0x80
		refused(t, "bits.bin", one)
	}
	refused(t, "dcso.bin", with("dcso.bin", little, 0, 2))
	refused(t, "dcso.bin", with("dcso.bin", little, 16, math.Float64bits(math.NaN())))
	refused(t, "dcso.bin", with("dcso.bin", little, 16, math.Float64bits(1)))
	require.NoError(t, checkSizes(maxM, maxK))
	require.Error(t, checkSizes(maxM+1, maxK))
	data := sample(t, "bits.bin")
	_, err := NewBitsAndBlooms(data[:len(data)-1])
	require.ErrorIs(t, err, form.ErrTruncated)
	_, err = NewBitsAndBlooms([]byte(`{"m":1,"k":1,"b":"AAAAAAAAAAA="}`))
	require.NoError(t, err, "New(0, 1) has a set without words")
	for _, text := range []string{
		`{}`, `{"m":1,"k":1}`, `{"m":1,"k":1,"b":"!"}`, `{"m":-1}`, `[]`,
		`{"m":8,"k":1,"b":"AAAAAAAAAAg="}`, `{"version":"v02\n"}`,
	} {
		refused(t, "bits.json", []byte(text))
	}
}

// TestGzipBomb: a filter may be 100 times as long as its gzip, or have 1 MiB. Any other is refused
// before it takes memory.
func TestGzipBomb(t *testing.T) {
	zipped := func(m uint64, random int) []byte {
		words := append(filtertest.Words(random), make([]uint64, int(wordsFor(m))-random)...)
		bits, err := newTable(words, m, m, 1, 0)
		require.NoError(t, err)
		return written(t, &Holiman{holiman: holiman{table: bits, keys: []uint64{1}, zipped: true}})
	}
	_, err := NewHoliman(zipped(1<<23-4096, 0)) // nearly 1 MiB
	require.NoError(t, err)
	_, err = NewHoliman(zipped(1<<27, 1<<15)) // 16 MiB, of which 256 KiB are not zeros
	require.NoError(t, err)
	data := zipped(1<<27, 1<<14)
	require.Greater(t, 130*len(data), 16<<20)
	refused(t, "holiman.gz", data)
	require.Less(t, filtertest.Allocated(func() { _, err = NewHoliman(data) }), uint64(1<<20))
	require.EqualError(t, err, "foreign: invalid format: it unpacks to more than a hundred times "+
		"as many bytes: unpack it first")
	_, err = NewHoliman(plain(t, data))
	require.NoError(t, err)
}

// FuzzRead: if a constructor accepts bytes, it also accepts what WriteTo of the filter writes,
// before and after an Add. The filter from these bytes writes the same bytes again.
func FuzzRead(f *testing.F) {
	for name := range samples(f) {
		f.Add(sample(f, name))
		f.Add(plain(f, sample(f, name)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, read := range readers {
			f, err := read(data)
			if err != nil {
				require.ErrorIs(t, err, bloom.ErrFormat)
				continue
			}
			f.Contains(data)
			first := written(t, f)
			f.Add(data)
			for _, want := range [][]byte{first, written(t, f)} {
				again, err := read(want)
				require.NoError(t, err, name)
				require.Equal(t, want, written(t, again), name)
			}
			require.True(t, f.Contains(data))
		}
	})
}

// TestDigests: the digests of keys of all lengths are those of bloom.Sum.
func TestDigests(t *testing.T) {
	key := make([]byte, 0, 101)
	for i := range 100 {
		h1, h2 := bloom.Sum(key).Words()
		h3, h4 := bloom.Sum(append(key, 1)).Words()
		require.Equal(t, [4]uint64{h1, h2, h3, h4}, digests(key), "%d bytes", i)
		key = append(key, byte(0xff-i))
	}
}

// TestKeysOfAllKinds: a key that was added in one way is found in every other way that names the
// same key, and allocates nothing.
func TestKeysOfAllKinds(t *testing.T) {
	text := "a string of more than thirty-two bytes, which is not copied"
	type textual interface {
		filter
		AddString(string) bool
		ContainsString(string) bool
	}
	for name := range samples(t) {
		f, ok := bloom.Must(reader(name)(sample(t, name))).(textual)
		if !ok {
			continue // a Holiman takes hashes
		}
		absent := func(text string) string { // and no false positive
			for f.ContainsString(text) {
				text += "."
			}
			return text
		}
		first := absent(text)
		require.True(t, f.AddString(first), name)
		require.False(t, f.Add([]byte(first)), name)
		require.True(t, f.Contains([]byte(first)), name)
		second := absent("bytes")
		require.True(t, f.Add([]byte(second)), name)
		require.False(t, f.AddString(second), name)
		require.True(t, f.ContainsString(second), name)
		require.Zero(t, testing.AllocsPerRun(10, func() {
			f.AddString(text)
			f.ContainsString(text)
		}), name)
		if s, ok := f.(*Spark); ok {
			number := int64(-123456789012)
			for s.ContainsInt64(number) {
				number--
			}
			eight := binary.LittleEndian.AppendUint64(nil, uint64(number))
			require.False(t, s.Contains(eight), name)
			require.True(t, s.AddInt64(number), name)
			require.True(t, s.ContainsInt64(number), name)
			require.True(t, s.Contains(eight), name)
			require.False(t, s.AddInt64(number), name)
		}
		if d, ok := f.(*DCSO); ok {
			h := fnv.New64()
			_, _ = io.WriteString(h, "by hash")
			require.True(t, d.AddHash64(h.Sum64()))
			require.True(t, d.ContainsString("by hash"))
		}
	}
}

// TestDecodersRetainNothing: a filter that was decoded does not change with the bytes that it was
// decoded from. SizeBytes is the length of the plain binary form, whatever the form was.
func TestDecodersRetainNothing(t *testing.T) {
	for _, f := range []encoder{
		bloom.Must(NewBitsAndBlooms(sample(t, "bits.bin"))),
		bloom.Must(NewBitsAndBlooms(sample(t, "bits.json"))),
		bloom.Must(NewHoliman(sample(t, "holiman.bin"))),
		bloom.Must(NewHoliman(sample(t, "holiman.gz"))),
	} {
		want := bloom.Must(f.MarshalBinary())
		stats := f.(interface{ Stats() bloom.Stats }).Stats()
		require.EqualValues(t, len(want), stats.SizeBytes, "%T", f)
		for name, decode := range map[string]func(g encoder) ([]byte, error){
			"UnmarshalBinary": func(g encoder) ([]byte, error) {
				data := bytes.Clone(want)
				return data, g.UnmarshalBinary(data)
			},
			"UnmarshalJSON": func(g encoder) ([]byte, error) {
				data := bloom.Must(f.MarshalJSON())
				return data, g.UnmarshalJSON(data)
			},
			"GobDecode": func(g encoder) ([]byte, error) {
				data := bloom.Must(f.GobEncode())
				return data, g.GobDecode(data)
			},
		} {
			g := reflect.New(reflect.TypeOf(f).Elem()).Interface().(encoder)
			data, err := decode(g)
			require.NoError(t, err, "%T.%s", f, name)
			clear(data)
			require.Equal(t, want, bloom.Must(g.MarshalBinary()), "%T.%s", f, name)
			require.Equal(t, stats, g.(interface{ Stats() bloom.Stats }).Stats(), "%T.%s", f, name)
		}
	}
}
