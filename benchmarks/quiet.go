package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A turn is the work of one row in one round. Other programs, or other guests of the same host,
// make turns slower. So each turn is between two calibrations: fixed work whose usual time is
// known. A turn is disturbed if a calibration before or after it took longer than usual, or if the
// host took the processor away during the turn. Such a turn is repeated.
//
// The usual time is the median of the calibrations before the first turn. The least time would be
// too strict: other guests of a host share its memory, and nearly all turns would be repeated.

const (
	arithmetic = 400_000  // multiplications in a calibration; each needs the result before
	reads      = 30_000   // reads in a calibration; each reads the place of the next one
	readBytes  = 64 << 20 // the memory that the reads cover

	calibrations  = 200              // calibrations before the first turn
	tolerance     = 1.15             // longest arithmetic of an undisturbed turn, in usual times
	readTolerance = 1.4              // longest reads: the row before may have filled the cache
	tries         = 4                // most tries of one turn
	patience      = 10 * time.Minute // longest wait for an idle machine
	idle          = 0.3              // highest load of an idle machine
)

// quiet has the usual times of a calibration.
type quiet struct {
	next             []uint32 // the place of the next read: a cycle through all places
	usual, usualRead time.Duration
	turns, repeats   int
	sink             uint64
}

func newQuiet() *quiet {
	q := &quiet{next: make([]uint32, readBytes/4)}
	// Sattolo's algorithm makes a permutation of one cycle.
	for i := range q.next {
		q.next[i] = uint32(i)
	}
	for i := len(q.next) - 1; i > 0; i-- {
		j := mix(uint64(i)) % uint64(i)
		q.next[i], q.next[j] = q.next[j], q.next[i]
	}
	var times, readTimes []time.Duration
	for range calibrations {
		took, read := q.work()
		times = append(times, took)
		readTimes = append(readTimes, read)
	}
	q.usual = median(times)
	q.usualRead = median(readTimes)
	return q
}

// work does the fixed work of a calibration. It returns the time of its arithmetic and of its
// reads.
func (q *quiet) work() (took, read time.Duration) {
	start := time.Now()
	x := q.sink | 1
	for range arithmetic {
		x *= 0x9e3779b97f4a7c15
	}
	took = time.Since(start)
	start = time.Now()
	at := uint32(x % uint64(len(q.next)))
	for range reads {
		at = q.next[at]
	}
	read = time.Since(start)
	q.sink = x + uint64(at)
	return took, read
}

// calibrate reports whether the fixed work takes about as long as usual.
func (q *quiet) calibrate() bool {
	took, read := q.work()
	slowArithmetic := float64(took) > tolerance*float64(q.usual)
	slowReads := float64(read) > readTolerance*float64(q.usualRead)
	return !slowArithmetic && !slowReads
}

// median returns the median of values, which it sorts.
func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// turn calls do for a row's turn, and again if the turn was disturbed.
func (q *quiet) turn(do func() sample) (s sample) {
	q.turns++
	for try := range tries {
		if try > 0 {
			q.repeats++
			time.Sleep(50 * time.Millisecond << try)
		}
		before, stolen, began := q.calibrate(), steal(), time.Now()
		s = do()
		taken := steal() - stolen
		if before && q.calibrate() && taken <= time.Since(began)/50 {
			break
		}
	}
	return s
}

// steal returns the time for which the host has taken the processors away from this machine. Only
// Linux tells it; elsewhere it is 0.
func steal() time.Duration {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line) // cpu, user, nice, system, idle, iowait, irq, softirq, steal
	if len(fields) < 9 {
		return 0
	}
	ticks, _ := strconv.ParseInt(fields[8], 10, 64)
	return time.Duration(ticks) * 10 * time.Millisecond
}

// loadNow returns the machine's load of the last minute. known is false if the system is not Linux.
func loadNow() (load float64, known bool) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, false
	}
	load, err = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	return load, err == nil
}

// waitIdle waits until the machine is idle. It returns a text with the load then, and with the time
// that it waited.
func waitIdle() string {
	began := time.Now()
	for {
		load, known := loadNow()
		waited := time.Since(began).Round(time.Second)
		switch {
		case !known:
			return "the load is not known"
		case load <= idle && waited == 0:
			return fmt.Sprintf("load before: %.2f", load)
		case load <= idle:
			return fmt.Sprintf("load before: %.2f, after a wait of %v", load, waited)
		case waited >= patience:
			return fmt.Sprintf("load before: %.2f, also after a wait of %v", load, waited)
		}
		time.Sleep(5 * time.Second)
	}
}
