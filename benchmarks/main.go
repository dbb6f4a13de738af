// Command benchmarks measures this library and its peers, and draws the pictures of the
// documentation. It writes RESULTS.md, ../docs/*.svg, and the figures in ../README.md.
//
//	go run .                 takes about 12 minutes on two cores, and 12 GB of memory; other
//	                         programs may run at the same time
//	go run . -quick          prints, in two minutes, the tables in which processors differ, with
//	                         at most 4 million keys; builds no program in another language
//	go run . -boost DIR      also measures Boost.Bloom: DIR is the directory that has boost/bloom.hpp
//	go run . -peer NAME=PROGRAM      also measures a program of the kind that process.go describes
//	go run . -format go      prints each sample as Go's benchmarks do, for benchstat, and writes no
//	                         file; may be combined with -quick
//	go run . -only REGEXP    prints only the tables, or rows of -growth, with a matching name
//	go run . -growth 1e9     prints the cost of a key for numbers of keys up to this one, as rows
//	                         for growth.md; takes an hour and 8 GB of memory
//	go run . -pictures       draws only the pictures that need no measurement
//
// Guava needs javac and Guava's jar ($GUAVA_JAR, or Debian's), fastbloom needs cargo, and -boost
// needs g++. The rows of Go libraries need only Go. If RESULTS.md lacks your processor, for example
// an arm64 one, run this with -quick and paste the output into an issue.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// workloads returns the tables to measure. programs has the processes to measure, by group.
func workloads(programs map[string][]process) []workload {
	all := append(slices.Clone(ours),
		bitsAndBlooms, bitsAndBloomsAdd, holimanBloom, blobBloom, dataSketches, boomFilters,
		ristretto, ipfsBbloom, parquetGo, xorFilter)
	few := append(slices.Clone(ours), bitsAndBlooms, holimanBloom, blobBloom)
	cpp := slices.Concat(pure(programs), programs["Boost.Bloom"], programs["others"])
	everything := slices.Concat(cpp, programs["fastbloom"], programs["Guava"])
	return []workload{
		{
			title: "In the cache",
			kind:  integers, n: 1e5, p: 0.01, quick: true,
			rows: slices.Concat(all, digestRows), processes: everything, orders: []*order{evenly},
		},
		{
			title: "In the cache, longer keys",
			kind:  uuids, n: 1e5, p: 0.01, quick: true,
			rows: few, processes: everything,
		},
		{
			title: "In the cache, keys that are not ready",
			kind:  built, n: 1e5, p: 0.01,
			rows: []row{few[0], few[2]}, // all keys of a batch must be ready
		},
		{
			title: "In the cache, one in a million",
			kind:  integers, n: 1e5, p: 1e-6, quick: true,
			rows: few, processes: cpp,
		},
		{
			title: "Beyond the cache",
			kind:  integers, n: 1e7, p: 0.01, quick: true,
			rows: slices.Concat(few, []row{parquetGo}, digestRows), processes: cpp,
			orders: []*order{evenly, skewed, zipf},
		},
		{
			title: "In memory",
			text: "These filters have more than 100 MB. A single look-up waits for memory. The " +
				"processor can begin the next look-up during that wait only if the call is " +
				"inlined and the hash is cheap, so C++ is faster there. Murmur3 with its 128 " +
				"bits is the price of Guava's bytes. A batch requests the memory of many keys " +
				"before it needs the first.",
			kind: integers, n: 1e8, p: 0.01,
			rows:      slices.Concat(ours, []row{bitsAndBlooms, blobBloom, parquetGo}),
			processes: slices.Concat(programs["Boost.Bloom"], programs["others"]),
		},
		{
			title: "Beyond the cache, one in a million",
			kind:  integers, n: 1e7, p: 1e-6,
			rows: few, processes: cpp,
		},
		{
			title: "A thousand filters, asked at random",
			kind:  inFilters, n: 1e7, p: 0.01,
			rows: manyFilters(), processes: programs["Boost.Bloom, many"],
		},
		{
			title: "Goroutines that share a filter, in the cache",
			kind:  integers, n: 1e5, p: 0.01,
			rows: shared(), reference: manyName + ", 1", turn: sharedTurn,
		},
		{
			title: "Goroutines that share a filter, beyond the cache",
			kind:  integers, n: 1e7, p: 0.01,
			rows: shared(), reference: manyName + ", 1", turn: sharedTurn,
		},
		{
			title: "Filters that grow and forget, beside one of known size",
			kind:  integers, n: 1e6, p: 0.01,
			rows: append([]row{ours[0]}, others...), reference: ours[0].name,
		},
		{
			title: "Filters with removal, in the cache",
			text:  removal + "0.76 full.",
			kind:  integers, n: 1e5, p: 0.01,
			rows: append(removers, seiflotfy, cuckooAsEmpty), reference: seiflotfy.name,
		},
		{
			title: "Filters with removal, beyond the cache",
			text:  removal + "0.60 full.",
			kind:  integers, n: 1e7, p: 0.01,
			rows: append(removers, seiflotfy, cuckooAsEmpty), reference: seiflotfy.name,
		},
		{
			title: "Which of many filters hold a key: 512 bits and three keys each; n is filters",
			kind:  integers, n: 1e5, p: 0.01,
			rows: banks, turn: 4, reference: banks[1].name,
		},
	}
}

// sharedTurn is the number of keys in a turn with goroutines. Starting them takes a small part of
// such a turn.
const sharedTurn = 50_000

const removal = "Additions to a cuckoo filter cost more the fuller it is. With n keys " +
	"cuckoo.Filter is 0.96 full, seiflotfy's "

// pure returns processes that run the rows of ours in a build without assembly.
func pure(found map[string][]process) (processes []process) {
	for _, program := range found["purego"] {
		for _, row := range ours {
			processes = append(processes, process{
				name: purego + row.name,
				args: append(slices.Clone(program.args), row.name),
			})
		}
	}
	return processes
}

const purego = "purego: "

// shared returns rows in which the keys are divided among one or two goroutines.
func shared() (rows []row) {
	for _, r := range append(slices.Clone(syncs), blobBloomSync, bitsAndBloomsLocked) {
		for _, goroutines := range []int{1, 2} {
			name := fmt.Sprintf("%s, %d", r.name, goroutines)
			rows = append(rows, row{name, r.note, func(n int, p float64) filter {
				return divided(r.make(n, p), goroutines)
			}})
		}
	}
	return rows
}

// divided returns f, but add and count divide their keys among goroutines.
func divided(f filter, goroutines int) filter {
	counts := make([]int, goroutines)
	each := func(ks keys, visit func(part keys, i int)) {
		var wait sync.WaitGroup
		for i := range goroutines {
			first, end := i*ks.len()/goroutines, (i+1)*ks.len()/goroutines
			wait.Add(1)
			go func() {
				defer wait.Done()
				visit(ks.slice(first, end-first), i)
			}()
		}
		wait.Wait()
	}
	return filter{bits: f.bits, reset: f.reset, fill: f.fill,
		add: func(ks keys) { each(ks, func(part keys, _ int) { f.add(part) }) },
		count: func(ks keys) (sum int) {
			each(ks, func(part keys, i int) { counts[i] = f.count(part) })
			for _, n := range counts {
				sum += n
			}
			return sum
		}}
}

func main() {
	quick := flag.Bool("quick", false,
		"print a few tables with only the Go rows and fewer rounds, and write nothing")
	onlyPictures := flag.Bool("pictures", false,
		"draw the pictures that need no measurement, and nothing else")
	growth := flag.Float64("growth", 0, "print how the cost of a key grows, up to that number of keys")
	only := regexp.MustCompile("")
	flag.Func("only", "print the tables whose titles match, or the rows of -growth; write nothing",
		func(text string) (err error) {
			only, err = regexp.Compile(text)
			return err
		})
	boost := flag.String("boost", "", "directory of Boost's headers")
	peers := map[string]string{}
	flag.Func("peer", "NAME=PROGRAM, a program to measure; see process.go", func(text string) error {
		name, program, found := strings.Cut(text, "=")
		if !found {
			return errors.New("has no =")
		}
		peers[name] = program
		return nil
	})
	format := flag.String("format", "markdown", "markdown, or go for the form that benchstat reads")
	serving := flag.Bool("serve", false, "measure a row for another process; see process.go")
	flag.Parse()
	debug.SetGCPercent(-1) // garbage is collected only while nothing is timed
	var err error
	switch {
	case *serving:
		err = serve(flag.Args())
	case *growth > 0:
		recordGrowth(*growth, only)
	case *onlyPictures:
		err = drawPictures(docs)
	case *format != "markdown" && *format != "go":
		err = fmt.Errorf("-format %s is neither markdown nor go", *format)
	default:
		err = record(*quick, *format == "go", *boost, peers, only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const docs = "../docs" // the directory of the pictures

func rounds(quick bool) int {
	if quick {
		return 100
	}
	return 300
}

// record measures tables. It prints the samples if samples is true, or the tables if quick is true
// or only is not empty. Otherwise it writes RESULTS.md, the pictures and the README.
func record(
	quick, samples bool, boost string, peers map[string]string, only *regexp.Regexp,
) error {
	dir, err := os.MkdirTemp("", "benchmarks-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r := report{quick: quick, began: time.Now(), load: load()}
	var found map[string][]process
	found, r.missing = builds(dir, boost, quick)
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		found["others"] = append(found["others"], process{name: name, args: []string{peers[name]}})
	}
	for _, w := range workloads(found) {
		if quick {
			if !w.quick {
				continue
			}
			w.n, w.orders = min(w.n, 4e6), nil
		}
		if !only.MatchString(w.title) {
			continue
		}
		began := time.Now()
		r.tables = append(r.tables, w.measure(rounds(quick))...)
		fmt.Fprintf(os.Stderr, "%s took %v\n", w.title, time.Since(began).Round(time.Second))
	}
	switch {
	case samples:
		return r.samples(os.Stdout)
	case quick || only.String() != "":
		_, err = fmt.Print(r.markdown())
		return err
	}
	return errors.Join(os.WriteFile("RESULTS.md", []byte(r.markdown()), 0o644),
		drawSpeed(filepath.Join(docs, "speed.svg"), r.tables[0]), drawPictures(docs),
		updateReadme("../README.md", r.tables))
}
