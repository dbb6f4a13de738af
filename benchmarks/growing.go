package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	boom "github.com/tylertreat/BoomFilters"
)

// grower is a filter that keys are added to from none to the last point.
type grower struct {
	name, note, colour string
	make               func(n int) (f filter, bits func() uint64) // for n keys, if it needs to know
	again              bool                                       // made anew for every point
	foreign            bool
	points             []point
}

// point is what is measured of a grower at n keys.
type point struct {
	n                    int
	rate, bits           float64
	add, present, absent float64 // ns
}

// growingBlock is how many keys are timed at once. A block is short enough for most not to
// be interrupted, and the median of all is taken.
const growingBlock = 1000

// growingBudget is how long a grower that is not this module's may take for one point. It
// is left out from the point on that would take longer, judged by the point before.
const growingBudget = 30 * time.Second

func growers() []*grower {
	return []*grower{
		{name: "growing.Filter", note: "growing.New(0, 0.01)", colour: green, make: func(int) (filter, func() uint64) {
			g := bloom.Must(growing.New(0, rate))
			return filter{
				add:   func(ks keys) { ks.each(func(key []byte) { g.Add(key) }) },
				count: func(ks keys) int { return ks.count(func(key []byte) bool { return g.Contains(key) }) },
			}, func() uint64 { return 8 * uint64(g.SizeBytes()) }
		}},
		{name: "bloom.Filter, made for n", note: "bloom.New(n, 0.01) for each n", colour: blue, again: true, make: func(n int) (filter, func() uint64) {
			f := makeFilter(n, rate)
			return f, func() uint64 { return f.bits }
		}},
		{name: "BoomFilters, scalable", note: "NewDefaultScalableBloomFilter(0.01), its Add, which reports nothing, and Test", colour: red, foreign: true, make: func(int) (filter, func() uint64) {
			f := boom.NewDefaultScalableBloomFilter(rate)
			return filter{
				add:   func(ks keys) { ks.each(func(key []byte) { f.Add(key) }) },
				count: func(ks keys) int { return ks.count(func(key []byte) bool { return f.Test(key) }) },
			}, func() uint64 { return 8 * uint64(bloom.Must(f.WriteTo(io.Discard))) }
		}},
	}
}

// grow measures g at every point.
func (g *grower) grow(ns []int) {
	const most = 100_000 // keys looked up, but for absent ones
	k := kinds[0]
	ks := k.make(0, growingBlock)
	from := 0
	f, bits := g.make(ns[0])
	var last time.Duration
	for i, n := range ns {
		if g.again {
			from = 0
			debug.FreeOSMemory()
			f, bits = g.make(n)
		}
		if g.foreign && i > 0 && float64(last)*float64(n)/float64(ns[i-1]) > float64(growingBudget) {
			progress("%s stops before %s keys", g.name, short(n))
			break
		}
		began := time.Now()
		pt := point{n: n}
		var blocks []float64
		block := func(keys keys, do func(keys)) {
			start := time.Now()
			do(keys)
			blocks = append(blocks, float64(time.Since(start))/float64(keys.len()))
		}
		median := func() float64 {
			defer func() { blocks = blocks[:0] }()
			return quantile(blocks, 0.5)
		}
		for first := from; first < n; first += growingBlock {
			part := ks.part(0, min(growingBlock, n-first))
			k.fill(part, uint64(first))
			block(part, f.add)
		}
		from = n
		pt.add = median()
		pt.bits = float64(bits()) / float64(n)

		// Keys that are present are spread over all that were added.
		looks, found := min(most, n), 0
		count := func(ks keys) { found += f.count(ks) }
		for first := 0; first < looks; first += growingBlock {
			for j := range growingBlock {
				k.put(ks.buf[j*k.width:][:k.width], uint64(first+j)*uint64(n)/uint64(looks))
			}
			block(ks, count)
		}
		if found != looks {
			panic(fmt.Sprintf("%s found %d of %d keys that were added", g.name, found, looks))
		}
		pt.present = median()

		found = 0
		probes, start := 0, time.Now()
		for probes < absentKeys && time.Since(start) < 2*time.Second {
			k.fill(ks, uint64(absentIDs+probes))
			block(ks, count)
			probes += ks.len()
		}
		pt.absent = median()
		pt.rate = float64(found) / float64(probes)
		g.points = append(g.points, pt)
		last = time.Since(began)
		progress("%s, %s keys: %.2f bits, %.3f %%, %.1f ns add, %.1f present, %.1f absent", g.name, short(n), pt.bits, 100*pt.rate, pt.add, pt.present, pt.absent)
	}
	debug.FreeOSMemory()
}

// measureGrowing prints the tables of GROWING.md, of filters of up to most keys, and
// draws growing.svg.
func measureGrowing(most int, docs string) error {
	debug.SetGCPercent(100)
	var ns []int
	for n := 1000; n <= most; n *= 10 {
		ns = append(ns, n)
		if 3*n <= most {
			ns = append(ns, 3*n)
		}
	}
	all := growers()
	for _, g := range all {
		g.grow(ns)
		fmt.Printf("**%s**: `%s`\n\n", g.name, g.note)
		fmt.Print("| keys | false positives | bits a key | add, ns | present, ns | absent, ns |\n|---|---|---|---|---|---|\n")
		for _, pt := range g.points {
			fmt.Printf("| %s | %.3f %% | %.2f | %.0f | %.0f | %.0f |\n", short(pt.n), 100*pt.rate, pt.bits, pt.add, pt.present, pt.absent)
		}
		fmt.Println()
	}
	return growingChart(all, ns[len(ns)-1]).write(filepath.Join(docs, "growing.svg"))
}

// short writes n as 2e5.
func short(n int) string {
	e := int(math.Log10(float64(n)) + 1e-9)
	return fmt.Sprintf("%de%d", n/int(math.Pow10(e)), e)
}

// growingChart draws three charts, one above the other, of filters of up to most keys.
func growingChart(all []*grower, most int) *svg {
	keys := axis{title: "keys", from: 30_000, to: float64(most), log: true, label: func(n float64) string { return short(int(n)) }}
	for n := 100_000; n <= most; n *= 10 { // with fewer, 64 KB are many bits a key
		keys.ticks = append(keys.ticks, float64(n))
	}
	charts := []struct {
		chart
		of func(point) float64
	}{
		{chart{title: "Rate of false positives, where 1 % was asked for", x: keys,
			y: axis{title: "rate of false positives", from: 0, to: 0.06, ticks: []float64{0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06}, label: percent}},
			func(p point) float64 { return p.rate }},
		{chart{title: "Bits a key", x: keys,
			y: axis{title: "bits a key", from: 5, to: 100, log: true, ticks: []float64{5, 10, 20, 50, 100}, label: general}},
			func(p point) float64 { return p.bits }},
		{chart{title: "Time to look an absent key up", x: keys,
			y: axis{title: "nanoseconds", from: 10, to: 1e6, log: true, ticks: []float64{10, 100, 1000, 10_000, 100_000, 1e6}, label: keys.label}},
			func(p point) float64 { return p.absent }},
	}
	var parts []*svg
	for _, c := range charts {
		for _, g := range all {
			line := curve{name: g.name, colour: g.colour}
			if last := g.points[len(g.points)-1].n; last < most {
				line.name += ", to " + short(last)
			}
			for _, pt := range g.points {
				if y := c.of(pt); float64(pt.n) >= keys.from && y <= c.y.to {
					line.xs, line.ys = append(line.xs, float64(pt.n)), append(line.ys, y)
				}
			}
			if len(line.xs) > 0 {
				c.curves = append(c.curves, line)
			}
		}
		parts = append(parts, c.draw())
	}
	return stack(parts)
}
