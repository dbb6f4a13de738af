// Keywords checks text against a list of forbidden words. It solves the problem
// of an exact list that is too large or too slow to ask about every word of
// every message. A Bloom filter of the list answers "certainly not on the list" for
// nearly all words of ordinary text. The list itself is asked about the few that are
// left.
//
//	go run ./examples/keywords                          # an embedded sample
//	go run ./examples/keywords -words list.txt *.txt    # files; "-" is standard input
//
// The exact list is a map here, to keep the program short; where a filter pays
// it is a database, a file or another machine.
package main

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/seed79a3ff49/bloom/examples/internal/cli"
)

//go:embed words.txt
var defaultWords string

//go:embed sample.txt
var sample string

func main() { cli.Main("keywords", run) }

func run(args []string, stdin io.Reader, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("keywords", flag.ContinueOnError)
	wordsFile := flags.String("words", "", "`file` of forbidden words, one a line (default: a small embedded list)")
	fpr := flags.Float64("p", 0.01, "false-positive `rate` of the filter")
	if err := cli.Parse(flags, "[-words file] [-p rate] [file ...]", args, stdout); err != nil {
		return err
	}

	list, err := loadList(*wordsFile, stdin, *fpr)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(stdout)
	defer out.Flush() // what was found before an error
	var total stats
	check := func(name string, r io.Reader) error {
		s, err := list.check(r, func(m match) {
			fmt.Fprintf(out, "%s:%d:%d: %s\n", name, m.line, m.column, m.word)
		})
		total.add(s)
		return err
	}
	if flags.NArg() == 0 {
		err = check("sample", strings.NewReader(sample))
	} else {
		err = cli.Each(flags.Args(), stdin, check)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d words checked against a list of %d, whose filter takes %d bytes\n",
		total.tokens, len(list.exact), list.filter.M()/8)
	fmt.Fprintf(out, "%d forbidden, %d false positives of the filter\n", total.matches, total.lookups-total.matches)
	fmt.Fprintf(out, "%d exact look-ups, %d saved (%.1f %%)\n", total.lookups, total.tokens-total.lookups,
		100*float64(total.tokens-total.lookups)/float64(max(total.tokens, 1)))
	return out.Flush()
}

func loadList(name string, stdin io.Reader, p float64) (l *list, err error) {
	if name == "" {
		return newList(strings.NewReader(defaultWords), p)
	}
	err = cli.Each([]string{name}, stdin, func(_ string, r io.Reader) (err error) {
		l, err = newList(r, p)
		return err
	})
	return l, err
}
