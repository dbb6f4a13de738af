// Clicks counts the clicks in a web server's access log. It leaves out those that
// repeat a click on the same path from the same address within a span of time.
//
// An exact answer needs every pair of the last day in memory: at ten thousand
// clicks a second that is 864 million, in tens of gigabytes. A window.Filter
// answers in a few bytes for each, forgets a pair by itself when its time has come,
// and errs only where it takes a new click for a repeat.
//
//	clicks [-span 24h] [-n 500000] [-p 0.001] [FILE...]
//
// It reads logs in combined format; - is standard input. Its clock is the logs' own
// time. Without files it generates a day of n clicks, some of them doubled. An exact
// map runs beside the window, and shows what it costs and how often the window was
// wrong.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom/examples/internal/cli"
	"github.com/seed79a3ff49/bloom/window"
)

func main() { cli.Main("clicks", run) }

func run(args []string, stdin io.Reader, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("clicks", flag.ContinueOnError)
	span := flags.Duration("span", 24*time.Hour, "how `long` a click makes the same one a repeat")
	n := cli.Count(flags, "n", 500_000, "distinct `clicks` expected in a span")
	p := flags.Float64("p", 0.001, "`fraction` of new clicks that may be taken for repeats")
	if err := cli.Parse(flags, "[-span duration] [-n clicks] [-p fraction] [file ...]", args, stdout); err != nil {
		return err
	}
	d, err := newDeduper(window.Config{Capacity: *n, FPR: *p, Span: *span})
	if err != nil {
		return err
	}
	if flags.NArg() == 0 {
		if err := d.read(generate(*n)); err != nil {
			return err
		}
	}
	if err := cli.Each(flags.Args(), stdin, func(_ string, r io.Reader) error { return d.read(r) }); err != nil {
		return err
	}
	d.report(stdout)
	return nil
}

// deduper drops repeated clicks, and does so once more exactly.
type deduper struct {
	window *window.Filter
	key    []byte

	first, now      time.Time // of the clicks
	clicks, dropped int
	unparsed        int

	exact  map[string]time.Time // when last clicked
	missed int                  // repeats that the window let pass
	wrong  int                  // new clicks that it dropped
}

// newDeduper returns a deduper whose window reads the clicks' time. It begins
// at the log's, which is later than the zero time by more than any span: nothing
// has been added by then.
func newDeduper(c window.Config) (d *deduper, err error) {
	d = &deduper{exact: map[string]time.Time{}, now: time.Unix(0, 0)}
	c.Now = func() time.Time { return d.now }
	d.window, err = window.New(c)
	return d, err
}

func (d *deduper) read(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 1<<20)
	for {
		line, tooLong, err := lines.ReadLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		c, ok := parse(string(line))
		for tooLong && err == nil { // longer than the buffer: no click
			ok = false
			_, tooLong, err = lines.ReadLine()
		}
		if !ok {
			d.unparsed++
			continue
		}
		d.click(c)
	}
}

func (d *deduper) click(c click) {
	if c.time.After(d.now) { // servers log a request when it ends: not quite in order
		d.now = c.time
	}
	if d.clicks == 0 {
		d.first = d.now
	}
	d.clicks++
	d.key = append(append(append(d.key[:0], c.addr...), ' '), c.path...)
	isNew := d.window.Add(d.key)
	if !isNew {
		d.dropped++
	}

	last, ok := d.exact[string(d.key)]
	age := d.now.Sub(last)
	config := d.window.Config()
	switch longest := config.Span + config.Span/time.Duration(config.Generations); {
	case isNew && ok && age <= config.Span:
		d.missed++
	case !isNew && (!ok || age > longest):
		d.wrong++
	}
	d.exact[string(d.key)] = d.now
}

func (d *deduper) report(w io.Writer) {
	fmt.Fprintf(w, "%d clicks, %d lines that are none\n", d.clicks, d.unparsed)
	if d.clicks == 0 {
		return
	}
	config := d.window.Config()
	fmt.Fprintf(w, "from %s to %s\n", d.first.Format(time.RFC3339), d.now.Format(time.RFC3339))
	fmt.Fprintf(w, "%d counted, %d dropped as repeats within %v\n", d.clicks-d.dropped, d.dropped, config.Span)
	fmt.Fprintf(w, "%d repeats missed, %d new clicks dropped by mistake: %.4f %%\n",
		d.missed, d.wrong, 100*float64(d.wrong)/float64(max(d.clicks-d.dropped+d.wrong, 1)))
	pairs := len(d.exact)
	cost := d.costOfMap()
	fmt.Fprintf(w, "window: %8.3f MB, whatever is added\n", float64(d.window.SizeBytes())/1e6)
	fmt.Fprintf(w, "map:    %8.3f MB, for %d pairs of address and path\n", float64(cost)/1e6, pairs)
	if rate := d.window.FPR(); rate > 1.1*config.FPR {
		fmt.Fprintf(w, "warning: the window holds more than it was sized for, and errs in %.3g %% of new clicks: raise -n\n", 100*rate)
	}
}

// costOfMap drops the map and returns how much memory that sets free.
func (d *deduper) costOfMap() uint64 {
	with := cli.Heap()
	d.exact = nil
	return with - min(with, cli.Heap())
}

// click is who asked for what, and when, as a line has it.
type click struct {
	addr, path string
	time       time.Time
}

// parse reads a line in combined format:
//
//	addr ident user [17/May/2015:10:05:03 +0000] "GET /path HTTP/1.1" 200 ...
func parse(line string) (c click, ok bool) {
	var when, request string
	c.addr, line, _ = strings.Cut(line, " ")
	if _, line, ok = strings.Cut(line, " ["); !ok {
		return c, false
	}
	if when, line, ok = strings.Cut(line, `] "`); !ok {
		return c, false
	}
	// The server escapes quotes in the request by a backslash.
	end := 0
	for end < len(line) && line[end] != '"' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(line) || !strings.HasPrefix(line[end:], `" `) {
		return c, false
	}
	request = line[:end]
	fields := strings.Split(request, " ")
	if len(fields) != 3 || c.addr == "" {
		return c, false
	}
	c.path = fields[1]
	t, err := time.Parse("02/Jan/2006:15:04:05 -0700", when)
	c.time = t
	return c, err == nil
}

// generate returns a log of one day: n clicks, evenly spread. An impatient visitor
// doubles one in ten, and one in ten more comes from a visitor who was there before.
func generate(n uint64) io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		rnd := rand.New(rand.NewPCG(1, 2))
		start := time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC)
		for i := range n {
			at := start.Add(time.Duration(float64(24*time.Hour) * float64(i) / float64(n)))
			visit := i
			if rnd.IntN(10) == 0 {
				visit = rnd.Uint64N(i + 1)
			}
			// Multiplying by an odd number makes each visit's number look random.
			v := uint32(visit) * 0x9e3779b1
			line := func(at time.Time) {
				fmt.Fprintf(out, "10.%d.%d.%d - - [%s] \"GET /item/%d HTTP/1.1\" 200 5120 \"-\" \"Mozilla/5.0\"\n",
					v>>24, v>>16&0xff, v>>8&0xff, at.Format("02/Jan/2006:15:04:05 -0700"), v&0xff)
			}
			line(at)
			if rnd.IntN(10) == 0 {
				line(at.Add(500 * time.Millisecond))
			}
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}
