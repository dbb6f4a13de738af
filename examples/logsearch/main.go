// Logsearch finds out which of many log files mention a request, without reading them. It solves
// the problem of an operator who knows a request's identifier, and has ten thousand files that a
// hundred machines have rotated: grep reads all of them.
//
// A bank.Bank has a small Bloom filter for each file. One look-up names all files that may
// mention the request: those that do, and some others, which a reader of the files then finds
// not to. Most requests have none of these, and a few have many; see package bank.
//
//	go run ./examples/logsearch [-files 10000] [-p 0.001]
//
// It makes up the files, asks for some requests, and prints what the bank found and how long the
// bank and a loop over single filters took.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
)

const (
	perFile  = 60 // requests that a file mentions
	requests = 2000
)

func main() {
	files := flag.Int("files", 10_000, "number of files")
	p := flag.Float64("p", 1e-3, "probability that a file is named in error")
	flag.Parse()
	if err := run(*files, *p, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "logsearch:", err)
		os.Exit(1)
	}
}

func run(files int, p float64, w io.Writer) error {
	logs := generate(files)
	b, err := build(logs, p)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d files mention %d requests each. Their bank takes %.1f MB.\n", files, perFile, float64(b.SizeBytes())/1e6)

	// Every fourth request is one that no file mentions.
	rnd := rand.New(rand.NewPCG(3, 4))
	var asked []string
	for i := range requests {
		if i%4 == 3 {
			asked = append(asked, newID(rnd))
		} else {
			asked = append(asked, logs[rnd.IntN(files)].ids[0])
		}
	}
	named, mention := 0, 0
	answers := make([][]int, requests)
	start := time.Now()
	for i, id := range asked {
		answers[i] = b.Which(nil, bloom.SumString(id))
		named += len(answers[i])
	}
	took := time.Since(start)
	for i, id := range asked {
		for file, l := range logs {
			if !slices.Contains(l.ids, id) {
				continue
			}
			mention++
			if _, found := slices.BinarySearch(answers[i], file); !found {
				return fmt.Errorf("the bank did not name %s for %s", l.name, id) // which cannot happen
			}
		}
	}
	fmt.Fprintf(w, "For %d requests the bank named %d files, %d of them in error.\n", requests, named, named-mention)

	// The same question to one filter after the other.
	filters := make([]*bloom.Filter, files)
	for i := range filters {
		filters[i] = b.Filter(i)
	}
	start = time.Now()
	for i, id := range asked {
		var found []int
		for file, f := range filters {
			if f.ContainsString(id) {
				found = append(found, file)
			}
		}
		if !slices.Equal(found, answers[i]) {
			return fmt.Errorf("single filters named %v for %s, not %v", found, id, answers[i])
		}
	}
	loop := time.Since(start)
	fmt.Fprintf(w, "A look-up took %v. A loop over single filters took %v for the same answers.\n", took/requests, loop/requests)
	return nil
}

// log is a file and the requests that it mentions.
type log struct {
	name string
	ids  []string
}

func newID(rnd *rand.Rand) string { return fmt.Sprintf("request-%016x", rnd.Uint64()) }

// generate makes files. A request goes through up to five machines, each of which writes about it
// to its file of that hour.
func generate(files int) []log {
	const machines = 100
	rnd := rand.New(rand.NewPCG(1, 2))
	logs := make([]log, files)
	for i := range logs {
		logs[i].name = fmt.Sprintf("web%02d/access.log.%d", i%machines, i/machines)
	}
	for i := range logs {
		hour := i / machines * machines
		for len(logs[i].ids) < perFile {
			id := newID(rnd)
			logs[i].ids = append(logs[i].ids, id)
			for range rnd.IntN(5) {
				if other := &logs[min(hour+rnd.IntN(machines), files-1)]; len(other.ids) < perFile && !slices.Contains(other.ids, id) {
					other.ids = append(other.ids, id)
				}
			}
		}
	}
	return logs
}

// build makes a bank with a member for each file. They are small, so the size is one that keeps
// p in small filters, too.
func build(logs []log, p float64) (*bank.Bank, error) {
	m, k, err := bloom.StrictSize(perFile, p)
	if err != nil {
		return nil, err
	}
	b, err := bank.NewSize(m, k)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		i := b.Append()
		b.SetName(i, l.name)
		for _, id := range l.ids {
			b.AddString(i, id)
		}
	}
	return b, nil
}
