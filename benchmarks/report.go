package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

type report struct {
	quick   bool
	began   time.Time
	load    string   // the load of the machine at the beginning
	missing []string // the rows that were not measured, with the reasons
	tables  []table
}

type table struct {
	workload
	results []*result
}

const method = `
Each row fills one filter with n keys, then looks up keys that were added (present) and keys that
were not (absent). All rows of a table take turns, in a new random order each time, and so do
programs in other languages and the build without assembly. A turn works on the next 8,192 keys:
50,000 in tables of goroutines, 4 in the table of banks. It takes 0.05 to 1 ms, which is shorter than
the time that a scheduler gives a thread, so other programs that run at the same time disturb few
turns. Before the clock starts, the row looks up other keys, so that its filter is in the cache if it
fits. Each operation has at least 300 turns, and no key comes again before all others have come. If n
is larger than the keys of 300 turns, the measured turns are spread over the fill, and the keys
between them are added before a turn begins.

A figure is nanoseconds per key: the tenth percentile of the turns, followed by the fiftieth, which
rises with the load of the machine, or of the host of a virtual machine. Additions are measured in
ten parts of a fill, and the figure is the mean of the parts. Neither percentile shows what happens
in less than half of the turns, such as a new layer of a growing filter. The ratio to another row of
the table (add / present / absent) is that of the tenth percentiles. False positives are counted over
a million absent keys, if at least ten are expected. The column purego has the times of the Go code
without assembly: add / present / absent. Processors other than arm64, and amd64 with AVX2, run that
code.

Measure on an idle machine if you can. Beside other programs, most rows keep their order, but ratios
change, most of all in the tables of goroutines.

In every language, the keys are ready in one array, and answers are counted without a branch. One
cost differs: Go and Rust make a slice of each key, C++ has integers or string views, and the JVM has
an object for each key. All Go rows run in one process, on one goroutine except in the tables of
goroutines. The figures leave out making filters, emptying them and collecting garbage. If your
processor is missing here, ` + "`go run . -quick`" + ` prints the tables in which processors differ, in two
minutes. ` + "`-peer NAME=PROGRAM`" + ` measures any other program as well, such as a few lines of C around a
library; process.go describes such programs.
`

func (r *report) markdown() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	options, picture := "", "\n![Nanoseconds a key beside the peers](../docs/speed.svg)\n"
	if r.quick {
		options, picture = " -quick", ""
	}
	took := time.Since(r.began).Round(time.Second)
	p("# Results\n\nMade by `cd benchmarks && go run .%s` in %v on %s, with %s. ",
		options, took, machine(), runtime.Version())
	p("The machine's load over one and five minutes was %s at the beginning, and %s at the end.\n",
		r.load, load())
	p("%s", method+picture)
	for _, m := range r.missing {
		p("\nNot measured: %s\n", strings.TrimSpace(m))
	}
	for _, t := range r.tables {
		t.markdown(p)
	}
	if !r.quick {
		p("\n%s", growth)
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

// samples writes every sample in the form of Go's benchmarks
// (https://golang.org/design/14313-benchmark-format).
func (r *report) samples(out io.Writer) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, machine())
	part := strings.NewReplacer(" ", "_", "/", ":", ",", "").Replace
	for _, t := range r.tables {
		for _, res := range t.results {
			for op, fill := range res.times {
				for _, ns := range slices.Concat(fill[:]...) {
					fmt.Fprintf(w, "BenchmarkFilter/table=%s/row=%s/op=%s 1 %.3f ns/op\n",
						part(t.heading()), part(res.name), t.operation(op), ns)
				}
			}
		}
	}
	return w.Flush()
}

func (t table) heading() string {
	if t.order == nil {
		return t.title
	}
	return t.title + ", " + t.order.title
}

func (t table) operation(op int) string {
	if t.order != nil {
		return "find"
	}
	return []string{"add", "present", "absent", "remove"}[op]
}

func (t table) find(name string) *result {
	i := slices.IndexFunc(t.results, func(r *result) bool {
		return r.name == name && r.err == nil
	})
	if i < 0 {
		return nil
	}
	return t.results[i]
}

func (t table) markdown(p func(string, ...any)) {
	p("\n## %s\n\nn = %s, p = %s, keys of %s", t.heading(), short(t.n), general(t.p), t.kind.name)
	if t.order != nil {
		p("; %s, in the filters of the table %q", t.order.name, t.title)
	}
	p(".")
	if t.text != "" {
		p(" %s", t.text)
	}
	p("\n\n")
	columns := t.columns()
	head, line := "|", "|"
	for _, c := range columns {
		head += " " + c.title + " |"
		line += "---|"
	}
	p("%s\n%s\n", head, line)
	for _, r := range t.results {
		if strings.HasPrefix(r.name, purego) {
			continue
		}
		if r.err != nil {
			p("| %s | failed: %v |\n", r.name, r.err)
			continue
		}
		p("|")
		for _, c := range columns {
			p(" %s |", c.text(r))
		}
		p("\n")
	}
}

// column is a column of a table. text returns the cell of a row.
type column struct {
	title string
	text  func(r *result) string
}

// columns returns the columns of t in which at least one cell is not empty.
func (t table) columns() (columns []column) {
	columns = append(columns, column{"", func(r *result) string { return r.name }})
	titles := []string{"add", "present", "absent", "remove"}
	asked := []int{add, present, absent}
	if t.order != nil {
		titles[absent] = "look-up"
		asked = []int{absent}
	}
	for op, title := range titles {
		columns = append(columns, column{title, func(r *result) string { return r.text(op) }})
	}
	reference := t.find(cmp.Or(t.reference, bitsAndBlooms.name))
	if reference != nil {
		columns = append(columns, column{"beside " + reference.name, func(r *result) string {
			return joined(asked, func(op int) float64 { return r.ratio(reference, op) }, "%.2f")
		}})
	}
	columns = append(columns, column{"purego", func(r *result) string {
		without := t.find(purego + r.name)
		if without == nil {
			return ""
		}
		return joined(asked, func(op int) float64 { return without.time(op, tenth) }, "%.1f")
	}}, column{"bits a key", func(r *result) string {
		if r.bitsPerKey == 0 {
			return ""
		}
		return fmt.Sprintf("%.1f", r.bitsPerKey)
	}}, column{"false positives", func(r *result) string {
		if r.falses == 0 {
			return ""
		}
		return fmt.Sprintf("%.2g %%", 100*float64(r.falses)/float64(r.absent))
	}})
	return slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(t.results, func(r *result) bool { return c.text(r) != "" })
	})
}

// joined joins the values of operations with slashes. It leaves out NaNs.
func joined(asked []int, value func(op int) float64, format string) string {
	var texts []string
	for _, op := range asked {
		if x := value(op); !math.IsNaN(x) {
			texts = append(texts, fmt.Sprintf(format, x))
		}
	}
	return strings.Join(texts, " / ")
}

// text returns the time of an operation, with the median in parentheses, or "" if the row lacks the
// operation.
func (r *result) text(op int) string {
	ns, usual := r.time(op, tenth), r.time(op, half)
	switch {
	case math.IsNaN(ns):
		return ""
	case ns >= 1000:
		return fmt.Sprintf("%.0f (%.0f)", ns, usual)
	}
	return fmt.Sprintf("%.1f (%.1f)", ns, usual)
}

// load returns the machine's load over one and five minutes, or "unknown" without /proc/loadavg.
func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(data)); err == nil && len(fields) > 1 {
		return fields[0] + " / " + fields[1]
	}
	return "unknown"
}

func machine() string {
	cpu, more := processor()
	if len(more) > 0 {
		cpu += " (" + strings.Join(more, ", ") + ")"
	}
	return fmt.Sprintf("%s, %d cores, %s/%s", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}

// processor returns the processor's name, and further details, because in the cloud the name alone
// says little.
func processor() (cpu string, more []string) {
	// Windows has the variable, macOS has sysctl, and Linux has lscpu.
	cpu = cmp.Or(os.Getenv("PROCESSOR_IDENTIFIER"), "unknown processor")
	brand, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output()
	if err == nil {
		cpu = strings.TrimSpace(string(brand))
	}
	info, _ := exec.Command("env", "LC_ALL=C", "lscpu").Output()
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
		case "Flags":
			for _, feature := range []string{"avx512vbmi2", "avx512f", "avx2"} {
				if slices.Contains(strings.Fields(value), feature) {
					more = append(more, feature)
					break
				}
			}
		case "L1d cache", "L2 cache", "L3 cache":
			size, _, _ := strings.Cut(value, " (")
			more = append(more, strings.TrimSuffix(name, " cache")+" "+size)
		}
	}
	return cpu, more
}

// peers are parts of module paths. The report lists the modules that match.
var peers = []string{
	"bits-and-blooms/bloom", "holiman/", "blobloom", "datasketches", "BoomFilters", "ristretto",
	"bbloom", "parquet-go/", "xorfilter", "xxhash", "cuckoo",
}

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
