package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"strconv"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// Filters of different sizes have different false positives. Each reports none of m names with a
// probability of about e^(-m*p), if p is small. So build --never makes filters, each 64 bits larger
// than the one before, until one reports none of the names: about e^(m*p) filters on average.

// neverMost is the largest m*p. With it and a small p, build makes about twenty filters on average,
// and needs more than neverTries with a probability below 1e-20.
const (
	neverMost  = 3
	neverTries = 1000
)

// never has the names that a new filter must not report.
type never struct {
	path  string
	read  *lines.Config
	names map[bloom.Hash]bool // true: the name is also a line of the input
}

// readNever reads the names in the file at path as cfg reads the lines of the input.
func readNever(ctx context.Context, path string, cfg *lines.Config) (*never, error) {
	info, err := os.Stat(path)
	switch {
	case path == lines.Stdin, err == nil && !info.Mode().IsRegular():
		return nil, usageError{fmt.Errorf(
			"--never %s: the names are read twice, so they must be in a regular file", path)}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, cause(err))
	}
	read := *cfg
	read.Names = []string{path}
	read.Counts = new(lines.Counts)
	n := &never{path: path, read: &read, names: map[bloom.Hash]bool{}}
	err = scan(ctx, n.read, "", func(b *lines.Batch) (int, error) {
		for _, h := range b.Hashes {
			n.names[h] = false
		}
		return 0, nil
	})
	warnInput(n.read)
	return n, err
}

// checkRate returns an error if build would have to make too many filters before one reports none
// of the names.
func (n *never) checkRate(p float64) error {
	expected := float64(len(n.names)) * p
	if expected <= neverMost {
		return nil
	}
	least := neverMost / float64(len(n.names))
	digit := math.Pow10(int(math.Floor(math.Log10(least))) - 1)
	return usageError{fmt.Errorf("%s has %s, of which a filter at a rate of %v reports %.3g: "+
		"-p %.2g is low enough", n.path, counted(uint64(len(n.names)), "name"), p, expected,
		math.Floor(least/digit)*digit)}
}

// build makes a filter that has the lines of cfg and reports none of the names. It first tries the
// size that create chooses for room lines or, if room is 0, for about the number of different
// lines.
func (n *never) build(ctx context.Context, cfg *lines.Config, room uint64,
	create func(n uint64) (hashFilter, error),
) (hashFilter, error) {
	file, err := temporary("bloom-build-*")
	if err != nil {
		return nil, err
	}
	defer discard(file)
	different, all, err := spool(ctx, cfg, file)
	if err != nil {
		return nil, err
	}
	if err := n.checkInput(ctx, file); err != nil {
		return nil, err
	}
	if room == 0 {
		room = different.count()
	}
	first, err := create(room)
	if err != nil {
		return nil, err
	}
	info := first.Info()
	s := first.Stats()
	for try := range uint64(neverTries) {
		f, err := bloom.NewSize(s.M+64*try, s.K)
		if err != nil {
			return nil, err
		}
		phase := fmt.Sprintf("making filter %d, until one reports no name", try+1)
		if err := addSpooled(ctx, f, file, doing(phase, all)); err != nil {
			return nil, err
		}
		if n.spares(f) {
			f.UpdateInfo(func(i *bloom.Info) { *i = info })
			if held := f.ApproxCount(); held > room+room/100 { // the count is an estimate
				warnTooMany(f, held)
			}
			return f, nil
		}
	}
	return nil, fmt.Errorf("filters of %d sizes all report a line of %s: choose a lower -p",
		neverTries, n.path)
}

func (n *never) spares(f *bloom.Filter) bool {
	for h := range n.names {
		if f.ContainsHash(h) {
			return false
		}
	}
	return true
}

// checkInput returns an error if a name is also a line of the input. file has the digests of the
// input.
func (n *never) checkInput(ctx context.Context, file io.ReadSeeker) error {
	both := 0
	err := eachSpooled(ctx, file, func(hs []bloom.Hash) error {
		for _, h := range hs {
			if again, isName := n.names[h]; isName && !again {
				n.names[h] = true
				both++
			}
		}
		return nil
	})
	if err != nil || both == 0 {
		return err
	}
	var name string
	err = scan(ctx, n.read, "", func(b *lines.Batch) (int, error) {
		for i, h := range b.Hashes {
			if n.names[h] {
				line := b.Line(i)
				name = string(line[:len(line)-1]) // without its delimiter
				return 0, errFound
			}
		}
		return 0, nil
	})
	if err != nil && err != errFound {
		return err
	}
	return fmt.Errorf("%q is in the input and in %s%s: a filter reports every line that it has",
		name, n.path, andMore(both-1))
}

func andMore(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %s)", counted(uint64(more), "more line"))
}

// neverOf returns the number of names that f certainly does not report (build --never), or 0.
func neverOf(f informed) uint64 {
	n, err := strconv.ParseUint(factsOf(f).Get(neverFact), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// dropNever records that f may report some of the names from now on. Call it before adding lines.
func dropNever(f infoHolder, path string) {
	if n := neverOf(f); n > 0 {
		changeFacts(f, func(facts url.Values) { facts.Set(neverFact, "0") })
		warnNever(path, n)
	}
}

func warnNever(path string, n uint64) {
	warn("%s was made to report none of %s (--never), but may report some now",
		path, counted(n, "name"))
}

var errNeverType = errors.New("--never needs --type guava: a larger filter of another type " +
	"reports mostly the same lines, or changes its size later")
