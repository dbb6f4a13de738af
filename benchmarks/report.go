package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// report is everything that RESULTS.md says.
type report struct {
	tables            []table
	shared            []table // of goroutines that share filters
	built             []freshness
	foreign           []foreign
	versions, missing []string
	load              string // of the machine, before
	elapsed           time.Duration
}

const method = `## How time is measured

Every row adds n keys to an empty filter (add), looks up keys that were added (present) and keys that were not (absent).
The keys lie ready in one array; the filters are made for n keys and the rate named, where they take one. All Go rows run
in one process, on one goroutine, in rounds: in each, every library does all three, starting with another one each time;
each timing covers at least %d keys, and absent keys are new ones each time where possible. Programs in other
languages run beside it, take their turn in the same rounds and sleep in between; the JVM's was warmed up before.
Emptying filters, making them and touching their memory for the first time does not count, nor does garbage collection
in Go, which happens between rounds.

Times are nanoseconds a key: the least of the rounds / their median. A star says that the slowest round took more than
1.5 times as long as the quickest. The least is what the code can do; the median is what a busy machine let it do. The row
"loop" passes over the keys without a library, which every other row does, too. [RESULTS.txt](RESULTS.txt) has every round.

Where a table has Go rows alone, n = 1e7, the keys are made a tenth at a time, between the timings. Each tenth is added to
every filter in turn and is a round, and ten rounds look keys up.

False positives are counted over a million absent keys, or ten million where p is 1e-6; a count of x is off by
about the root of x. Where a row expects fewer than ten, none are given. Allocations are per key added and per key looked up.

Where goroutines share a filter, they divide each round's keys among them. Times are those of the whole round, divided
by its keys.

`

// elsewhere are the measurements that have files of their own.
var elsewhere = [][2]string{
	{"GROWING.md", "filters that grow, from a thousand keys to 100 million"},
	{"BANK.md", "a thousand to ten million filters, asked at once"},
}

func (r *report) markdown(pictures string) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Results\n\nMade by `%s` in %v.\n\n", command(), r.elapsed.Round(time.Second))
	p("- Machine: %s%s\n- %s\n", machine(), r.load, strings.Join(append([]string{runtime.Version()}, r.versions...), "; "))
	p("- %s\n", strings.Join(modules(), "; "))
	for _, m := range r.missing {
		p("- Not measured: %s\n", m)
	}
	p("\n")
	r.short(p)
	p("![Time per key beside the peers](%s)\n\n", path.Join(pictures, "speed.svg"))
	p("## Other measurements\n\n")
	for _, file := range elsewhere {
		if _, err := os.Stat(file[0]); err == nil {
			p("- [%s](%s): %s.\n", file[0], file[0], file[1])
		}
	}
	p("\n")
	r.rates(p)
	r.ratios(p)
	r.goroutines(p)
	if len(r.built) > 0 {
		r.fresh(p)
	}
	tables := slices.Clone(r.tables)
	slices.SortStableFunc(tables, func(a, b table) int { return a.n - b.n })
	for i, t := range tables {
		if i == 0 || t.n != tables[i-1].n {
			p("## n = %s\n\n", short(t.n))
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
	for _, s := range sharers {
		p("- %s, shared by goroutines: %s.\n", s.name, s.note)
	}
	return b.String()
}

// command is what made the report, without the folders of the machine.
func command() string {
	s := "go run ."
	flag.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "o", "docs":
		case "boost":
			s += " -boost DIR"
		default:
			s += " -" + f.Name
		}
	})
	return s
}

// load says how busy the machine was in the last minute, where the system says it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return "; before, its load was " + strings.Fields(string(text))[0]
}

// in returns the table of n keys of 8 bytes at rate p.
func (r *report) in(n int, p float64) (table, bool) {
	for _, t := range r.tables {
		if t.n == n && t.p == p && t.kind.width == 8 {
			return t, true
		}
	}
	return table{}, false
}

// short writes the table that the README has, too.
func (r *report) short(p func(string, ...any)) {
	t, ok := r.in(1e5, rate)
	if !ok {
		return
	}
	p("## In short\n\nNanoseconds a key: n = %s, p = 1 %%, keys of 8 bytes, one goroutine. The filters fit the processor's cache. "+
		"The least of %d rounds / their median; a star says that they [spread](#how-time-is-measured).\n\n", short(t.n), len(t.results[0].times[add]))
	p("| | add | present | absent | bits a key |\n|---|---|---|---|---|\n")
	for _, row := range [][2]string{
		{"bloom.Filter", "`bloom.Filter`"},
		{"bloom.Filter.Batch", "`bloom.Filter`, batches"},
		{"bloom.SyncFilter", "`bloom.SyncFilter`"},
		{"blocked.Filter", "`blocked.Filter`"},
		{"blocked.Filter.Batch", "`blocked.Filter`, batches"},
		{"blocked.SyncFilter", "`blocked.SyncFilter`"},
		{"bits-and-blooms.Add", "bits-and-blooms, `Add`, which reports nothing"},
		{"bits-and-blooms.TestOrAdd", "bits-and-blooms, `TestOrAdd`"},
		{"holiman", "holiman, with xxHash"},
		{"parquet-go", "parquet-go, with xxHash; 1.3 %"},
		{"parquet-go.InsertBulk", "parquet-go, `InsertBulk`"},
		{"fastbloom.foldhash", "fastbloom with foldhash, in Rust"},
		{"guava", "Guava, on the JVM"},
	} {
		res := t.find(row[0])
		if res == nil {
			continue
		}
		p("| %s |", row[1])
		for op := range ops {
			ns := res.spread(op)
			if row[0] == "bits-and-blooms.Add" && op != add { // the same code, measured in the other row
				if other := t.find("bits-and-blooms.TestOrAdd"); other != nil {
					ns = other.spread(op)
				}
			}
			p(" %s |", ns)
		}
		p(" %.1f |\n", res.bitsPerKey)
	}
	p("\n")
}

func (t table) markdown(p func(string, ...any)) {
	beside := ""
	if t.find("holiman") == nil && t.find("boost.classic") != nil {
		beside = ", beside Boost"
	}
	p("p = %s, keys of %s%s:\n\n", general(t.p), strings.Replace(t.kind.name, "B", " bytes", 1), beside)
	p("| | add, ns | present, ns | absent, ns | bits/key | false positives | allocs |\n|---|---|---|---|---|---|---|\n")
	for _, r := range t.results {
		if r.err != nil {
			p("| %s | failed: %v | | | | | |\n", r.name, r.err)
			continue
		}
		p("| %s |", r.name)
		for op := range ops {
			p(" %s |", r.spread(op))
		}
		if r.name == loop {
			p(" | | |\n")
			continue
		}
		p(" %.2f | %s | ", r.bitsPerKey, r.percent(t.p))
		if !math.IsNaN(r.allocs[0]) {
			p("%.2g", round(r.allocs[0]))
			if !math.IsNaN(r.allocs[1]) {
				p(", %.2g", round(r.allocs[1]))
			}
		}
		p(" |\n")
	}
	p("\n%s\n\n", t.rounds())
}

// spread writes the least and the median of an operation's rounds.
func (r *result) spread(op int) string { return spread(r.times[op]) }

func spread(times []float64) string {
	switch {
	case math.IsNaN(times[0]):
		return ""
	case spreads(times):
		return fmt.Sprintf("%.1f / %.1f *", quantile(times, 0), quantile(times, 0.5))
	}
	return fmt.Sprintf("%.1f / %.1f", quantile(times, 0), quantile(times, 0.5))
}

// spreads reports whether the slowest round took more than 1.5 times as long as the
// quickest.
func (r *result) spreads(op int) bool { return spreads(r.times[op]) }

func spreads(times []float64) bool { return quantile(times, 1) > 1.5*quantile(times, 0) }

// percent writes the rate, unless too few false positives happen at p to know it.
func (r *result) percent(p float64) string {
	if math.IsNaN(r.rate) || p*float64(r.probes) < enough {
		return ""
	}
	if p < 1e-3 {
		return strings.Replace(fmt.Sprintf("%.1e", r.rate), "e-0", "e-", 1)
	}
	return fmt.Sprintf("%.2f %%", 100*r.rate)
}

// rounds says how many rounds there were.
func (t table) rounds() string {
	usual := []int{}
	for op := range ops {
		usual = append(usual, len(t.results[0].times[op]))
	}
	s := fmt.Sprintf("%d rounds", usual[add])
	if usual[present] != usual[add] {
		s += fmt.Sprintf(", %d of look-ups", usual[present])
	}
	for _, r := range t.results {
		if n := len(r.times[add]); n != usual[add] && r.err == nil {
			s += fmt.Sprintf("; %s: %d", r.name, n)
		}
	}
	return s + "."
}

// round drops what is less than a thousandth per key: the runtime's own, or a
// constant number per pass.
func round(allocs float64) float64 { return math.Round(allocs*1000) / 1000 }

// rates sets the classic and the blocked filter side by side at every rate.
func (r *report) rates(p func(string, ...any)) {
	p("## Classic and blocked, by rate\n\nFrom the tables below, of keys of 8 bytes.\n\n")
	p("| n | p | | bits/key | add, ns | present, ns | absent, ns |\n|---|---|---|---|---|---|---|\n")
	for _, t := range r.tables {
		if t.kind.width != 8 {
			continue
		}
		if t.n >= 1e7 && t.find("boost.classic") == nil && len(r.foreign) > 0 { // the other table of that size is interleaved with more
			continue
		}
		for _, name := range []string{"bloom.Filter", "bloom.Filter.Batch", "boost.classic", "boost.classic.bulk", "blocked.Filter", "blocked.Filter.Batch", "boost.blocked", "boost.blocked.bulk"} {
			if res := t.find(name); res != nil {
				p("| %s | %s | %s | %.2f | %s | %s | %s |\n", short(t.n), general(t.p), name, res.bitsPerKey, res.spread(add), res.spread(present), res.spread(absent))
			}
		}
	}
	p("\n")
}

// ratios compares pairs of rows.
func (r *report) ratios(p func(string, ...any)) {
	pairs := [][2]string{
		{"bloom.Filter", "bits-and-blooms.Add"},
		{"bloom.Filter", "bits-and-blooms.TestOrAdd"},
		{"bloom.Filter", "holiman"},
		{"bloom.Filter", "guava"},
		{"bloom.Filter", "fastbloom.foldhash"},
		{"bloom.Filter.Batch", "boost.classic.bulk"},
		{"blocked.Filter.Batch", "boost.blocked.bulk"},
		{"bloom.SyncFilter", "bloom.Filter"},
		{"bloom.SyncFilter.Batch", "bloom.SyncFilter"},
		{"blocked.SyncFilter.Batch", "blocked.SyncFilter"},
		{"bloom.Filter.Batch", "bloom.Filter"},
		{"blocked.Filter", "bloom.Filter"},
		{"blocked.Filter", "parquet-go"},
		{"blocked.Filter", "blobloom"},
		{"blocked.SyncFilter", "blocked.Filter"},
		{"blocked.Filter.Batch", "blocked.Filter"},
		{"blocked.Filter.Batch", "parquet-go.InsertBulk"},
		{"blocked.Filter.Batch", "parquet-go"},
	}
	p("## Ratios\n\nHow many times as fast the first is as the second, from the least of their rounds. Less than 1 means slower. A star says that rounds of one of them spread.\n\n")
	p("| | against | n | p | keys | add | present | absent |\n|---|---|---|---|---|---|---|---|\n")
	for _, pair := range pairs {
		for i, t := range r.tables {
			ours, theirs := t.find(pair[0]), t.find(pair[1])
			if ours == nil || theirs == nil || t.kind.width > 36 || t.p == 1e-4 {
				continue
			}
			if slices.ContainsFunc(r.tables[i+1:], func(later table) bool {
				return later.n == t.n && later.p == t.p && later.kind.name == t.kind.name && later.find(pair[1]) != nil
			}) {
				continue // that table has the Go rows
			}
			p("| %s | %s | %s | %s | %s |", pair[0], pair[1], short(t.n), general(t.p), t.kind.name)
			for op := range ops {
				if ratio := theirs.least(op) / ours.least(op); !math.IsNaN(ratio) {
					p(" %.2f", ratio)
					if ours.spreads(op) || theirs.spreads(op) {
						p(" *")
					}
				} else {
					p(" ")
				}
				p(" |")
			}
			p("\n")
		}
	}
	p("\n")
}

func (r *report) goroutines(p func(string, ...any)) {
	if len(r.shared) == 0 {
		return
	}
	p("## Goroutines that share a filter\n\nKeys of 8 bytes, p = 1 %%. Beside the time for a key, how many times as fast that is as with one goroutine.\n\n")
	for _, t := range r.shared {
		p("| n = %s | goroutines | add, ns | | present, ns | | bits/key |\n|---|---|---|---|---|---|---|\n", short(t.n))
		for _, s := range sharers {
			one := t.find(sharedName(s, 1))
			for _, g := range goroutines() {
				res := t.find(sharedName(s, g))
				p("| %s | %d | %s | %.2f | %s | %.2f | %.2f |\n", s.name, g, res.spread(add), one.least(add)/res.least(add),
					res.spread(present), one.least(present)/res.least(present), res.bitsPerKey)
			}
		}
		p("\n%s\n\n", t.rounds())
	}
}

func (r *report) fresh(p func(string, ...any)) {
	p("## Keys that were just built\n\n" +
		"Look-ups of present keys, n = 1e5, p = 1 %%, nanoseconds. Stored keys lie ready; built ones are put together in a buffer just before each look-up, " +
		"and its bytes are still on their way to memory. Building them counts. All filters are called through a function value.\n\n")
	p("| key | filter | stored, ns | built, ns |\n|---|---|---|---|\n")
	rounds := 0
	for _, f := range r.built {
		p("| %s | %s | %s | %s |\n", f.recipe, f.filter, spread(f.stored), spread(f.built))
		rounds = len(f.built)
	}
	p("\n%d rounds.\n\n", rounds)
}

// raw writes every round in the form that benchstat reads.
func (r *report) raw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: github.com/seed79a3ff49/bloom/benchmarks\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, machine())
	write := func(times []float64, name string, args ...any) {
		name = strings.ReplaceAll(fmt.Sprintf("Benchmark/"+name, args...), " ", "_")
		for _, ns := range times {
			if !math.IsNaN(ns) {
				fmt.Fprintf(&b, "%s 1 %.2f ns/key\n", name, ns)
			}
		}
	}
	for i, t := range slices.Concat(r.tables, r.shared) {
		for _, res := range t.results {
			for op, name := range opNames {
				write(res.times[op], "lib=%s/op=%s/n=%s/p=%s/key=%s/table=%d", res.name, name, short(t.n), general(t.p), t.kind.name, i)
			}
		}
	}
	for _, f := range r.built {
		write(f.stored, "lib=%s/op=present/n=1e5/p=0.01/key=%s/made=before", f.filter, f.recipe)
		write(f.built, "lib=%s/op=present/n=1e5/p=0.01/key=%s/made=now", f.filter, f.recipe)
	}
	return b.String()
}

// modules returns the versions of what is compared.
func modules() (list []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	compared := []string{"bits-and-blooms/", "holiman/", "blobloom", "datasketches", "BoomFilters", "ristretto", "bbloom", "parquet-go/parquet-go", "FastFilter", "xxhash", "spaolacci/murmur3"}
	for _, m := range info.Deps {
		if slices.ContainsFunc(compared, func(name string) bool { return strings.Contains(m.Path, name) }) {
			list = append(list, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
		}
	}
	return list
}
