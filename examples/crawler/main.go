// Crawler fetches every page of a web site once, with many workers and little
// memory. It solves the problem of the list of pages already seen, which in a
// long crawl outgrows everything else: here it is a Bloom filter of a few bytes a
// URL, inside a queue (sieve.Queue) that admits each URL at most once.
//
//	go run ./examples/crawler                             # a site of its own, on loopback
//	go run ./examples/crawler -start https://example.com  # that site, as far as its host goes
//
// With -state it saves what it has seen, and what it has yet to fetch, to a folder:
// at the end, after -max-pages requests, and at Ctrl-C. The next run with the same
// folder goes on from there. (-expect and -p count when a crawl begins.)
//
// The price is a page missed now and then, when the filter takes a new URL for a
// seen one. The report says how many such pages to expect, and the crawler warns
// as soon as it has met more URLs than its filter was sized for.
//
// It does not read robots.txt: point it at sites that you may crawl, and leave
// -workers low.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/seed79a3ff49/bloom/examples/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cli.Main("crawler", func(args []string, stdout, stderr io.Writer) error {
		return run(ctx, args, stdout, stderr)
	})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg config
	flags := flag.NewFlagSet("crawler", flag.ContinueOnError)
	flags.StringVar(&cfg.start, "start", "", "`URL` to start from (default: a site that the program serves itself)")
	flags.IntVar(&cfg.workers, "workers", 4, "`requests` at a time")
	maxPages := cli.Count(flags, "max-pages", 10_000, "stop after this many `requests`")
	flags.Int64Var(&cfg.maxBody, "max-body", 1<<20, "look for links in the first so many `bytes` of a page")
	flags.DurationVar(&cfg.timeout, "timeout", 10*time.Second, "for each request")
	expect := cli.Count(flags, "expect", 10_000, "`URLs` that the filter is sized for")
	flags.Float64Var(&cfg.rate, "p", 1e-4, "false-positive `rate` of the filter when it holds as many")
	flags.StringVar(&cfg.state, "state", "", "`folder` to save the crawl to, and to go on from")
	if err := cli.Parse(flags, "[flags]", args, stdout); err != nil {
		return err
	}
	cfg.maxPages, cfg.expect = int(min(*maxPages, math.MaxInt)), *expect
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	cfg.warn = func(text string) { fmt.Fprintln(stderr, "crawler: warning:", text) }

	var own *site
	if cfg.start == "" {
		if cfg.state != "" {
			return errors.New("-state needs -start: the program's own site is another one each time")
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		own = newSite(3000)
		server := &http.Server{Handler: own, ReadHeaderTimeout: 5 * time.Second}
		defer server.Close()
		go server.Serve(listener)
		cfg.start = "http://" + listener.Addr().String() + "/"
	}
	began := time.Now()
	r, err := crawl(ctx, cfg)
	if r == nil {
		return err
	}
	fmt.Fprintf(stdout, "%s, %d workers, %v\n\n", cfg.start, cfg.workers, time.Since(began).Round(time.Millisecond))
	r.write(stdout)
	if own != nil {
		distinct, most := own.served()
		fmt.Fprintf(stdout, "\nThe site says: %d of its %d URLs were fetched, none more than %d times.\n",
			distinct, len(own.urls()), most)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted") // the report is of what was done until then
	}
	return err
}

func (r *report) write(w io.Writer) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-12s%s\n", name, fmt.Sprintf(format, args...))
	}
	line("fetched", "%d: %d pages, %d of other types, %d redirects, %d failed",
		r.fetched, r.pages, r.other, r.redirects, r.failed)
	if r.failed > 0 {
		line("", "first failure: %v", r.failure)
	}
	line("links", "%d: %d duplicates dropped, %d led off the site or were no URL", r.links, r.duplicates, r.offSite)
	line("queue", "%d URLs at the start, %d at its longest, %d left at the end", r.resumed, r.longest, r.left)
	if r.admitted > 0 {
		size, exact := r.filter.M()/8, mapBytes(r.admitted, r.urlBytes)
		line("memory", "%d bytes of filter; a map of the %d URLs takes %d, measured: %.1f times as much",
			size, r.admitted, exact, float64(exact)/float64(size))
	}
	line("filter", "sized for %d URLs at a rate of %.2g, holds about %d at %.2g",
		r.expect, r.rate, r.filter.ApproxCount(), r.filter.FPR())
	line("missed", "%.2g new URLs expected to have been taken for duplicates", r.missed)
	if r.known+r.admitted > r.expect {
		line("", "more than the filter was sized for: raise -expect")
	}
}

// mapBytes measures the heap that a map of n URLs takes, urlBytes bytes together.
// The crawler keeps no URLs to try it with, so these are others as long, and
// enough maps of them that nothing else on the heap matters.
func mapBytes(n, urlBytes uint64) uint64 {
	maps := make([]map[string]struct{}, 1+20_000/n)
	before := heap()
	for i := range maps {
		maps[i] = map[string]struct{}{}
		for j := range n {
			maps[i][fmt.Sprintf("%0*d", int(urlBytes/n), j)] = struct{}{}
		}
	}
	after := heap()
	runtime.KeepAlive(maps)
	return (after - min(before, after)) / uint64(len(maps))
}

// heap returns the bytes of what is in use on the heap.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what pools hold survives one
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
