package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// report is everything that RESULTS.md says.
type report struct {
	tables            []table
	scaling           []scaling
	foreign           []foreign
	versions, missing []string
	elapsed           time.Duration
}

const method = `## How time is measured

Every row adds the same n keys to an empty filter (add), looks up keys that were added (present) and keys that were not
(absent). The keys lie ready in one array; the filters are made for n keys and a false-positive rate of 1 %% where they
take one. All Go rows run in one process, on one goroutine, in rounds: in each, every library does all three, starting
with another one each time; each timing covers at least %d keys, and absent keys are new ones each time where possible.
Programs in other languages run beside it, take their turn in the same rounds and sleep in between; the JVM's was warmed
up before. From each time is taken, within its round and its program, that of the same loop without a call to any
library. Emptying filters, making them and touching their memory for the first time does not count, nor does garbage
collection in Go, which happens between rounds. Times are nanoseconds per key: the median of the rounds, and in brackets
the quartiles. At n = 1e9 the keys are made a million at a time, between the timings, and each million is a round.

False positives are counted over a million absent keys, whose sampling error at 1 %% is 0.01 %%. Allocations are per key
added and per key looked up.

`

func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Results\n\nMade by `%s` in %v.\n\n", strings.TrimSpace("go run . "+strings.Join(os.Args[1:], " ")), r.elapsed.Round(time.Second))
	p("- Machine: %s\n- %s\n", machine(), strings.Join(append([]string{runtime.Version()}, r.versions...), "; "))
	p("- %s\n", strings.Join(modules(), "; "))
	for _, m := range r.missing {
		p("- Not measured: %s\n", m)
	}
	p("\n![Time per key at n = 1e5, keys of 8 bytes](chart.svg)\n\n")
	r.ratios(p)
	r.goroutines(p)
	for i, t := range r.tables {
		if i == 0 || t.n != r.tables[i-1].n {
			p("## n = %s\n\n", power(t.n))
		}
		t.markdown(p)
	}
	p(method, minKeys)
	p("## The rows\n\n")
	for _, lib := range libraries {
		if lib.note != "" {
			p("- %s: %s.\n", lib.name, lib.note)
		}
	}
	for _, f := range r.foreign {
		p("- %s: %s.\n", f.name, f.note)
	}
	return b.String()
}

func (t table) markdown(p func(string, ...any)) {
	p("Keys of %s:\n\n", strings.Replace(t.kind.name, "B", " bytes", 1))
	p("| | add, ns | present, ns | absent, ns | bits/key | false positives | allocs |\n|---|---|---|---|---|---|---|\n")
	for _, r := range t.results {
		if r.err != nil {
			p("| %s | failed: %v | | | | | |\n", r.name, r.err)
			continue
		}
		p("| %s |", r.name)
		for op := range ops {
			if math.IsNaN(r.median(op)) {
				p(" |")
			} else {
				p(" %.1f (%.1f–%.1f) |", r.median(op), quantile(r.net[op], 0.25), quantile(r.net[op], 0.75))
			}
		}
		if r.name == loop {
			p(" | | |\n")
			continue
		}
		p(" %.2f |", r.bitsPerKey)
		if !math.IsNaN(r.rate) {
			p(" %.2f %%", 100*r.rate)
		}
		p(" | ")
		if !math.IsNaN(r.allocs[0]) {
			p("%.2g", round(r.allocs[0]))
			if !math.IsNaN(r.allocs[1]) {
				p(", %.2g", round(r.allocs[1]))
			}
		}
		p(" |\n")
	}
	p("\nMedians of %d rounds.\n\n", len(t.results[0].net[add]))
}

// round drops what is less than a thousandth per key: the runtime's own, or a
// constant number per pass.
func round(allocs float64) float64 { return math.Round(allocs*1000) / 1000 }

// ratios compares pairs of rows.
func (r *report) ratios(p func(string, ...any)) {
	pairs := [][2]string{
		{"bloom.Filter", "bits-and-blooms"},
		{"bloom.Filter", "holiman"},
		{"bloom.Filter", "guava"},
		{"bloom.SyncFilter", "bloom.Filter"},
		{"blocked.Filter", "parquet-go"},
		{"blocked.Filter.Batch", "blocked.Filter"},
		{"bloom.Filter.Batch", "bloom.Filter"},
	}
	p("## Ratios\n\nHow many times as fast the first is as the second, from the medians below.\n\n")
	p("| | against | n | keys | add | present | absent |\n|---|---|---|---|---|---|---|\n")
	for _, pair := range pairs {
		for _, t := range r.tables {
			ours, theirs := t.find(pair[0]), t.find(pair[1])
			if ours == nil || theirs == nil || theirs.err != nil {
				continue
			}
			if !(t.n == 1e5 && t.kind.width < 80 || t.n == 1e9) {
				continue
			}
			p("| %s | %s | %s | %s |", pair[0], pair[1], power(t.n), t.kind.name)
			for op := range ops {
				p(" %.2f |", theirs.median(op)/ours.median(op))
			}
			p("\n")
		}
	}
	p("\n")
}

func (r *report) goroutines(p func(string, ...any)) {
	p("## SyncFilter, two goroutines\n\nAdding n keys of 8 bytes to one filter, the loop included.\n\n")
	p("| n | one goroutine, ns per key | two, half the keys each | times as fast |\n|---|---|---|---|\n")
	for _, s := range r.scaling {
		p("| %s | %.1f | %.1f | %.2f |\n", power(s.n), s.one, s.two, s.one/s.two)
	}
	p("\n")
}

// modules returns the versions of what is compared.
func modules() (list []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range info.Deps {
		for _, name := range []string{"bits-and-blooms/", "holiman/", "BoomFilters", "ristretto", "bbloom", "parquet-go/parquet-go", "FastFilter", "xxhash", "murmur3"} {
			if strings.Contains(m.Path, name) {
				list = append(list, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
				break
			}
		}
	}
	return list
}
