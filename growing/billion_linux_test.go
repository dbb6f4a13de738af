package growing

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestBillion grows a filter to 1e9 keys at 0.1 %, with as many goroutines as there are
// processors, and prints the rows of benchmarks/GROWING.md. It takes an hour, 4 GB of
// memory, and BLOOM_BILLION=1 in the environment, or another number of keys there.
func TestBillion(t *testing.T) {
	n, err := strconv.ParseFloat(os.Getenv("BLOOM_BILLION"), 64)
	if err != nil {
		t.Skip("BLOOM_BILLION is not a number")
	}
	if n <= 1 {
		n = 1e9
	}
	const p, probes = 1e-3, 1_000_000
	f := bloom.Must(New(p))
	goroutines := runtime.GOMAXPROCS(0)
	all, began := new(addTimes), time.Now()
	fmt.Println("| keys | MB | of a classic filter's | layers | rate / p | count | p50 | p99.99 | 16 Adds ran | 512 in a batch ran | began | slept | absent | present |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	have := uint64(0)
	for row := 0; have < uint64(n); row++ {
		next := min(uint64(n), []uint64{1e4, 2e4, 5e4}[row%3]*uint64(math.Pow10(row/3)))
		times := make([]addTimes, goroutines)
		var adding sync.WaitGroup
		for g := range goroutines {
			adding.Add(1)
			go func() {
				defer adding.Done()
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				times[g].last = readThread()
				for i := have + uint64(g*addBlock); i < next; i += uint64(goroutines * addBlock) {
					times[g].add(f, i, min(i+addBlock, next))
				}
			}()
		}
		adding.Wait()
		have = next
		step := new(addTimes)
		for g := range times {
			step.merge(&times[g])
			all.merge(&times[g])
		}

		runtime.LockOSThread()
		start, found := readThread().ran, 0
		for i := range uint64(probes) {
			if f.ContainsHash(bloom.SumUint64(1<<62 + i)) {
				found++
			}
		}
		absent := (readThread().ran - start) / probes
		start = readThread().ran
		for i := range uint64(probes) {
			if key := i * 0x9e3779b97f4a7c15 % have; !f.ContainsHash(bloom.SumUint64(key)) {
				t.Fatalf("key %d is lost", key)
			}
		}
		present := (readThread().ran - start) / probes
		runtime.UnlockOSThread()
		ratio := float64(f.allocated()) / float64(bloom.OptimalM(have, p))
		fmt.Printf("| %.0e | %.2f | %.2f | %.1f | %.3f | %+.2f %% | %v | %v | %v | %v | %d | %d | %v | %v |\n",
			float64(have), float64(f.allocated())/8e6, ratio, float64(f.layers())/shards, float64(found)/probes/p,
			100*(float64(f.ApproxCount())/float64(have)-1), step.quantile(0.5), step.quantile(0.9999),
			micro(step.ran), micro(step.ranBatch), step.began, step.slept, absent, present)
		require.LessOrEqual(t, float64(found), testkit.RateBound(probes, p))
		require.InEpsilon(t, have, f.ApproxCount(), 0.01)
		if have >= 25_000 {
			require.LessOrEqual(t, ratio, 2.6)
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Printf("\n%v in all, with look-ups, by %d goroutines; %.0f MB from the system.\n",
		time.Since(began).Round(time.Second), goroutines, float64(mem.Sys-mem.HeapReleased)/1e6)
	for _, q := range []float64{0.5, 0.99, 0.999, 0.9999, 0.99999, 1 - 1e-6, 1} {
		fmt.Printf("Of the Adds that were timed, a share of %v took at most %v.\n", q, all.quantile(q))
	}
	for _, s := range all.slow {
		fmt.Println(s)
	}
}

// Keys come in blocks of addBlock. The first of a block are added one by one, and timed;
// then some come in batches, which take half the time.
const addBlock, addSingles, addGroup, addBatch = 5120, 512, 16, 512

// addTimes are the times of Adds. The system and other programs interrupt an Add, and on
// a busy machine for longer than it takes. So there is also for how long its thread ran.
type addTimes struct {
	buckets       [400]uint64   // Adds by their time, in steps of 2^(1/8)
	ran, ranBatch time.Duration // the longest that a thread ran in a group, in a batch
	began         int           // groups and batches in which a layer began
	slept         int           // those of them in which the thread slept, to wait for the layer
	slow          []string
	last          thread
}

// thread is what the system says of a thread.
type thread struct {
	ran           time.Duration
	slept, faults int64
}

func readThread() thread {
	var ran unix.Timespec
	var usage unix.Rusage
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ran)
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &usage)
	return thread{time.Duration(ran.Nano()), int64(usage.Nvcsw), int64(usage.Minflt + usage.Majflt)}
}

// add adds the keys from first up to end to f.
func (a *addTimes) add(f *Filter, first, end uint64) {
	for i := first; i < min(first+addSingles, end); i += addGroup {
		before, start := f.layers(), time.Now()
		for j := i; j < min(i+addGroup, end); j++ {
			f.AddHash(bloom.SumUint64(j))
			now := time.Now()
			a.buckets[int(8*math.Log2(float64(max(now.Sub(start), 1))))]++
			start = now
		}
		a.ran = max(a.ran, a.check(f, i, before))
	}
	var hs [addBatch]bloom.Hash
	for i := first + addSingles; i < end; i += addBatch {
		n := min(addBatch, end-i)
		for j := range hs[:n] {
			hs[j] = bloom.SumUint64(i + uint64(j))
		}
		before := f.layers()
		f.AddBatch(nil, hs[:n])
		a.ranBatch = max(a.ranBatch, a.check(f, i, before))
	}
}

// check returns for how long the thread ran since the last check, while f had at first so
// many layers.
func (a *addTimes) check(f *Filter, key uint64, layers int) time.Duration {
	now, last := readThread(), a.last
	began := f.layers() - layers
	if began > 0 {
		a.began++
		if now.slept > last.slept {
			a.slept++
		}
	}
	ran := now.ran - last.ran
	if ran > 2*time.Millisecond || began > 0 && now.slept > last.slept && key > 2e7 {
		a.slow = append(a.slow, fmt.Sprintf("From key %d: ran %v; %d layers began; slept %d times; %d page faults", key, micro(ran), began, now.slept-last.slept, now.faults-last.faults))
	}
	a.last = now
	return ran
}

func (a *addTimes) merge(b *addTimes) {
	for i, n := range b.buckets {
		a.buckets[i] += n
	}
	a.ran, a.ranBatch = max(a.ran, b.ran), max(a.ranBatch, b.ranBatch)
	a.began, a.slept = a.began+b.began, a.slept+b.slept
	a.slow = append(a.slow, b.slow...)
}

// quantile returns a time, at most 9 % too long, that such a share of the Adds did not
// exceed.
func (a *addTimes) quantile(q float64) time.Duration {
	total, sum := uint64(0), uint64(0)
	for _, n := range a.buckets {
		total += n
	}
	for i, n := range a.buckets {
		if sum += n; float64(sum) >= q*float64(total) {
			return time.Duration(math.Exp2(float64(i+1) / 8)).Round(10)
		}
	}
	return math.MaxInt64
}

func micro(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
