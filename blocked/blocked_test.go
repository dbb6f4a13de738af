package blocked

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// plainBlocked is the Parquet specification's pseudo-code, word by word.
type plainBlocked [][8]uint32

func (b plainBlocked) block(h uint64) (block *[8]uint32, mask [8]uint32) {
	i := (h >> 32) * uint64(len(b)) >> 32
	for w, salt := range []uint32{
		0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
	} {
		mask[w] = 1 << (uint32(h) * salt >> 27)
	}
	return &b[i], mask
}

func (b plainBlocked) add(h uint64) (changed bool) {
	block, mask := b.block(h)
	for w := range block {
		changed = changed || block[w]&mask[w] == 0
		block[w] |= mask[w]
	}
	return changed
}

func (b plainBlocked) contains(h uint64) bool {
	block, mask := b.block(h)
	for w := range block {
		if block[w]&mask[w] == 0 {
			return false
		}
	}
	return true
}

func (b plainBlocked) bitset() []byte {
	var out bytes.Buffer
	_ = binary.Write(&out, binary.LittleEndian, [][8]uint32(b))
	return out.Bytes()
}

// TestBlockedPlain holds every way to add and look up, assembly and portable, to
// the specification.
func TestBlockedPlain(t *testing.T) {
	for _, blocks := range []uint64{1, 2, 3, 7, 64, 1000, 4097} {
		b := bloom.Must(NewSize(blocks * 256))
		portable, batch := b.Clone(), b.Clone()
		plain := make(plainBlocked, blocks)

		added := 0
		keys := testkit.Digests[bloom.Hash](blocks, int(blocks)*20)
		keys = append(keys, bloom.Hash{}, bloom.Hash{H1: math.MaxUint64}, bloom.Hash{H1: math.MaxUint32})
		for _, h := range keys {
			want := plain.add(h.H1)
			require.Equal(t, want, b.AddHash(h))
			require.Equal(t, want, portable.add(h.H1))
			if want {
				added++
			}
		}
		require.Equal(t, added, batch.AddBatch(keys))
		require.Equal(t, plain.bitset(), b.Bitset())
		require.True(t, b.Equal(portable))
		require.True(t, b.Equal(batch))

		probes := append(keys[:len(keys):len(keys)], testkit.Digests[bloom.Hash](blocks+1, 3*batchChunk+5)...)
		got := b.ContainsBatch([]bool{true}, probes)
		require.True(t, got[0])
		for i, h := range probes {
			want := plain.contains(h.H1)
			require.Equal(t, want, b.ContainsHash(h))
			require.Equal(t, want, b.contains(h.H1))
			require.Equal(t, want, got[1+i])
		}

		again, err := NewBitset(b.Bitset())
		require.NoError(t, err)
		require.True(t, b.Equal(again))
	}
}

// TestBlockedRate holds the rate at n keys to p, by the filter's own bits and by
// absent keys.
func TestBlockedRate(t *testing.T) {
	for _, p := range []float64{0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6} {
		for _, n := range []uint64{5000, 300_000} {
			t.Run(fmt.Sprintf("p=%v/n=%d", p, n), func(t *testing.T) {
				b := bloom.Must(New(n, p))
				for i := range n {
					b.AddHash(bloom.SumUint64(i))
				}

				// Each block is a sample of the rate that an absent key meets.
				rates := b.blockRates()
				mean, square := 0.0, 0.0
				for _, r := range rates {
					mean += r / float64(len(rates))
					square += r * r / float64(len(rates))
				}
				assert.InEpsilon(t, mean, b.FPR(), 1e-9)
				deviation := math.Sqrt((square - mean*mean) / float64(len(rates)))
				assert.InDelta(t, p, mean, 4.5*deviation)

				const probes = 500_000
				found := 0
				for i := range uint64(probes) {
					if b.ContainsHash(bloom.SumUint64(1<<40 + i)) {
						found++
					}
				}
				assert.InDelta(t, probes*mean, found, 4.5*math.Sqrt(probes*mean)+2)

				// Of 256 bits with a fraction e of zeros, the estimate has a
				// variance below (1/e-1)/256 / ln(31/32)^2 keys a block, as if
				// bits were independent. They exclude each other: it is less.
				zeros := math.Exp(float64(n) / float64(len(rates)) * math.Log1p(-1.0/32))
				sigma := math.Sqrt(float64(len(rates))*(1/zeros-1)/256) / -math.Log1p(-1.0/32)
				assert.InDelta(t, float64(n), float64(b.ApproxCount()), 4.5*sigma)
			})
		}
	}
}

// blockRates returns, for each block, the share of absent keys that fall on it
// and find all their bits set.
func (b *Filter) blockRates() (rates []float64) {
	bitset := b.Bitset()
	for ; len(bitset) > 0; bitset = bitset[32:] {
		rate := 1.0
		for w := range 8 {
			rate *= float64(bits.OnesCount32(binary.LittleEndian.Uint32(bitset[4*w:]))) / 32
		}
		rates = append(rates, rate)
	}
	return rates
}

func TestBlockedSizes(t *testing.T) {
	overflow, _ := bits.Mul64(math.MaxUint32, maxBlocks*blockWords)
	require.Zero(t, overflow, "the assembly multiplies in 64 bits")
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{10, 0, "blocked: p = 0 is outside (0, 1)"},
		{10, 1, "blocked: p = 1 is outside (0, 1)"},
		{10, math.NaN(), "blocked: p = NaN is outside (0, 1)"},
		{math.MaxUint64, 0.01, "blocked: n = 18446744073709551615, p = 0.01 need more than"},
		{1e6, 1e-300, "blocked: n = 1000000, p = 1e-300 need more than"},
	} {
		_, err := New(test.n, test.p)
		require.ErrorContains(t, err, test.want)
	}
	for _, m := range []uint64{0, math.MaxUint64, 1<<38 + 1} {
		_, err := NewSize(m)
		require.ErrorContains(t, err, fmt.Sprintf("blocked: m = %d is outside [1, ", m))
	}
	for _, size := range []int{0, 1, 31, 33, 100} {
		_, err := NewBitset(make([]byte, size))
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	require.EqualValues(t, 256, bloom.Must(NewSize(1)).M())
	require.EqualValues(t, 512, bloom.Must(NewSize(257)).M())
	require.EqualValues(t, bloom.Must(New(1, 0.01)).M(), bloom.Must(New(0, 0.01)).M())

	// What it takes more than the classic filter, as the type's comment says.
	for p, more := range map[float64]float64{0.01: 10, 1e-3: 18, 1e-4: 37, 1e-6: 125} {
		require.InDelta(t, more, 100*(float64(bloom.Must(New(1e6, p)).M())/float64(bloom.OptimalM(1e6, p))-1), 0.6)
	}

	// The size is the smallest that will do.
	for _, p := range []float64{0.1, 0.01, 1e-3, 1e-6} {
		blocks := bloom.Must(New(1e6, p)).M() / 256
		require.LessOrEqual(t, blockedRate(1e6, blocks), p)
		require.Greater(t, blockedRate(1e6, blocks-1), p)
	}
}

func TestBlockedOperations(t *testing.T) {
	a, b := bloom.Must(New(1000, 0.01)), bloom.Must(New(1000, 0.01))
	keys := testkit.Digests[bloom.Hash](1, 1000)
	a.AddBatch(keys[:600])
	b.AddBatch(keys[400:])
	both := a.Clone()
	require.NoError(t, both.Merge(b))
	require.False(t, a.Equal(both))
	all := bloom.Must(New(1000, 0.01))
	all.AddBatch(keys)
	require.True(t, both.Equal(all))

	small := bloom.Must(NewSize(256))
	require.EqualError(t, small.Merge(a), fmt.Sprintf("blocked: filters differ in m: 256 and %d", a.M()))
	require.Zero(t, small.ApproxCount())
	require.Zero(t, small.FPR())

	both.Reset()
	require.True(t, both.Equal(bloom.Must(New(1000, 0.01))))

	full, err := NewBitset(bytes.Repeat([]byte{255}, 64))
	require.NoError(t, err)
	require.Equal(t, 1.0, full.FPR())
	require.EqualValues(t, 393, full.ApproxCount()) // 2 ln(1/512)/ln(31/32)
}

func TestBlockedZero(t *testing.T) {
	var b Filter
	require.False(t, b.ContainsString(""))
	require.Equal(t, []bool{false}, b.ContainsBatch(nil, make([]bloom.Hash, 1)))
	require.Zero(t, b.FPR())
	require.Zero(t, b.ApproxCount())
	require.PanicsWithValue(t, errZero, func() { b.AddString("") })
	require.PanicsWithValue(t, errZero, func() { b.AddBatch(make([]bloom.Hash, 1)) })
	_, err := b.MarshalBinary()
	require.Error(t, err)
	require.NoError(t, b.UnmarshalBinary(bloom.Must(bloom.Must(New(10, 0.1)).MarshalBinary())))
	require.True(t, b.AddString(""))
	require.True(t, b.ContainsString(""))
}

// TestBlockedBytes freezes the binary form.
func TestBlockedBytes(t *testing.T) {
	b := bloom.Must(NewSize(512))
	for _, key := range []string{"", "a", "bloom"} {
		b.AddString(key)
	}
	data, err := b.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, frozenBlocked, hex.EncodeToString(data))

	var c Filter
	require.NoError(t, c.UnmarshalBinary(data))
	require.True(t, b.Equal(&c))

	var out bytes.Buffer
	n, err := b.WriteTo(&out)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	out.WriteString("rest")
	n, err = new(Filter).ReadFrom(&out)
	require.NoError(t, err)
	require.EqualValues(t, len(data), n)
	require.Equal(t, "rest", out.String())

	before := c.Clone()
	for bit := range len(data) * 8 {
		damaged := bytes.Clone(data)
		damaged[bit/8] ^= 1 << (bit % 8)
		require.ErrorIs(t, c.UnmarshalBinary(damaged), bloom.ErrFormat, "bit %d", bit)
	}
	for cut := range data {
		require.ErrorIs(t, c.UnmarshalBinary(data[:cut]), bloom.ErrFormat)
	}
	require.ErrorIs(t, c.UnmarshalBinary(append(data, 0)), bloom.ErrFormat)
	require.True(t, c.Equal(before))
}

const frozenBlocked = "424c4d4201000000" + "0200000000000000" +
	"0100008001040000010002002100000001100000210000000100010001000001" +
	"0000400000000020000000010000002002000000000000020200000000800000" +
	"16b34834"

func FuzzBlocked(f *testing.F) {
	b := bloom.Must(NewSize(512))
	b.AddString("key")
	f.Add(bloom.Must(b.MarshalBinary()))
	f.Add([]byte{})
	f.Add(frame.Blocked.Append(nil, []uint64{maxBlocks}, testkit.Words(4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var b, c Filter
		err := b.UnmarshalBinary(data)
		n, errFrom := c.ReadFrom(bytes.NewReader(data))
		if err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Empty(t, b.words)
			require.True(t, errFrom != nil || n < int64(len(data)))
			return
		}
		require.NoError(t, errFrom)
		require.True(t, b.Equal(&c))
		require.Equal(t, data, bloom.Must(b.MarshalBinary()))
		b.Contains(data)
		b.Add(data)
		require.True(t, b.Contains(data))
		b.ApproxCount()
		b.FPR()
	})
}
