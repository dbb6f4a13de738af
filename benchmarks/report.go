package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// report has the content of RESULTS.md.
type report struct {
	quick   bool
	rounds  int
	load    string // the text of waitIdle
	quiet   *quiet
	began   time.Time
	missing []string // the rows that were not measured, with the reasons
	tables  []table
}

// table is a workload and its results.
type table struct {
	workload
	results []*result
	twice   bool // the table was measured twice, because of stars
	turns   int
	repeats int // the number of turns that were repeated
}

func (r *report) add(t table) {
	t.rows, t.processes = nil, nil // they keep filters in memory
	r.tables = append(r.tables, t)
}

const method = `
Each row adds n keys to an empty filter. Then it looks up keys that were added (present) and keys
that were not (absent). The keys are ready in one array. All Go rows run in one process. They run on
one goroutine, except in the tables of goroutines. In each round every row has a turn, with programs
in other languages and the build without assembly. Each round begins with another row. A timing
covers at least 100,000 keys. In the table of banks it covers 500 look-ups.

Times are nanoseconds a key. They are the least of %d rounds, or of %d rounds if n is 1e7. The
spread is the median divided by the least time, for the operation for which this is largest. A star
marks a spread above 1.25: the machine was busy. Before and after each turn of a row a calibration
runs: fixed work, in registers and in 64 MiB of memory. If it takes longer than usual, or if the
host took the processor away during the turn, the turn is repeated, up to three times. A table with
stars in more than one row in ten is measured again. Times leave out making filters, emptying them,
touching their memory for the first time and collecting garbage.

False positives are counted over a million absent keys. They are left out if fewer than ten are
expected. The column purego has the times of Go code without assembly: add / present / absent. All
processors but amd64 with AVX2 and arm64 run that code. If your processor is not here,
` + "`go run . -quick`" + ` prints the tables in which processors differ, in about five minutes.
`

func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	options, picture := "", "\n![Nanoseconds a key beside the peers](../docs/speed.svg)\n"
	if r.quick {
		options, picture = " -quick", ""
	}
	took := time.Since(r.began).Round(time.Second)
	p("# Results\n\nMade by `cd benchmarks && go run .%s` in %v on %s (%s), with %s.\n",
		options, took, machine(), r.load, runtime.Version())
	if r.quiet != nil {
		p("Of %d turns %d were repeated.\n", r.quiet.turns, r.quiet.repeats)
	}
	p(method+picture, r.rounds, min(r.rounds, fewRounds))
	for _, m := range r.missing {
		p("\nNot measured: %s\n", strings.TrimSpace(m))
	}
	for _, t := range r.tables {
		t.markdown(p)
	}
	p("\n## The rows\n\n")
	var seen []string
	for _, t := range r.tables {
		for _, res := range t.results {
			if res.note != "" && !slices.Contains(seen, res.note) {
				seen = append(seen, res.note)
				p("- %s: %s.\n", res.name, res.note)
			}
		}
	}
	p("\n%s.\n", strings.Join(modules(), "; "))
	return b.String()
}

func (t table) find(name string) *result {
	has := func(r *result) bool { return r.name == name && r.err == nil }
	i := slices.IndexFunc(t.results, has)
	if i < 0 {
		return nil
	}
	return t.results[i]
}

func (t table) markdown(p func(string, ...any)) {
	p("\n## %s\n\nn = %s, p = %s, keys of %s", t.title, short(t.n), general(t.p), t.kind.name)
	if t.order != nil {
		p("; %s", t.order.name)
	}
	p(". Of %d turns %d were repeated", t.turns, t.repeats)
	if t.twice {
		p("; the table was measured twice, because of stars")
	}
	p(".\n\n")
	pure, removes := false, false
	for _, r := range t.results {
		pure = pure || strings.HasPrefix(r.name, purego)
		removes = removes || !math.IsNaN(r.least(remove))
	}
	column := func(on bool, text string) string {
		if !on {
			return ""
		}
		return " " + text + " |"
	}
	if t.order != nil {
		p("| | look-up |%s bits a key | spread |\n", column(pure, "purego"))
		p("|---|---|%s---|---|\n", strings.TrimSpace(column(pure, "---")))
	} else {
		p("| | add | present | absent |%s%s bits a key | false positives | spread |\n",
			column(removes, "remove"), column(pure, "purego"))
		p("|---|---|---|---|%s%s---|---|---|\n",
			strings.TrimSpace(column(removes, "---")), strings.TrimSpace(column(pure, "---")))
	}
	for _, r := range t.results {
		if strings.HasPrefix(r.name, purego) {
			continue
		}
		if r.err != nil {
			p("| %s | failed: %v |\n", r.name, r.err)
			continue
		}
		portable := ""
		if without := t.find(purego + r.name); without != nil {
			times := []string{without.time(add), without.time(present), without.time(absent)}
			portable = strings.Join(times, " / ")
		}
		bits, falses := "", ""
		if r.bitsPerKey > 0 {
			bits = fmt.Sprintf("%.1f", r.bitsPerKey)
		}
		if r.falses > 0 && t.p*float64(r.absent) >= 10 && t.lookups == 0 {
			falses = fmt.Sprintf("%.2g %%", 100*float64(r.falses)/float64(r.absent))
		}
		spread := fmt.Sprintf("%.2f", r.spread())
		if r.spread() > starSpread {
			spread += " *"
		}
		if t.order != nil {
			if without := t.find(purego + r.name); without != nil {
				portable = without.time(absent)
			}
			p("| %s | %s |%s %s | %s |\n",
				r.name, r.time(absent), column(pure, portable), bits, spread)
			continue
		}
		p("| %s | %s | %s | %s |%s%s %s | %s | %s |\n",
			r.name, r.time(add), r.time(present), r.time(absent),
			column(removes, r.time(remove)), column(pure, portable), bits, falses, spread)
	}
}

// time returns the text for the least time of an operation. It is empty if the row lacks the
// operation.
func (r *result) time(op int) string {
	least := r.least(op)
	if math.IsNaN(least) {
		return ""
	}
	if least >= 1000 {
		return fmt.Sprintf("%.0f", least)
	}
	return fmt.Sprintf("%.1f", least)
}

// machine returns a description of this machine.
func machine() string {
	// Windows has the variable, macOS has sysctl, and Linux has lscpu.
	cpu := cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), "unknown processor")
	brand, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output()
	if err == nil {
		cpu = strings.TrimSpace(string(brand))
	}
	info, _ := exec.Command("env", "LC_ALL=C", "lscpu").Output()
	var more []string // In a cloud the name of a processor alone says little.
	for line := range strings.Lines(string(info)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name = strings.TrimSpace(name); name {
		case "Model name":
			cpu = value
		case "CPU family":
			more = append(more, "family "+value)
		case "Model":
			more = append(more, "model "+value)
		case "L1d cache", "L2 cache", "L3 cache":
			size, _, _ := strings.Cut(value, " (")
			more = append(more, strings.TrimSuffix(name, " cache")+" "+size)
		}
	}
	if len(more) > 0 {
		cpu += " (" + strings.Join(more, ", ") + ")"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// peers are parts of the paths of the modules that are compared.
var peers = []string{
	"bits-and-blooms/bloom", "holiman/", "blobloom", "datasketches", "BoomFilters", "ristretto",
	"bbloom", "parquet-go/", "xorfilter", "xxhash", "cuckoo",
}

// modules returns the compared modules with their versions.
func modules() (list []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range info.Deps {
		for _, peer := range peers {
			if strings.Contains(m.Path, peer) {
				list = append(list, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
			}
		}
	}
	return list
}
