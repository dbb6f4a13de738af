// Dedupe writes each line of its input the first time it appears, in order. With -state it also
// leaves out the lines that earlier runs wrote.
//
//	go run ./examples/dedupe [-state file] [file ...]
//
// It remembers a million lines in 3.6 MB. With that many, it leaves out one new line in a million
// by mistake. The command in cmd/bloom takes more lines and has more options.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/seed79a3ff49/bloom"
)

func main() {
	state := flag.String("state", "", "`file` that remembers lines from run to run")
	flag.Parse()
	if err := dedupe(os.Stdout, *state, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "dedupe:", err)
		os.Exit(1)
	}
}

// dedupe writes to w the new lines of the named files, or of standard input.
func dedupe(w io.Writer, state string, names []string) error {
	seen, err := bloom.New(1_000_000, 1e-6)
	if state != "" {
		seen, err = bloom.LoadOrNew(state, 1_000_000, 1e-6)
	}
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	out := bufio.NewWriter(w)
	for _, name := range names {
		file := os.Stdin
		if name != "-" {
			if file, err = os.Open(name); err != nil {
				return err
			}
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<30)
		for lines.Scan() {
			if seen.Add(lines.Bytes()) {
				fmt.Fprintf(out, "%s\n", lines.Bytes())
			}
		}
		file.Close()
		if err := lines.Err(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := out.Flush(); err != nil || state == "" {
		return err
	}
	return seen.SaveFile(state) // every line in seen was written
}
