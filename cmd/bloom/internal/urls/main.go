// Urls writes URLs, seven tenths of them different: ten million, which are 670 MB, or as
// many as -n says.
//
//	go run ./internal/urls [-n 10000000]
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
)

func main() {
	n := flag.Uint64("n", 10_000_000, "how many, about")
	flag.Parse()
	rnd := rand.New(rand.NewPCG(1, 2))
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	for next := uint64(0); next < *n/10*7; {
		i := next
		if next > 0 && rnd.IntN(10) < 3 {
			i = rnd.Uint64N(next)
		} else {
			next++
		}
		x := i * 0x9e3779b97f4a7c15
		fmt.Fprintf(w, "https://site%05d.example.com/articles/%08x/%d/%08x.html\n", x%100000, x>>32, i, uint32(x))
	}
}
