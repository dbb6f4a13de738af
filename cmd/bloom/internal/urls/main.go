// Urls writes ten million URLs, seven million of them different: 670 MB.
package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
)

func main() {
	rnd := rand.New(rand.NewPCG(1, 2))
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	for next := uint64(0); next < 7_000_000; {
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
