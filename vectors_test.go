package bloom_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// vectors returns a file that Guava wrote; testdata/README.md says how.
func vectors(t testing.TB, name string) []byte {
	t.Helper()
	if dir := os.Getenv("BLOOM_VECTORS"); dir != "" {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return data
	}
	file, err := os.Open(filepath.Join("testdata", name+".gz"))
	require.NoError(t, err)
	defer file.Close()
	z, err := gzip.NewReader(file)
	require.NoError(t, err)
	data, err := io.ReadAll(z)
	require.NoError(t, err)
	return data
}

// csvVectors returns the rows below the header. There is at least one row.
func csvVectors(t testing.TB, name string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(vectors(t, name))).ReadAll()
	require.NoError(t, err)
	require.NotEmpty(t, rows[1:])
	return rows[1:]
}

func jsonVectors[T any](t testing.TB, name string) (rows []T) {
	t.Helper()
	lines := bufio.NewScanner(bytes.NewReader(vectors(t, name)))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &row))
		rows = append(rows, row)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, rows)
	return rows
}

// filterVector is a filter that Guava built, with its answers.
type filterVector struct {
	Name         string `json:"id"`
	Strategy     bloom.Strategy
	Funnel       string
	KeyEncoding  string
	N            uint64
	P            json.Number
	Keys         []string
	KeyGen       *struct{ Start, Step, Count json.Number }
	Put          []bool
	K            int `json:"numHashFunctions"`
	Words        uint64
	BitSize      uint64
	BitCount     uint64
	ApproxCount  *uint64 `json:"approximateElementCount"`
	FPR          float64 `json:"expectedFpp"`
	Bytes        []byte
	Probes       []string
	MightContain []bool
}

// hashes returns the digests of the vector's keys, as its funnel makes them.
func (v *filterVector) hashes(t testing.TB) []bloom.Hash {
	t.Helper()
	if v.KeyGen == nil {
		return v.hashAll(t, v.Keys)
	}
	start, err := v.KeyGen.Start.Int64()
	require.NoError(t, err)
	step, err := v.KeyGen.Step.Int64()
	require.NoError(t, err)
	count, err := v.KeyGen.Count.Int64()
	require.NoError(t, err)
	hs := make([]bloom.Hash, count)
	for i := range hs {
		key := start + int64(i)*step
		if v.Funnel == "integer" {
			hs[i] = bloom.SumUint32(uint32(key))
		} else {
			hs[i] = bloom.SumUint64(uint64(key))
		}
	}
	return hs
}

func (v *filterVector) hashAll(t testing.TB, keys []string) []bloom.Hash {
	t.Helper()
	hs := make([]bloom.Hash, len(keys))
	for i, key := range keys {
		hs[i] = v.hash(t, key)
	}
	return hs
}

func (v *filterVector) hash(t testing.TB, key string) bloom.Hash {
	t.Helper()
	switch v.KeyEncoding {
	case "hex":
		b, err := hex.DecodeString(key)
		require.NoError(t, err)
		return bloom.Sum(b)
	case "decimal":
		i, err := strconv.ParseInt(key, 10, 64)
		require.NoError(t, err)
		if v.Funnel == "integer" {
			return bloom.SumUint32(uint32(i))
		}
		return bloom.SumUint64(uint64(i))
	case "utf16be-hex": // may have lone surrogates, which a Go string cannot hold
		b, err := hex.DecodeString(key)
		require.NoError(t, err)
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(b[2*i:])
		}
		if v.Funnel == "unencodedChars" {
			for i, u := range units {
				binary.LittleEndian.PutUint16(b[2*i:], u)
			}
			return bloom.Sum(b)
		}
		return bloom.SumString(javaUTF8(units))
	}
	require.Equal(t, "json", v.KeyEncoding)
	if v.Funnel == "unencodedChars" {
		return bloom.SumUTF16(key)
	}
	return bloom.SumString(key)
}

// javaUTF8 encodes as Java does, with '?' for a lone surrogate.
func javaUTF8(units []uint16) (s string) {
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			if i++; i < len(units) && utf16.DecodeRune(r, rune(units[i])) != '\uFFFD' {
				r = utf16.DecodeRune(r, rune(units[i]))
			} else {
				i--
				r = '?'
			}
		}
		s += string(r)
	}
	return s
}

func (v *filterVector) String() string {
	return fmt.Sprintf("%s/%v/%s/n=%d/p=%s", v.Name, v.Strategy, v.Funnel, v.N, v.P)
}

// check compares f with what Guava said of the vector's filter.
func (v *filterVector) check(t *testing.T, f *bloom.Filter) {
	t.Helper()
	data, err := f.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, v.Bytes, data)
	require.Equal(t, v.Strategy, f.Strategy())
	require.Equal(t, v.K, f.K())
	require.Equal(t, v.BitSize, f.M())
	require.Equal(t, v.BitCount, f.OnesCount())
	if v.ApproxCount != nil {
		require.Equal(t, *v.ApproxCount, f.ApproxCount())
	} else {
		require.Equal(t, f.M(), f.OnesCount())
	}
	if v.BitCount == 0 {
		require.Zero(t, f.FPR())
	} else {
		added := bloom.DoubleHashing(f.FillRatio(), f.M(), f.K()) * (1 - v.FPR)
		require.InEpsilon(t, v.FPR+added, f.FPR(), 1e-12)
	}
	view := bloom.Must(bloom.NewView(data))
	sameAnswers(t, f, view, 1)
	for i, h := range v.hashAll(t, v.Probes) {
		require.Equal(t, v.MightContain[i], f.ContainsHash(h), v.Probes[i])
		require.Equal(t, v.MightContain[i], view.ContainsHash(h), v.Probes[i])
	}
}

func TestGuavaDigests(t *testing.T) {
	for _, row := range csvVectors(t, "murmur3.csv") {
		key, err := hex.DecodeString(row[0])
		require.NoError(t, err)
		digest, err := hex.DecodeString(row[1])
		require.NoError(t, err)
		want := bloom.NewHash(binary.LittleEndian.Uint64(digest), binary.LittleEndian.Uint64(digest[8:]))
		require.Equal(t, want, bloom.Sum(key), "%d bytes", len(key))
	}
}

func TestGuavaSizing(t *testing.T) {
	for _, file := range []string{"sizing.csv", "sizing_edge.csv"} {
		for _, row := range csvVectors(t, file) {
			if len(row) > 6 && (row[2] != row[6] || row[3] != row[7]) {
				continue // JVMs differ among themselves
			}
			n, err := strconv.ParseUint(row[0], 10, 64)
			require.NoError(t, err)
			p, err := strconv.ParseFloat(row[1], 64)
			require.NoError(t, err)
			m := bloom.OptimalM(n, p)
			require.Equal(t, row[2], fmt.Sprint(m), "m of %v", row)
			require.Equal(t, row[3], fmt.Sprint(bloom.OptimalK(m, n)), "k of %v", row)
		}
	}
	require.EqualValues(t, 21672090*64, bloom.Must(bloom.New(144705823, 0.01)).M())
}

func TestGuavaCreate(t *testing.T) {
	for _, v := range jsonVectors[struct {
		Strategy bloom.Strategy
		N        json.Number
		P        string
		Outcome  string
		K        int `json:"numHashFunctions"`
		BitSize  uint64
	}](t, "create_edge.json") {
		n, err := strconv.ParseUint(v.N.String(), 10, 64)
		if err != nil {
			continue // Go has no negative n
		}
		p, err := strconv.ParseFloat(v.P, 64)
		require.NoError(t, err)
		f, err := bloom.NewWithStrategy(v.Strategy, n, p)
		if v.Outcome != "ok" || n == 0 { // for n = 0, Guava makes a filter that is full from the start
			require.Error(t, err, "%+v", v)
			require.Regexp(t, "^bloom: .*", err.Error())
			continue
		}
		require.NoError(t, err, "%+v", v)
		require.Equal(t, v.K, f.K())
		require.Equal(t, v.BitSize, f.M())
	}
}

func TestGuavaFilters(t *testing.T) {
	for _, v := range jsonVectors[filterVector](t, "filters.json") {
		t.Run(v.String(), func(t *testing.T) {
			p, err := v.P.Float64()
			require.NoError(t, err)
			f, err := bloom.NewWithStrategy(v.Strategy, max(v.N, 1), p)
			require.NoError(t, err)
			for i, h := range v.hashes(t) {
				changed := f.AddHash(h)
				if i < len(v.Put) {
					require.Equal(t, v.Put[i], changed, "put %d", i)
				}
			}
			v.check(t, f)

			var g bloom.Filter
			require.NoError(t, g.UnmarshalBinary(v.Bytes))
			v.check(t, &g)
			require.True(t, f.Equal(&g))
		})
	}
}

func TestGuavaMerges(t *testing.T) {
	for _, v := range jsonVectors[struct {
		ID           string
		A, B         filterVector
		Self         bool
		IsCompatible bool
		Result       *filterVector
	}](t, "merges.json") {
		t.Run(v.ID, func(t *testing.T) {
			var a, b bloom.Filter
			require.NoError(t, a.UnmarshalBinary(v.A.Bytes))
			if v.Self { // Guava refuses to merge a filter with itself; here that changes nothing
				require.NoError(t, a.Merge(&a))
				v.A.check(t, &a)
				return
			}
			require.NoError(t, b.UnmarshalBinary(v.B.Bytes))
			err := a.Merge(&b)
			if !v.IsCompatible && v.A.Funnel == v.B.Funnel { // a Filter has no funnel
				require.ErrorContains(t, err, "bloom: filters differ in ")
				v.A.check(t, &a)
				return
			}
			require.NoError(t, err)
			if v.Result != nil {
				v.Result.Strategy = v.A.Strategy
				v.Result.check(t, &a)
			}
		})
	}
}

func TestGuavaHostile(t *testing.T) {
	for _, v := range jsonVectors[struct {
		Name, Input, Outcome string
		Consumed             int64
		filterVector
	}](t, "hostile.json") {
		t.Run(v.Name, func(t *testing.T) {
			input, err := base64.StdEncoding.DecodeString(v.Input)
			require.NoError(t, err)
			accepted := v.Outcome == "accept"

			before := bloom.Must(bloom.NewSize(128, 3))
			before.AddString("before")
			f := before.Clone()
			n, err := f.ReadFrom(bytes.NewReader(input))
			if accepted {
				require.NoError(t, err)
				require.Equal(t, v.Consumed, n)
				v.check(t, f)
			} else {
				require.ErrorIs(t, err, bloom.ErrFormat)
				require.Regexp(t, "^bloom: ", err.Error())
				require.True(t, f.Equal(before), "receiver changed")
			}

			f = before.Clone()
			err = f.UnmarshalBinary(input)
			_, viewErr := bloom.NewView(input)
			require.Equal(t, err, viewErr)
			if accepted && v.Consumed == int64(len(input)) {
				require.NoError(t, err)
				v.check(t, f)
			} else {
				require.ErrorIs(t, err, bloom.ErrFormat)
				require.True(t, f.Equal(before), "receiver changed")
			}
		})
	}
}

// TestGuavaFolds compares filters that Guava made large and this package folded with filters that
// Guava made small.
func TestGuavaFolds(t *testing.T) {
	for _, v := range jsonVectors[struct {
		D            int
		Keys         uint64 // the keys are the longs from 0 to Keys - 1
		Large, Small []byte
		MightContain []bool // answers for the longs from Keys on
	}](t, "folds.json") {
		var f, small bloom.Filter
		require.NoError(t, f.UnmarshalBinary(v.Large))
		require.NoError(t, small.UnmarshalBinary(v.Small))
		g, err := f.Fold(v.D)
		require.NoError(t, err)
		require.Equal(t, v.Small, bloom.Must(g.MarshalBinary()))
		for i := range v.Keys {
			require.True(t, g.ContainsHash(bloom.SumUint64(i)))
		}
		for i, want := range v.MightContain {
			require.Equal(t, want, g.ContainsHash(bloom.SumUint64(v.Keys+uint64(i))))
		}
	}
}
