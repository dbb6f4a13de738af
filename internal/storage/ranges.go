package storage

import (
	"cmp"
	"io"
	"slices"
	"sync"

	"github.com/seed79a3ff49/bloom/internal/form"
)

const (
	// maxRequests is the largest number of requests of one look-up that run at the same time.
	maxRequests = 64
	// maxGap is the largest number of bytes between two ranges that are read with them.
	maxGap = 16 << 10
	// maxRange is the largest number of bytes that one request asks for.
	maxRange = 256 << 10
)

// Ranges looks keys up in the bytes of r, for package pkg. A step of a key needs the size bytes
// that begin at at(key, step). A key is found if has, given these, is true for each of its steps.
// Calls of has do not overlap.
//
// Ranges takes 1, 2, 4 and so on of a key's steps together, and no more steps of a key once
// one of them has failed. It sorts the ranges of all keys and joins those that are near. On error
// it sets all of found to true: a key that could not be looked up may be there.
func Ranges(
	pkg string, r io.ReaderAt, found []bool, steps int, size int64,
	at func(key, step int) int64, has func(key, step int, data []byte) bool,
) error {
	type piece struct {
		at        int64
		key, step int
	}
	all := make([]bool, len(found))
	for key := range all {
		all[key] = steps > 0
	}
	var mu sync.Mutex
	var failure error
	var pieces []piece
	for done, next := 0, 1; done < steps && failure == nil; done, next = next, min(2*next+1, steps) {
		pieces = pieces[:0]
		for key, alive := range all {
			for step := done; step < next && alive; step++ {
				pieces = append(pieces, piece{at(key, step), key, step})
			}
		}
		slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.at, b.at) })
		var wg sync.WaitGroup
		tokens := make(chan struct{}, maxRequests)
		for rest := pieces; len(rest) > 0; {
			from, n := rest[0].at, 1
			for n < len(rest) && rest[n].at-rest[n-1].at <= size+maxGap && rest[n].at+size-from <= maxRange {
				n++
			}
			group := rest[:n]
			rest = rest[n:]
			tokens <- struct{}{}
			wg.Add(1)
			go func() {
				defer func() { <-tokens; wg.Done() }()
				mu.Lock()
				failed := failure != nil
				mu.Unlock()
				if failed {
					return
				}
				data, err := form.ReadAt(pkg, r, from, group[n-1].at+size-from)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					if failure == nil {
						failure = err
					}
					return
				}
				for _, p := range group {
					all[p.key] = all[p.key] && has(p.key, p.step, data[p.at-from:][:size])
				}
			}()
		}
		wg.Wait()
	}
	if failure != nil {
		SetAll(found)
		return failure
	}
	copy(found, all)
	return nil
}

// SetAll sets all of found to true.
func SetAll(found []bool) {
	for i := range found {
		found[i] = true
	}
}

// ParseAt returns the header and the Info of the size bytes of r in Guava's form, with a
// trailer or without. It makes two requests, for these.
func ParseAt(pkg string, r io.ReaderAt, size int64) (h form.Header, info form.Info, err error) {
	data, err := form.ReadAt(pkg, r, 0, max(0, min(size, form.HeaderSize)))
	if err != nil {
		return h, info, err
	}
	trailer := 0
	if h, err = form.ParseHeader(pkg, data); err == nil {
		trailer, err = h.CheckSize(pkg, size)
	}
	if err != nil {
		return h, info, form.RefusedAt(pkg, r, size, err)
	}
	if trailer > 0 {
		var end []byte
		if end, err = form.ReadAt(pkg, r, h.Size(), int64(trailer)); err == nil {
			info, err = form.ParseTrailer(pkg, data, end)
		}
	}
	return h, info, err
}
