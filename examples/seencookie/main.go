// Seencookie is a recommender that never shows a visitor the same page twice and
// stores nothing about anyone. It solves the problem of where to remember what
// each visitor has seen: in the visitor's own cookie, as a Bloom filter. A
// hundred URLs fit in 168 characters, where their MD5 digests in hexadecimal take
// 3,200 of the 4,096 that a browser keeps.
//
//	go run ./examples/seencookie                       # a server, and a client that visits it
//	go run ./examples/seencookie -addr 127.0.0.1:8080  # a server for a browser
//
// The cookie is signed, so that what a visitor sends back is a filter that this
// server made; anything else counts as no cookie. The key is random, and cookies
// are worth nothing after a restart, unless SEENCOOKIE_KEY holds a secret of at
// least 16 bytes.
//
// A false positive hides a page that the visitor has not seen. A visitor who
// sends an older cookie, or none, chooses to be forgotten, and two visits at the
// same moment count as one of them. The cookie is not encrypted: whoever has it
// can ask it whether a page was shown. The page /all does: its script asks the filter in
// the browser, with readers/bloom.mjs.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/seed79a3ff49/bloom/examples/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cli.Main("seencookie", func(args []string, stdout, _ io.Writer) error {
		return run(ctx, args, os.Getenv("SEENCOOKIE_KEY"), stdout)
	})
}

func run(ctx context.Context, args []string, key string, stdout io.Writer) error {
	flags := flag.NewFlagSet("seencookie", flag.ContinueOnError)
	addr := flags.String("addr", "", "serve on this `address` until interrupted (default: serve a built-in client, then exit)")
	n := cli.Count(flags, "n", 100, "`pages` that a cookie is sized for")
	p := flags.Float64("p", 0.01, "false-positive `rate` of a cookie after n pages")
	if err := cli.Parse(flags, "[-addr address] [-n pages] [-p rate]", args, stdout); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}

	secret := []byte(key)
	if key == "" {
		secret = make([]byte, 32)
		rand.Read(secret)
	} else if len(key) < 16 {
		return fmt.Errorf("SEENCOOKIE_KEY has %d bytes, fewer than 16", len(key))
	}
	cookies, err := newCookies(secret, *n, *p)
	if err != nil {
		return err
	}
	pages := catalogue(120)
	listener, err := net.Listen("tcp", cmp.Or(*addr, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           newRecommender(cookies, pages),
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	home := "http://" + listener.Addr().String() + "/"
	if *addr == "" {
		return visitAll(ctx, home, len(pages), stdout)
	}
	if _, err := fmt.Fprintf(stdout, "serving on %s\n", home); err != nil {
		return err
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return server.Shutdown(ctx)
	}
}
