package window

import (
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// slowly reads a filter's binary form. It calls each before each piece that is written.
type slowly struct {
	f    *Filter
	each func()
}

func (s *slowly) of(t *testing.T) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := s.f.WriteTo(writerFunc(func(p []byte) (int, error) {
			s.each()
			return w.Write(p)
		}))
		w.CloseWithError(err)
	}()
	return r
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRestored decodes a filter that was encoded an hour ago, by the system's time. A Filter keeps
// its Now when it decodes.
func TestRestored(t *testing.T) {
	start := time.Now().Add(-3 * time.Hour)
	now := start
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: 90 * time.Minute, Now: func() time.Time {
		return now
	}}))
	now = start.Add(time.Hour)
	f.AddString("two hours ago")
	now = start.Add(2 * time.Hour)
	f.AddString("an hour ago")
	require.True(t, f.ContainsString("two hours ago"))
	data := bloom.Must(f.MarshalBinary())

	var restored Filter
	require.NoError(t, restored.UnmarshalBinary(data))
	require.False(t, restored.ContainsString("two hours ago"))
	require.True(t, restored.ContainsString("an hour ago"))
	require.True(t, restored.AddString("now"))
	require.Nil(t, restored.Config().Now)

	now = start.Add(4 * time.Hour)
	require.NoError(t, f.UnmarshalBinary(data))
	require.False(t, f.ContainsString("an hour ago"))
	want, got := f.Config(), restored.Config()
	require.NotNil(t, want.Now)
	want.Now = nil
	require.Equal(t, want, got)
}

// TestSavedAfterEachKey: a plane gets its share of keys and no more, however often the window is
// saved and loaded.
func TestSavedAfterEachKey(t *testing.T) {
	f := bloom.Must(New(Config{N: 1000, P: 1e-9}))
	share := int(f.ring.share)
	require.Greater(t, share, 10)
	for i := range 20 * share {
		require.True(t, f.AddHash(bloom.SumUint64(uint64(i))))
		require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	}
	require.EqualValues(t, 20, f.ring.planes().len())
}

// TestPlanesMoveOn encodes a filter while keys are added, and while planes end, die, and give their
// columns to new planes. The form has the keys that were there when the encoding began, and no
// others.
func TestPlanesMoveOn(t *testing.T) {
	for _, step := range []time.Duration{time.Minute, time.Hour, 30 * time.Hour} {
		var hand filtertest.Clock
		f := bloom.Must(New(Config{N: 100_000, P: 0.01, Span: 24 * time.Hour, Now: hand.Now}))
		key := uint64(0)
		add := func(n int) {
			for range n {
				f.AddHash(bloom.SumUint64(key))
				key++
			}
		}
		for range 30 {
			add(2000)
			hand.Advance(40 * time.Minute)
		}
		before, array := f.ring.planes(), slices.Clone(f.array)
		var g Filter
		g.now = hand.Now
		_, err := g.ReadFrom((&slowly{f, func() { hand.Advance(step); add(20_000) }}).of(t))
		require.NoError(t, err)
		require.Equal(t, before.len(), g.ring.planes().len())
		for plane := before.oldest(); plane <= before.newest(); plane++ {
			ones := uint64(0)
			for i, lane := range g.array {
				ones += lane >> (plane % planes) & 1
				if bit := columns(plane, 1); plane < before.newest() && lane&^array[i]&bit != 0 {
					t.Fatalf("plane %d has a bit of a later one", plane)
				}
			}
			require.LessOrEqual(t, bloom.StatsOf(uint64(len(g.array)), g.k, ones).ApproxCount,
				g.ring.share*103/100, "plane %d", plane)
		}
	}
}

// TestParams changes one parameter at a time, with a right checksum. If the decoder accepts a
// filter, keys can be added to it, and its binary form can be decoded.
func TestParams(t *testing.T) {
	for _, span := range []time.Duration{0, time.Hour} {
		hand := new(filtertest.Clock)
		c := Config{N: 100, P: 0.01, Span: span, Renew: true, Now: hand.Now}
		f := bloom.Must(New(c))
		for i := range uint64(90) {
			hand.Advance(2 * time.Minute)
			f.AddHash(bloom.SumUint64(i))
			f.AddHash(bloom.SumUint64(i / 2))
		}
		good, _ := f.params()
		if live := liveOf(good); span > 0 {
			swapped := append([]uint64(nil), good...)
			a, b := &swapped[paramEnds+live.oldest()%planes], &swapped[paramEnds+(live.oldest()+1)%planes]
			require.Less(t, *a, *b)
			*a, *b = *b, *a
			require.ErrorIs(t, new(Filter).UnmarshalBinary(bloom.Must(form.Window.Append(nil,
				swapped, f.array, form.Info{}))), bloom.ErrFormat)
		}
		accepted := 0
		for i := range good {
			for _, value := range []uint64{0, 1, 2, 3, 63, 64, 65, 255, 4096, 1 << 31, 1 << 32,
				1 << 61, 1 << 62, 1<<62 + 1, 1 << 63, math.MaxUint64,
				good[i] + 1, good[i] - 1, math.Float64bits(0.5), math.Float64bits(math.NaN())} {
				bad := append([]uint64(nil), good...)
				bad[i] = value
				g := &Filter{filter: filter{now: hand.Now}}
				err := g.UnmarshalBinary(bloom.Must(form.Window.Append(nil, bad, f.array, form.Info{})))
				if err != nil {
					require.ErrorIs(t, err, bloom.ErrFormat)
					require.True(t, g.zero())
					continue
				}
				accepted++
				for range 2 {
					for j := range uint64(40) {
						g.AddHash(bloom.SumUint64(j))
						if c.Renew || g.ring.span > 0 {
							require.True(t, g.ContainsHash(bloom.SumUint64(j)), "parameter %d = %d", i, value)
						}
					}
					g.Reach()
					require.NoError(t, g.UnmarshalBinary(bloom.Must(g.MarshalBinary())),
						"parameter %d = %d", i, value)
				}
			}
		}
		require.Greater(t, accepted, 50)
	}
}

// TestParamsOutOfRange: forms with parameters that no filter has are refused. Those with the
// parameters beside them are decoded.
func TestParamsOutOfRange(t *testing.T) {
	var hand filtertest.Clock
	config := Config{N: 1000, P: 0.01, Span: time.Hour, Now: hand.Now}
	part := uint64(config.withDefaults().part())
	empty := bloom.Must(New(config))
	one := bloom.Must(New(config))
	one.AddString("key")
	two := bloom.Must(New(config))
	two.AddString("old")
	hand.Advance(time.Hour / 2)
	two.AddString("key")
	timeless := bloom.Must(New(Config{N: 1000, P: 0.01}))
	timeless.AddString("key")
	const odd = leastPage + 1
	inverse := uint64(1) // of odd, modulo 2^64
	for range 6 {
		inverse *= 2 - odd*inverse
	}
	const (
		begin, later  = uint64(1e18), uint64(1e18 + 30*time.Minute)
		earliest      = uint64(1<<64 - farthest)
		shortest      = uint64(7 * time.Millisecond)
		first, second = paramEnds + 1, paramEnds + 2
		last          = paramEnds + planes - 1
	)
	type change map[int]uint64
	for _, test := range []struct {
		f         *Filter
		good, bad change
	}{
		{empty, change{paramN: 1}, change{paramN: 0}},
		{empty, change{paramSpan: shortest}, change{paramSpan: shortest - 1}},
		{empty, change{paramSpan: maxSpan - 1}, change{paramSpan: maxSpan}},
		{empty, change{paramSpan: 0}, change{paramSpan: 1 << 63}},
		{empty, change{paramRenew: 1}, change{paramRenew: 2}},
		{empty, change{paramGenerations: 1}, change{paramGenerations: 0}},
		{empty, change{paramGenerations: maxGenerations}, change{paramGenerations: maxGenerations + 1}},
		{empty, change{}, change{paramGenerations: 1<<32 + 7}},
		{empty, change{paramK: 2}, change{paramK: 0}},
		{empty, change{paramK: 4}, change{paramK: 3}},
		{empty, change{paramK: maxK}, change{paramK: maxK + 2}},
		{empty, change{paramLanes: 1}, change{paramLanes: 0}},
		{empty, change{paramPages: 1}, change{paramPages: 0}},
		{empty, change{paramPages: 2, paramLanes: leastPage},
			change{paramPages: 2, paramLanes: leastPage - 1}},
		{empty, change{paramPages: 1, paramLanes: odd}, change{paramPages: inverse, paramLanes: odd}},
		{empty, change{}, change{paramNewest: planes}},
		{one, change{paramNewest: planes - 1, last: begin}, change{paramNewest: planes}},
		{one, change{}, change{paramLive: planes + 1}},
		{one, change{paramLost: begin}, change{paramLost: begin + 1}},
		{one, change{first: begin + part}, change{first: begin + part + 1}},
		{one, change{first: earliest}, change{first: earliest - 1}},
		{one, change{paramFull: 2, first: begin + 1}, change{paramFull: 2, first: begin + 2}},
		{one, change{paramFrom: farthest}, change{paramFrom: farthest + 1}},
		{one, change{paramFrom: earliest, first: earliest},
			change{paramFrom: earliest - 1, first: earliest}},
		{two, change{first: later + 1}, change{first: later + 2}},
		{two, change{second: begin + part}, change{second: begin + part - 1}},
		{timeless, change{}, change{paramFrom: 1}},
	} {
		params, _ := test.f.params()
		decode := func(c change) error {
			p := slices.Clone(params)
			for i, value := range c {
				p[i] = value
			}
			array := make([]uint64, p[paramPages]*p[paramLanes])
			f := new(Filter)
			f.now = hand.Now
			return f.UnmarshalBinary(bloom.Must(form.Window.Append(nil, p, array, form.Info{})))
		}
		require.NoError(t, decode(test.good), "%v", test.good)
		require.ErrorIs(t, decode(test.bad), bloom.ErrFormat, "%v", test.bad)
	}
}

func FuzzFilter(f *testing.F) {
	hand := new(filtertest.Clock)
	w := bloom.Must(New(Config{N: 4, P: 0.01, Span: time.Hour, Generations: 2, Now: hand.Now}))
	for _, key := range []string{"old", "new"} {
		hand.Advance(30 * time.Minute)
		w.AddString(key)
	}
	good := bloom.Must(w.MarshalBinary())
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		w := &Filter{filter: filter{now: hand.Now}}
		if err := w.UnmarshalBinary(filtertest.Sealed(data)); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.True(t, w.zero())
			return
		}
		w.AddString("key")
		require.True(t, w.ContainsString("key"))
		require.NoError(t, new(Filter).UnmarshalBinary(bloom.Must(w.MarshalBinary())))
	})
}

// inPage returns the i-th of the keys that are in a page of f.
func inPage(f *Filter, page, i uint64) bloom.Hash {
	for key := uint64(0); ; key++ {
		h := bloom.SumUint64(key)
		at, _, _ := f.locate(h)
		if at != page {
			continue
		}
		if i == 0 {
			return h
		}
		i--
	}
}

// TestSavedPagesWithOldBits: a page that no key has come to for long still holds bits of dead
// planes, whose columns later planes have. They are not saved: a loaded filter does not find keys
// that were forgotten.
func TestSavedPagesWithOldBits(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: 7 * time.Hour, Now: hand.Now}))
	require.Greater(t, f.pages, uint64(1))
	old := filtertest.Digests(1, 8000)
	for hour := range 8 { // all pages
		f.AddBatch(nil, old[1000*hour:][:1000])
		hand.Advance(time.Hour)
	}
	hand.Advance(10 * time.Hour)
	unclean := 0
	for hour := range uint64(planes + 10) {
		f.AddHash(inPage(f, 0, hour)) // one page alone
		g := &Filter{filter: filter{now: hand.Now}}
		require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		require.Equal(t, len(old), lost(g, old), "after %d hours", hour)
		require.True(t, g.ContainsHash(inPage(f, 0, hour)))
		if f.table[1].clean.Load() < f.ring.planes().newest() {
			unclean++
		}
		hand.Advance(time.Hour)
	}
	require.Positive(t, unclean, "a page was not cleared for the newest plane")
}
