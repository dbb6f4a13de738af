package window

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// lifetimes adds keys at a steady pace and records how long each one is found.
type lifetimes struct {
	*Filter
	clock             filtertest.Clock
	pace              time.Duration // the time between two keys
	next              uint64        // the next key
	oldest            uint64        // the oldest key that was found by the last look
	added             []time.Duration
	shortest, longest time.Duration
}

func newLifetimes(c Config, pace time.Duration) *lifetimes {
	l := &lifetimes{pace: pace, shortest: 1 << 62}
	c.Now = l.clock.Now
	l.Filter = bloom.Must(New(c))
	return l
}

// run adds n keys.
func (l *lifetimes) run(n int) {
	for range n {
		l.added = append(l.added, l.clock.Elapsed())
		l.AddHash(bloom.SumUint64(l.next))
		l.next++
		l.clock.Advance(l.pace)
		l.look()
	}
}

// look records which keys have been forgotten since the last look.
func (l *lifetimes) look() {
	for l.oldest < l.next && !l.ContainsHash(bloom.SumUint64(l.oldest)) {
		lived := l.clock.Elapsed() - l.added[l.oldest]
		l.shortest = min(l.shortest, lived)
		l.longest = max(l.longest, lived)
		l.oldest++
	}
}

// stepBack moves the clock. From then on, only keys that are added later are recorded.
func (l *lifetimes) stepBack(step time.Duration) {
	l.clock.Advance(-step)
	l.oldest, l.shortest, l.longest = l.next, 1<<62, 0
}

// evenly returns the lifetimes that a configuration promises while the clock runs evenly.
func (c Config) evenly() (longest time.Duration) {
	if c.Renew {
		return c.Span + 2*time.Duration(c.part())
	}
	return c.Span + time.Duration(c.part())
}

// TestKeysGoInTime: while the clock runs evenly, keys are found for at least a Span, and at most
// for the one or two parts more that Config promises.
func TestKeysGoInTime(t *testing.T) {
	for _, renew := range []bool{false, true} {
		for _, generations := range []int{1, 3, 7, 15, 31} {
			for _, perPart := range []int{1, 2, 7, 20} {
				c := Config{N: 1000, P: 1e-9, Span: day, Generations: generations, Renew: renew}
				l := newLifetimes(c, time.Duration(c.part())/time.Duration(perPart))
				l.run(5 * perPart * generations)
				l.look()
				about := fmt.Sprintf("Generations %d, Renew %v, %d keys in Span/Generations",
					generations, renew, perPart)
				require.GreaterOrEqual(t, l.shortest, day, "%s: a key was forgotten early", about)
				require.LessOrEqual(t, l.longest, c.evenly()+l.pace, "%s: a key was kept too long", about)
			}
		}
	}
}

// TestKeysGoAfterAStepBack: a key that is added after the clock steps back is found for at least a
// Span, and for at most Span/Generations longer than without the step.
func TestKeysGoAfterAStepBack(t *testing.T) {
	const perPart = 10
	phases := 5
	if testing.Short() {
		phases = 2
	}
	for _, renew := range []bool{false, true} {
		for _, generations := range []int{1, 3, 7, 15, 31} {
			// the second is N keys in a Span
			for _, n := range []uint64{2000, uint64(perPart * generations)} {
				c := Config{N: n, P: 1e-9, Span: day, Generations: generations, Renew: renew}
				part := time.Duration(c.part())
				for _, step := range []time.Duration{
					1, time.Second, time.Hour, 6 * time.Hour, 12 * time.Hour, day - 1, day, 10 * day,
				} {
					for phase := range phases {
						l := newLifetimes(c, part/perPart)
						l.run(2*generations*perPart + phase*perPart/phases)
						l.stepBack(step + time.Duration(phase)*step/7)
						if phase%2 == 1 {
							require.NoError(t, l.UnmarshalBinary(bloom.Must(l.MarshalBinary())))
						}
						l.run(4 * generations * perPart)
						about := fmt.Sprintf("N %d, Generations %d, Renew %v, step %v, phase %d", n,
							generations, renew, step, phase)
						assert.GreaterOrEqual(t, l.shortest, day, "%s: a key was forgotten early", about)
						assert.LessOrEqual(t, l.longest, c.evenly()+part+l.pace, "%s: a key was kept too long", about)
					}
				}
			}
		}
	}
}

// TestKeysGoAfterStepsBack: the clock steps back several times. A key that is added after the last
// step is found for at least a Span, and for at most twice as long as after a single step.
func TestKeysGoAfterStepsBack(t *testing.T) {
	const perPart = 5
	for _, renew := range []bool{false, true} {
		for _, generations := range []int{1, 3, 7, 15, 31} {
			c := Config{N: 2000, P: 1e-9, Span: day, Generations: generations, Renew: renew}
			part := time.Duration(c.part())
			for _, step := range []time.Duration{time.Minute, 5 * time.Hour, 20 * time.Hour, 10 * day} {
				for _, steps := range []int{2, 3, 20} {
					l := newLifetimes(c, part/perPart)
					l.run(2 * generations * perPart)
					for i := range steps {
						l.stepBack(step)
						l.run(generations*perPart*(2+i%3)/8 + i%perPart)
						if i%2 == 0 {
							require.NoError(t, l.UnmarshalBinary(bloom.Must(l.MarshalBinary())))
						}
					}
					l.stepBack(step)
					l.run(5 * generations * perPart)
					about := fmt.Sprintf("Generations %d, Renew %v, %d steps of %v", generations,
						renew, steps, step)
					assert.GreaterOrEqual(t, l.shortest, day, "%s: a key was forgotten early", about)
					t.Logf("%s: %v to %v", about, l.shortest, l.longest)
					assert.LessOrEqual(t, l.longest, 2*(c.evenly()+part)+l.pace,
						"%s: a key was kept too long", about)
				}
			}
		}
	}
}

// TestNewestStayAfterAStepBack: planes of a few keys from before and after a step back share the
// ring with a burst of keys. The newest N/2 keys are found at each moment.
func TestNewestStayAfterAStepBack(t *testing.T) {
	for _, generations := range []int{1, 3, 7, 15, 31} {
		for _, renew := range []bool{false, true} {
			for _, steps := range []int{1, 5} {
				var clock filtertest.Clock
				c := Config{N: 2000, P: 1e-9, Span: day, Generations: generations, Renew: renew, Now: clock.Now}
				part := time.Duration(c.part())
				f := bloom.Must(New(c))
				next := uint64(0)
				add := func(keys uint64) {
					for range keys {
						f.AddHash(bloom.SumUint64(next))
						next++
					}
				}
				for range steps {
					for range generations + 1 {
						add(1)
						clock.Advance(part)
					}
					clock.Advance(-day)
				}
				for range generations {
					add(1)
					clock.Advance(part)
				}
				first := next
				newestStay := func() {
					for i := max(first, next-min(next, c.N/2)); i < next; i++ {
						require.True(t, f.ContainsHash(bloom.SumUint64(i)),
							"Generations %d, Renew %v, %d steps: key %d of %d is forgotten",
							generations, renew, steps, i, next)
					}
				}
				for range 2 * c.N / 20 {
					add(20)
					newestStay()
				}
				for range 2 * planes { // the clock steps to and fro, and a key comes each time
					clock.Advance(min(3*part, day/2)) // longer than the two parts that a plane may last
					add(1)
					clock.Advance(-min(3*part, day/2))
					newestStay()
				}
			}
		}
	}
}

// TestStepBackOfAnEmptyWindow: all keys are forgotten, and the clock then steps back to a time at
// which the last plane took keys. A key that is added then is found.
func TestStepBackOfAnEmptyWindow(t *testing.T) {
	var clock filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: day, Now: clock.Now}))
	f.AddString("before")
	clock.Advance(3 * day)
	require.Equal(t, day, f.Reach())
	require.False(t, f.ContainsString("before"))
	clock.Advance(-3*day + time.Hour)
	require.True(t, f.AddString("after"))
	require.True(t, f.ContainsString("after"))
}

// steppedBack returns a filter whose clock steps back by a Span after each plane took a key, and the
// length of a part.
func steppedBack(clock *filtertest.Clock) (f *Filter, part time.Duration) {
	c := Config{N: 1000, P: 1e-9, Span: day, Now: clock.Now}.withDefaults()
	part = time.Duration(c.part())
	f = bloom.Must(New(c))
	for i := range uint64(c.Generations) + 1 {
		f.AddHash(bloom.SumUint64(i))
		clock.Advance(part)
	}
	clock.Advance(-day)
	return f, part
}

// TestLoadKeepsProlonged: a plane that lasts for two parts, because the clock stepped back, is saved
// and loaded. It does not last for a third one.
func TestLoadKeepsProlonged(t *testing.T) {
	for _, loads := range []bool{false, true} {
		var clock filtertest.Clock
		f, part := steppedBack(&clock)
		require.True(t, f.AddString("key"))
		clock.Advance(part)
		require.True(t, f.AddString("prolongs"))
		if loads {
			require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		}
		require.True(t, f.ContainsString("key"))
		clock.Advance(part)
		require.True(t, f.AddString("begins a plane"))
		clock.Advance(day - 1)
		require.True(t, f.ContainsString("key"), "loaded: %v", loads)
		clock.Advance(1)
		require.False(t, f.ContainsString("key"), "loaded: %v", loads)
	}
}

// TestNoPlaneIsProlongedTooLate: after a step back, a key is added long after the newest plane has
// ended. The key is found for a Span.
func TestNoPlaneIsProlongedTooLate(t *testing.T) {
	for parts := time.Duration(1); parts <= 5; parts++ {
		var clock filtertest.Clock
		f, part := steppedBack(&clock)
		require.True(t, f.AddString("key"))
		clock.Advance(parts * part)
		require.True(t, f.AddString("late"))
		clock.Advance(day - 1)
		require.True(t, f.ContainsString("late"), "after %d parts", parts)
	}
}
