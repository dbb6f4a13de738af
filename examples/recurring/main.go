// Recurring finds the events in a stream that have occurred before. Recent events
// matter most: errors in a log, words of a feed, addresses that come back. The stream
// never ends, and no exact set of it fits in memory.
//
// A flower.Filter holds it in one small array. Its user chooses how far back it must
// remember, with what probability, and how often it may take a new event for a
// recurring one. It remembers more recent events better than that, and older ones worse.
//
//	recurring [-t 20000] [-recall 0.9] [-fpr 0.01] [-n 500000] [-svg FILE] [FILE...]
//
// It reads events, one a line; - is standard input. Without files it generates n
// events. It prints how many of the recurring ones were found, by their age, beside
// the formula, and draws both to an SVG file.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/seed79a3ff49/bloom/examples/internal/cli"
	"github.com/seed79a3ff49/bloom/flower"
)

func main() { cli.Main("recurring", run) }

func run(args []string, stdin io.Reader, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("recurring", flag.ContinueOnError)
	t := cli.Count(flags, "t", 20_000, "other `events` after which to remember one")
	recall := flags.Float64("recall", 0.9, "`probability` of remembering it then")
	fpr := flags.Float64("fpr", 0.01, "`probability` of taking a new event for a recurring one")
	n := cli.Count(flags, "n", 500_000, "number of `events` to generate")
	svg := flags.String("svg", "", "`file` to draw to")
	if err := cli.Parse(flags, "[-t events] [-recall probability] [-fpr probability] [-n events] [-svg file] [file ...]", args, stdout); err != nil {
		return err
	}
	config, err := flower.Optimal(*t, *recall, *fpr)
	if err != nil {
		return err
	}
	flower, err := flower.New(config)
	if err != nil {
		return err
	}
	d := newDetector(flower, *t)
	if flags.NArg() == 0 {
		generate(*n, *t, d.event)
	}
	if err := cli.Each(flags.Args(), stdin, func(_ string, r io.Reader) error { return read(r, d.event) }); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d slots of %d bits, %d for each event: %.1f kB\n",
		config.Slots, config.Bits, config.Ways, float64(config.Slots)*float64(config.Bits)/8e3)
	d.report(stdout)
	if *svg != "" {
		return os.WriteFile(*svg, []byte(d.plot(*t, *recall)), 0o666)
	}
	return nil
}

func read(r io.Reader, event func(string)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		event(lines.Text())
	}
	return lines.Err()
}

// generate makes n events. One in five occurred before: between 10 and 10 t events
// ago, each order of magnitude as often as the others.
func generate(n, t uint64, event func(string)) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var ids []int
	for i := range int(min(n, math.MaxInt)) {
		id := i
		age := int(min(10*math.Pow(float64(t), rnd.Float64()), math.MaxInt32))
		if rnd.IntN(5) == 0 && age < i {
			id = ids[i-age]
		}
		ids = append(ids, id)
		event("event-" + strconv.Itoa(id))
	}
}

const (
	buckets = 16 // of ages, each twice as old as the one before
	oldest  = 8  // times t: the last bucket's end
)

// detector asks the filter for each event whether it recurs, and knows better.
type detector struct {
	flower *flower.Filter
	last   map[string]int // index of each event's last occurrence
	since  distinct

	events, alarms int // and how many were wrongly said to recur
	ends           [buckets]float64
	recurred       [buckets]int
	found          [buckets]int
	ages, formula  [buckets]float64 // sums
}

func newDetector(f *flower.Filter, t uint64) *detector {
	d := &detector{flower: f, last: map[string]int{}}
	for i := range d.ends {
		d.ends[i] = math.Ldexp(oldest*float64(t), i+1-buckets)
	}
	return d
}

func (d *detector) event(name string) {
	isNew := d.flower.AddString(name)
	last, ok := d.last[name]
	if ok {
		// The filter's age is in additions of other keys; adding one of them
		// twice writes the same slots again.
		age := d.since.count(last + 1)
		d.since.remove(last)
		for i, end := range d.ends {
			if float64(age) < end {
				d.recurred[i]++
				if !isNew {
					d.found[i]++
				}
				d.ages[i] += float64(age)
				d.formula[i] += d.flower.Recall(uint64(age))
				break
			}
		}
	} else if !isNew {
		d.alarms++
	}
	d.last[name] = d.events
	d.since.append()
	d.events++
}

func (d *detector) report(w io.Writer) {
	fmt.Fprintf(w, "%d events, %d of them new. %.3f %% of these were taken for recurring ones (the formula, in the end: %.3f %%)\n\n",
		d.events, len(d.last), 100*float64(d.alarms)/float64(max(len(d.last), 1)), 100*d.flower.Recall(math.MaxUint64))
	fmt.Fprintf(w, "%10s %10s %10s %10s\n", "age up to", "recurred", "found", "formula")
	for i, n := range d.recurred {
		if n > 0 {
			fmt.Fprintf(w, "%10.0f %10d %9.2f%% %9.2f%%\n",
				math.Ceil(d.ends[i])-1, n, 100*float64(d.found[i])/float64(n), 100*d.formula[i]/float64(n))
		}
	}
}

// plot draws recall over age: the formula as a line, what was found as dots, and
// what was asked for as a cross.
func (d *detector) plot(t uint64, recall float64) string {
	const width, height, margin = 480, 240, 30
	x := func(age float64) float64 { return margin + (width-2*margin)*age/(oldest*float64(t)) }
	y := func(recall float64) float64 { return height - margin - (height-2*margin)*recall }
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="10">`+"\n", width, height)
	fmt.Fprintf(&s, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	for i := range 5 {
		v := float64(i) / 4
		fmt.Fprintf(&s, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="2" y="%.1f">%.0f%%</text>`+"\n", margin, y(v), width-margin, y(v)+3, 100*v)
		age := v * oldest * float64(t)
		fmt.Fprintf(&s, `<text x="%.1f" y="%d" text-anchor="middle">%.0f</text>`+"\n", x(age), height-margin+12, age)
	}
	fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">recall by other events since; line: formula, dots: found, cross: asked for</text>`+"\n", width/2, margin/2)
	s.WriteString(`<path fill="none" stroke="#07c" d="`)
	const steps = 200
	for i := range steps + 1 {
		age := float64(i) / steps * oldest * float64(t)
		fmt.Fprintf(&s, "%c%.1f %.1f", "ML"[min(i, 1)], x(age), y(d.flower.Recall(uint64(age))))
	}
	s.WriteString("\"/>\n")
	for i, n := range d.recurred {
		if n := float64(n); n > 0 {
			fmt.Fprintf(&s, `<circle cx="%.1f" cy="%.1f" r="3" fill="#c40"/>`+"\n", x(d.ages[i]/n), y(float64(d.found[i])/n))
		}
	}
	fmt.Fprintf(&s, `<path d="M%.1f %.1fm-5 -5l10 10m-10 0l10 -10" stroke="black"/>`+"\n</svg>\n", x(float64(t)), y(recall))
	return s.String()
}

// distinct counts the different events in the tail of a stream: a Fenwick tree
// that has a one for each event's last occurrence.
type distinct struct{ tree []int }

// append adds a one to the end.
func (d *distinct) append() {
	i := len(d.tree) + 1
	sum := 1
	for j := i - 1; j > i-i&-i; j -= j & -j {
		sum += d.tree[j-1]
	}
	d.tree = append(d.tree, sum)
}

// remove takes away the one at index i.
func (d *distinct) remove(i int) {
	for i++; i <= len(d.tree); i += i & -i {
		d.tree[i-1]--
	}
}

// count returns the number of ones from index i on.
func (d *distinct) count(i int) int {
	return d.before(len(d.tree)) - d.before(i)
}

func (d *distinct) before(i int) (sum int) {
	for ; i > 0; i -= i & -i {
		sum += d.tree[i-1]
	}
	return sum
}
