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

// report is everything that RESULTS.md says.
type report struct {
	quick   bool
	rounds  int
	load    string // of the machine, before
	began   time.Time
	missing []string
	tables  []table
}

// table is a workload and what was measured of it.
type table struct {
	workload
	results []*result
}

func (r *report) add(w workload, results []*result) {
	w.rows, w.processes = nil, nil // which hold filters
	r.tables = append(r.tables, table{w, results})
}

const method = `
Each row adds n keys to an empty filter, looks up keys that were added (present) and keys that were not (absent). The keys lie
ready in one array. All Go rows run in one process and on one goroutine, but for those of goroutines. In each round every row has
a turn, programs in other languages and the build without assembly among them, and another row begins. A timing covers at least 100,000
keys, in the table of banks 500 look-ups. Times are nanoseconds a key, the least of %d rounds, of %d where n is 1e7. A star says that the median was more than a quarter
above it: a busy machine. Making filters, emptying them, touching their memory for the first time and collecting garbage do not
count. False positives are counted over a million absent keys, and left out where fewer than ten are expected. The column purego is add / present / absent of
Go code without assembly, which is what all processors but amd64 with AVX2 and arm64 run. On a processor that is not
here, ` + "`go run . -quick`" + ` prints the tables by which processors differ, in two minutes.
`

func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	options, picture := "", "\n![Nanoseconds a key beside the peers](../docs/speed.svg)\n"
	if r.quick {
		options, picture = " -quick", ""
	}
	p("# Results\n\nMade by `cd benchmarks && go run .%s` in %v on %s%s, with %s.\n", options, time.Since(r.began).Round(time.Second), machine(), r.load, runtime.Version())
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
	i := slices.IndexFunc(t.results, func(r *result) bool { return r.name == name && r.err == nil })
	if i < 0 {
		return nil
	}
	return t.results[i]
}

func (t table) markdown(p func(string, ...any)) {
	p("\n## %s\n\nn = %s, p = %s, keys of %s.\n\n", t.title, short(t.n), general(t.p), t.kind.name)
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
	p("| | add | present | absent |%s%s bits a key | false positives |\n", column(removes, "remove"), column(pure, "purego"))
	p("|---|---|---|---|%s%s---|---|\n", strings.TrimSpace(column(removes, "---")), strings.TrimSpace(column(pure, "---")))
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
			portable = without.time(add) + " / " + without.time(present) + " / " + without.time(absent)
		}
		bits, falses := "", ""
		if r.bitsPerKey > 0 {
			bits = fmt.Sprintf("%.1f", r.bitsPerKey)
		}
		if r.falses > 0 && t.p*float64(r.absent) >= 10 && t.lookups == 0 {
			falses = fmt.Sprintf("%.2g %%", 100*float64(r.falses)/float64(r.absent))
		}
		p("| %s | %s | %s | %s |%s%s %s | %s |\n", r.name, r.time(add), r.time(present), r.time(absent),
			column(removes, r.time(remove)), column(pure, portable), bits, falses)
	}
}

// time writes the least time of an operation, with a star where the median is far above it.
func (r *result) time(op int) string {
	least := r.least(op)
	if math.IsNaN(least) {
		return ""
	}
	s := fmt.Sprintf("%.1f", least)
	if least >= 1000 {
		s = fmt.Sprintf("%.0f", least)
	}
	if sorted := slices.Sorted(slices.Values(r.times[op])); sorted[len(sorted)/2] > 1.25*least {
		s += " *"
	}
	return s
}

// load says how busy the machine was in the last minute, where the system says it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return " (load before: " + strings.Fields(string(text))[0] + ")"
}

// machine describes where this runs.
func machine() string {
	cpu := cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), "unknown processor")                            // which Windows has
	if brand, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil { // macOS
		cpu = strings.TrimSpace(string(brand))
	}
	info, _ := exec.Command("env", "LC_ALL=C", "lscpu").Output() // Linux
	for line := range strings.Lines(string(info)) {
		if model, ok := strings.CutPrefix(line, "Model name:"); ok {
			cpu = strings.TrimSpace(model)
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// modules returns the versions of what is compared.
func modules() (list []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, m := range info.Deps {
		for _, peer := range []string{"bits-and-blooms/bloom", "holiman/", "blobloom", "datasketches", "BoomFilters", "ristretto", "bbloom", "parquet-go/", "xorfilter", "xxhash", "cuckoo"} {
			if strings.Contains(m.Path, peer) {
				list = append(list, strings.TrimPrefix(m.Path, "github.com/")+" "+m.Version)
			}
		}
	}
	return list
}
