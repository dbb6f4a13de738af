// Crawler fetches every page of a web site once, with many workers and little
// memory. It solves the problem of the list of pages already seen, which in a
// long crawl outgrows everything else: here it is a Bloom filter of a few bytes a
// URL, inside a queue (sieve.Queue) that admits each URL at most once.
//
//	go run ./examples/crawler                             # a site of its own, on loopback
//	go run ./examples/crawler -start https://example.com  # that site, as far as its host goes
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
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "crawler:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var cfg config
	flags := flag.NewFlagSet("crawler", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&cfg.start, "start", "", "`URL` to start from (default: a site that the program serves itself)")
	flags.IntVar(&cfg.workers, "workers", 4, "`requests` at a time")
	flags.IntVar(&cfg.maxPages, "max-pages", 10_000, "stop after this many `requests`")
	flags.Int64Var(&cfg.maxBody, "max-body", 1<<20, "look for links in the first so many `bytes` of a page")
	flags.DurationVar(&cfg.timeout, "timeout", 10*time.Second, "for each request")
	flags.Uint64Var(&cfg.expect, "expect", 10_000, "`URLs` that the filter is sized for")
	flags.Float64Var(&cfg.rate, "p", 1e-4, "false-positive `rate` of the filter when it holds as many")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage: crawler [flags]")
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	cfg.warn = func(text string) { fmt.Fprintln(stderr, "crawler: warning:", text) }

	var own *site
	if cfg.start == "" {
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
	return err // interrupted: the report is of what was done until then
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
	line("queue", "%d URLs at its longest, %d left at the end", r.longest, r.left)
	size, exact := r.filter.M()/8, mapBytes(r.admitted, r.urlBytes)
	line("memory", "%d bytes of filter; a map of the %d URLs takes %d, measured: %.1f times as much",
		size, r.admitted, exact, float64(exact)/float64(size))
	line("filter", "sized for %d URLs at a rate of %.2g, holds about %d at %.2g",
		r.expect, r.rate, r.filter.ApproxCount(), r.filter.FPR())
	line("missed", "%.2g new URLs expected to have been taken for duplicates", r.missed)
	if r.admitted > r.expect {
		line("", "more than the filter was sized for: raise -expect")
	}
}

// mapBytes measures the heap that a map of n URLs takes, urlBytes bytes together.
// The crawler keeps no URLs to try it with, so these are others as long, and
// enough maps of them that nothing else on the heap matters.
func mapBytes(n, urlBytes uint64) uint64 {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC() // what pools hold survives one
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
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
