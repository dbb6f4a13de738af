package storage

import (
	"cmp"
	"io"
	"slices"
	"sync"

	"github.com/seed79a3ff49/bloom/internal/form"
)

const (
	// maxGap is the largest gap in bytes between two ranges in one request.
	maxGap = 16 << 10
	// maxRange is the largest number of bytes in a request for several ranges.
	maxRange = 256 << 10
)

// piece is the range that one step of a key's look-up reads.
type piece struct {
	offset    int64
	key, step int
}

// Ranges looks keys up in the bytes of r. A key's look-up has the given number of steps. Each step
// reads size bytes at offset(key, step) and passes them to test. Ranges sets found[key] to whether
// test returned true for every step; if steps is 0, it sets all to false. It never calls test
// concurrently. Errors begin with pkg.
//
// Ranges proceeds in rounds, of 1 step, then 2, then 4, and so on. A key takes no part in later
// rounds once test has returned false for it. In each round, Ranges joins ranges that are
// near each other into one request. On error it sets all of found to true, because a key that could
// not be looked up may be present.
func Ranges(
	pkg string, r io.ReaderAt, found []bool, steps int, size int64,
	offset func(key, step int) int64, test func(key, step int, data []byte) bool,
) error {
	all := make([]bool, len(found))
	for key := range all {
		all[key] = steps > 0
	}
	var mu sync.Mutex // guards all
	var pieces []piece
	requests := NewRequests()
	done, limit := 0, 1
	for done < steps {
		pieces = pieces[:0]
		for key, alive := range all {
			for step := done; step < limit && alive; step++ {
				pieces = append(pieces, piece{offset(key, step), key, step})
			}
		}
		slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.offset, b.offset) })
		for rest := pieces; len(rest) > 0; {
			n := near(rest, size)
			group := rest[:n]
			rest = rest[n:]
			ok := requests.Go(func() error {
				start := group[0].offset
				data, err := form.ReadAt(pkg, r, start, group[n-1].offset+size-start)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				for _, p := range group {
					all[p.key] = all[p.key] && test(p.key, p.step, data[p.offset-start:][:size])
				}
				return nil
			})
			if !ok { // speed
				break
			}
		}
		if err := requests.Wait(); err != nil {
			SetAll(found)
			return err
		}
		done, limit = limit, min(2*limit+1, steps)
	}
	copy(found, all)
	return nil
}

func SetAll(found []bool) {
	for i := range found {
		found[i] = true
	}
}

// near returns the number of pieces to join into the next request. pieces is sorted by offset.
func near(pieces []piece, size int64) int {
	n := 1
	for n < len(pieces) {
		gap := pieces[n].offset - pieces[n-1].offset - size
		length := pieces[n].offset + size - pieces[0].offset
		if gap > maxGap || length > maxRange {
			break
		}
		n++
	}
	return n
}
