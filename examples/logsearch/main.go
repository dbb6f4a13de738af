// Logsearch finds out which of many log files mention a request, without reading
// them. It solves the problem of an operator who knows a request's identifier, and has
// ten thousand files that a hundred machines have rotated: grep reads all of them.
//
// A bank.Bank has a small Bloom filter for each file. One look-up names all files that
// may mention the request: those that do, and a few others, which a reader of the
// files then finds not to.
//
//	logsearch [-files 10000] [-ids 60] [-p 0.001] [-requests 200]
//
// It generates the files. A request leaves lines in up to five of them. Then it asks for
// some requests, and prints what the bank found, what is true, and how long the bank and a
// loop over single filters took.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/examples/internal/cli"
)

func main() { cli.Main("logsearch", run) }

func run(args []string, stdout, _ io.Writer) error {
	flags := flag.NewFlagSet("logsearch", flag.ContinueOnError)
	files := cli.Count(flags, "files", 10_000, "number of `files`")
	ids := cli.Count(flags, "ids", 60, "`number` of requests that a file mentions")
	p := flags.Float64("p", 1e-3, "`probability` that a file is named in error")
	requests := cli.Count(flags, "requests", 200, "`number` of requests to ask for")
	if err := cli.Parse(flags, "[-files number] [-ids number] [-p probability] [-requests number]", args, stdout); err != nil {
		return err
	}
	if *files < 1 || *ids < 1 || *requests < 1 {
		return fmt.Errorf("-files %d, -ids %d and -requests %d must be at least 1", *files, *ids, *requests)
	}

	logs := generate(int(*files), int(*ids))
	start := time.Now()
	b, err := build(logs, *p)
	if err != nil {
		return err
	}
	built := time.Since(start)
	fmt.Fprintf(stdout, "%d files mention %d requests each. Their bank takes %.1f MB and was built in %v.\n",
		*files, *ids, float64(b.SizeBytes())/1e6, built.Round(time.Millisecond))

	// What the bank says, and what is true.
	rnd := rand.New(rand.NewPCG(3, 4))
	asked := make([]string, *requests)
	for i := range asked {
		asked[i] = logs[rnd.IntN(len(logs))].ids[0]
		if i%4 == 3 {
			asked[i] = "request-" + fmt.Sprint(rnd.Uint64()) // which no file mentions
		}
	}
	hs := make([]bloom.Hash, len(asked))
	bloom.SumStringBatch(hs, asked)
	start = time.Now()
	answers := make([][]int, len(asked))
	for i, h := range hs {
		answers[i] = b.Which(nil, h)
	}
	took := time.Since(start)
	named, mention, missing := 0, 0, 0
	for i, id := range asked {
		for file, l := range logs {
			_, found := slices.BinarySearch(answers[i], file)
			is := slices.Contains(l.ids, id)
			if is {
				mention++
			}
			if found {
				named++
			}
			if is && !found {
				missing++
			}
		}
	}
	id := asked[0]
	fmt.Fprintf(stdout, "\n%s is in\n", id)
	for _, file := range answers[0] {
		says := "a false positive"
		if slices.Contains(logs[file].ids, id) {
			says = "which is true"
		}
		fmt.Fprintf(stdout, "  %s: %s\n", b.Name(file), says)
	}
	fmt.Fprintf(stdout, "\nFor %d requests the bank named %d files. %d of them mention the request, %d do not, and %d that do were not named.\n",
		len(asked), named, mention-missing, named-mention+missing, missing)

	// The same question to one filter after the other.
	filters := make([]*bloom.Filter, len(logs))
	for i := range filters {
		filters[i] = b.Filter(i)
	}
	start = time.Now()
	for i, h := range hs {
		var found []int
		for file, f := range filters {
			if f.ContainsHash(h) {
				found = append(found, file)
			}
		}
		if !slices.Equal(found, answers[i]) {
			return fmt.Errorf("single filters named %v for %s, not %v", found, asked[i], answers[i])
		}
	}
	loop := time.Since(start)
	each := func(d time.Duration) time.Duration { return d / time.Duration(len(asked)) }
	fmt.Fprintf(stdout, "A look-up took %v. A loop over single filters took %v, which is %.0f times as long, for the same answers.\n",
		each(took), each(loop), float64(loop)/float64(max(took, 1)))
	return nil
}

// log is a file and the requests that it mentions.
type log struct {
	name string
	ids  []string
}

// generate makes files. A request goes through up to five machines, each of which writes
// about it to its file of that hour.
func generate(files, ids int) []log {
	const machines = 100
	rnd := rand.New(rand.NewPCG(1, 2))
	logs := make([]log, files)
	for i := range logs {
		logs[i].name = fmt.Sprintf("web%02d/access.log.%d", i%machines, i/machines)
	}
	for i := range logs {
		hour := i / machines * machines
		for len(logs[i].ids) < ids {
			id := fmt.Sprintf("request-%016x", rnd.Uint64())
			logs[i].ids = append(logs[i].ids, id)
			for range rnd.IntN(5) {
				if other := &logs[min(hour+rnd.IntN(machines), files-1)]; len(other.ids) < ids && !slices.Contains(other.ids, id) {
					other.ids = append(other.ids, id)
				}
			}
		}
	}
	return logs
}

// build makes a bank with a member for each file.
func build(logs []log, p float64) (*bank.Bank, error) {
	m, k, err := bloom.SizeFor(uint64(len(logs[0].ids)), p)
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
