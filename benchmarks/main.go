// Command benchmarks measures this library beside its peers, and draws the pictures of
// the documentation. It writes RESULTS.md, RESULTS.txt and ../docs/*.svg.
//
//	go run .                 about five minutes, and 3 GB of memory
//	go run . -quick          fewer rounds, and a million keys at most
//	go run . -boost DIR      Boost.Bloom too: DIR is the folder that has boost/bloom.hpp
//	go run . -billion        also n = 1e9: half an hour more, and 12 GB of memory
//	go run . -pictures       only the pictures that need no measuring: some seconds
//	go run . -growing        filters that grow, instead: the tables of GROWING.md
//	go run . -bank 1e6       banks of up to so many members, instead: the tables of BANK.md
//
// Guava is measured where javac and a guava.jar are found, Rust's fastbloom
// where cargo is; the rest needs Go alone. RESULTS.txt has every round, for benchstat:
//
//	benchstat -filter '/n:1e5 /op:add' -col /lib RESULTS.txt
//
// The Go rows are go benchmarks, too:
//
//	go test -bench '/lib=bloom.*/op=add/n=1e5' -count 10 | tee new.txt
//	benchstat -col /lib new.txt
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// table is one n, one rate and one kind of key.
type table struct {
	n       int
	p       float64
	kind    kind
	results []*result
}

func (t table) find(name string) *result {
	for _, r := range t.results {
		if r.name == name && r.err == nil {
			return r
		}
	}
	return nil
}

func main() {
	quick := flag.Bool("quick", false, "measure fewer rounds, and a million keys at most")
	billion := flag.Bool("billion", false, "measure n = 1e9 too, with keys of 8 bytes")
	others := flag.Bool("foreign", true, "measure libraries in other languages too")
	pictures := flag.Bool("pictures", false, "draw the pictures that need no measuring, and nothing else")
	growing := flag.Bool("growing", false, "measure filters that grow, and nothing else")
	most := flag.Float64("most", 1e8, "the largest number of keys for -growing")
	boost := flag.String("boost", "", "folder of Boost's headers")
	members := flag.Float64("bank", 0, "measure banks of up to so many members, and nothing else")
	cold := flag.String("cold", "", "for -bank: a folder for a file of 480 MB, to be asked from disk")
	out := flag.String("o", ".", "directory of RESULTS.md")
	docs := flag.String("docs", filepath.Join("..", "docs"), "directory of the pictures")
	flag.Parse()
	do := func() error { return record(*quick, *billion, *others, *boost, *out, *docs) }
	switch {
	case *growing:
		do = func() error { return measureGrowing(int(*most), *docs) }
	case *members > 0:
		do = func() error { return measureBank(int(*members), *docs, *cold) }
	case *pictures:
		do = func() error { return drawPictures(*docs) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// record measures everything and writes it down.
func record(quick, billion, others bool, boost, out, docs string) error {
	// Garbage is collected between rounds only.
	debug.SetGCPercent(-1)

	r := report{load: load()}
	if others {
		dir, err := os.MkdirTemp("", "benchmarks-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		progress("building foreign programs")
		r.foreign, r.versions, r.missing = buildForeign(dir, boost)
		for _, m := range r.missing {
			progress("%s", m)
		}
	}
	start := time.Now()
	lim, small, large := limits{25, 15 * time.Second, minKeys}, int(1e5), int(1e7)
	if quick {
		lim, large = limits{fewest, time.Second, minKeys}, 1e6
	}
	var failed error
	// step measures a table and writes all there are, so that a run that is interrupted
	// leaves what it measured.
	step := func(to *[]table, measure func() table, format string, args ...any) {
		progress(format, args...)
		*to = append(*to, measure())
		r.elapsed = time.Since(start)
		failed = errors.Join(failed, r.write(out, docs))
	}
	for _, k := range kinds {
		step(&r.tables, func() table { return compare(k, small, rate, libraries, r.foreign, lim) }, "n = %s, keys of %s", short(small), k.name)
	}
	ours := only(func(l library) bool {
		return strings.HasPrefix(l.name, "bloom.Filter") || strings.HasPrefix(l.name, "blocked.Filter")
	})
	fast := slices.DeleteFunc(slices.Clone(r.foreign), func(f foreign) bool { return f.slow })
	besideBoost := func(p float64) {
		step(&r.tables, func() table { return compare(kinds[0], large, p, ours, fast, lim) }, "n = %s, p = %g, beside Boost", short(large), p)
	}
	besideBoost(rate)
	adaptable := only(func(l library) bool { return !l.fixed })
	for _, p := range []float64{1e-4, 1e-6} {
		step(&r.tables, func() table { return compare(kinds[0], small, p, adaptable, r.foreign, lim) }, "n = %s, p = %g", short(small), p)
	}
	step(&r.shared, func() table { return compare(kinds[0], small, rate, shared(), nil, lim) }, "goroutines")
	besideBoost(1e-6)
	step(&r.tables, func() table { return compareLarge(large, rate, only(func(l library) bool { return !l.static })) }, "n = %s", short(large))
	step(&r.tables, func() table {
		return compareLarge(large, 1e-6, only(func(l library) bool { return l.big && !l.fixed }))
	}, "n = %s, p = 1e-6", short(large))
	step(&r.shared, func() table { return compareLarge(large, rate, shared()) }, "goroutines, n = %s", short(large))
	if billion {
		step(&r.tables, func() table { return compareLarge(1e9, rate, only(func(l library) bool { return l.big })) }, "n = 1e9")
	}
	progress("keys that were just built")
	r.built = compareBuilt(lim.rounds)
	r.elapsed = time.Since(start)
	return errors.Join(failed, r.write(out, docs), drawPictures(docs))
}

// write writes RESULTS.md and what belongs to it.
func (r *report) write(out, docs string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	pictures, err := relative(out, docs)
	return errors.Join(err,
		r.speed().write(filepath.Join(docs, "speed.svg")),
		os.WriteFile(filepath.Join(out, "RESULTS.txt"), []byte(r.raw()), 0o644),
		os.WriteFile(filepath.Join(out, "RESULTS.md"), []byte(r.markdown(pictures)), 0o644))
}

// relative returns how one directory is reached from another, for a link.
func relative(from, to string) (string, error) {
	from, err1 := filepath.Abs(from)
	to, err2 := filepath.Abs(to)
	if err1 != nil || err2 != nil {
		return "", fmt.Errorf("%v, %v", err1, err2)
	}
	path, err := filepath.Rel(from, to)
	return filepath.ToSlash(path), err
}

// only returns the loop and the other libraries that are wanted.
func only(wanted func(library) bool) (rows []library) {
	for _, lib := range libraries {
		if lib.name == loop || wanted(lib) {
			rows = append(rows, lib)
		}
	}
	return rows
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}
