package main

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

var readmeRows = []struct {
	name, text string
	ops        []int
}{
	{"bloom.Filter", "`bloom.Filter`", []int{add, present, absent}},
	{"bloom.Filter, batches", "`bloom.Filter`, batches", []int{add, present, absent}},
	{"blocked.Filter", "`blocked.Filter`", []int{add, present, absent}},
	{"blocked.Filter, batches", "`blocked.Filter`, batches", []int{add, present, absent}},
	{"bits-and-blooms", "bits-and-blooms, `TestOrAdd`", []int{add, present, absent}},
	{"bits-and-blooms, Add", "bits-and-blooms, `Add`", []int{add}},
}

// updateReadme replaces figures in the README at path with figures of the tables. It finds the old
// ones by the words around them.
func updateReadme(path string, tables []table) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	cached := tables[0] // "In the cache"
	var rows strings.Builder
	for _, row := range readmeRows {
		r := cached.find(row.name)
		cells := []string{row.text, "", "", "", fmt.Sprintf("%.1f", r.bitsPerKey)}
		for _, op := range row.ops {
			cells[1+op] = fmt.Sprintf("%.1f", r.time(op, tenth))
		}
		rows.WriteString("| " + strings.ReplaceAll(strings.Join(cells, " | "), "  ", " ") + " |\n")
	}
	faster := ratios(tables[:1], "bloom.Filter", []int{add, present, absent}, "bits-and-blooms")
	growing := ratios(tables, "bloom.Filter", []int{add}, "growing.Filter")
	removing := ratios(tables, seiflotfy.name, []int{add}, "cuckoo.Filter", "counting.Filter")
	cpu, _ := processor()
	setup := fmt.Sprintf("%s, %d cores, with %s.", cpu, runtime.NumCPU(), runtime.Version())
	text := string(data)
	for _, place := range []struct{ pattern, text string }{
		{`(become )\S+ to \S+( times as fast)`, between(faster)},
		{"(`growing` takes )\\S+( times)", fmt.Sprintf("%.1f", growing[0])},
		{"(`counting` )\\S+ to \\S+( times)", between(removing)},
		{`(\|---\|---\|---\|---\|---\|\n)(?:\|.*\n)+(\n!\[Nanoseconds)`, rows.String()},
		{`(Tenth percentiles of \d+ turns on )[^\n]+(\n)`, setup},
	} {
		found := regexp.MustCompile(place.pattern)
		if n := len(found.FindAllString(text, -1)); n != 1 {
			return fmt.Errorf("%s has %s %d times", path, place.pattern, n)
		}
		text = found.ReplaceAllString(text, "${1}"+place.text+"${2}")
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// ratios divides the time of each operation in the named rows by its time in the row base. It
// leaves out tables without base, and named rows that a table lacks.
func ratios(tables []table, base string, operations []int, rows ...string) (found []float64) {
	for _, t := range tables {
		reference := t.find(base)
		for _, name := range rows {
			r := t.find(name)
			if r == nil || reference == nil {
				continue
			}
			for _, op := range operations {
				found = append(found, r.ratio(reference, op))
			}
		}
	}
	return found
}

func between(values []float64) string {
	return fmt.Sprintf("%.1f to %.1f", slices.Min(values), slices.Max(values))
}
