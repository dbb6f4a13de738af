// Command benchmarks measures this library beside its peers: adding keys,
// finding keys that were added, and not finding others. It writes RESULTS.md
// and chart.svg.
//
//	go run .                 about ten minutes
//	go run . -billion        also n = 1e9: half an hour more, and 12 GB of memory
//	go run . -growing        filters that grow, instead: GROWING.md and growing.svg
//
// Guava is measured where javac and a guava.jar are found, Rust's fastbloom
// where cargo is; the rest needs Go alone. The same rows are go benchmarks:
//
//	go test -bench '/lib=bloom.*/op=add/n=1e5' -count 10 | tee new.txt
//	benchstat -col /lib new.txt
package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// table is one n and one kind of key.
type table struct {
	n       int
	kind    kind
	results []*result
}

func (t table) find(name string) *result {
	for _, r := range t.results {
		if r.name == name {
			return r
		}
	}
	return nil
}

func main() {
	sizes := flag.String("n", "1e4,1e5,1e7", "numbers of keys, comma-separated, up to 1e8")
	widths := flag.String("keys", "8B,36B,80B", "kinds of keys, comma-separated")
	rounds := flag.Int("rounds", 25, "rounds of each table, at least 3")
	budget := flag.Duration("budget", 40*time.Second, "how long a table's rounds may take, once there are three")
	others := flag.Bool("foreign", true, "measure libraries in other languages too")
	huge := flag.Bool("billion", false, "measure n = 1e9 too, with keys of 8 bytes")
	growing := flag.Bool("growing", false, "measure filters that grow, and nothing else")
	most := flag.Float64("most", 1e8, "the largest number of keys for -growing")
	out := flag.String("o", ".", "directory to write to")
	flag.Parse()
	if *growing {
		if err := measureGrowing(int(*most), *out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := measureAll(*sizes, *widths, limits{max(3, *rounds), *budget}, *others, *huge, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measureAll(sizes, widths string, lim limits, others, huge bool, out string) error {
	// Garbage is collected between rounds only.
	debug.SetGCPercent(-1)

	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	var r report
	if others {
		dir, err := os.MkdirTemp("", "benchmarks-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		progress("building foreign programs")
		r.foreign, r.versions, r.missing = buildForeign(dir)
		for _, m := range r.missing {
			progress(m)
		}
	}
	start := time.Now()
	for _, size := range strings.Split(sizes, ",") {
		n, err := strconv.ParseFloat(size, 64)
		if err != nil || !(n >= 1 && n <= 1e8) {
			return fmt.Errorf("n = %s is not a number from 1 to 1e8", size)
		}
		for _, k := range kinds {
			if !strings.Contains(","+widths+",", ","+k.name+",") {
				continue
			}
			progress("n = %s, keys of %s", size, k.name)
			r.tables = append(r.tables, table{int(n), k, compare(k, int(n), r.foreign, lim)})
		}
	}
	progress("goroutines")
	r.scaling = compareGoroutines()
	if huge {
		progress("n = 1e9")
		r.tables = append(r.tables, compareHuge(1e9))
	}
	r.elapsed = time.Since(start)
	if err := r.chart(filepath.Join(out, "chart.svg")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "RESULTS.md"), []byte(r.markdown()), 0o644)
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// power writes n as 1e5 where it is a power of ten.
func power(n int) string {
	if e := math.Round(math.Log10(float64(n))); n == int(math.Pow(10, e)) {
		return fmt.Sprintf("1e%.0f", e)
	}
	return strconv.Itoa(n)
}
