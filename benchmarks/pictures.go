package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/bloomredis"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// drawPictures draws what the libraries' own functions return, without measuring time.
func drawPictures(dir string) error {
	for name, p := range map[string]chart{"bits.svg": bitsChart(), "rate.svg": rateChart(), "memory.svg": memoryChart()} {
		if err := p.draw().write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// general writes small numbers as 1e-6.
func general(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'g', -1, 64), "e-0", "e-", 1)
}

func percent(x float64) string { return strconv.FormatFloat(math.Round(1e8*x)/1e6, 'f', -1, 64) + " %" }

// bitsChart shows what memory a key takes at each rate, in filters of a million keys.
func bitsChart() chart {
	const n = 1_000_000
	bits := func(size int64) float64 { return 8 * float64(size) / n }
	kinds := []struct {
		curve
		bits func(p float64) float64
	}{
		{curve{name: "bloom.Filter", colour: blue}, func(p float64) float64 { return float64(bloom.OptimalM(n, p)) / n }},
		{curve{name: "blocked.Filter, 1 to 4 lines", colour: orange}, func(p float64) float64 { return float64(bloom.Must(blocked.New(n, p)).M()) / n }},
		{curve{name: "growing.Filter, mean", colour: green}, growingBits},
		{curve{name: "window.Filter", colour: purple}, func(p float64) float64 {
			return bits(bloom.Must(window.New(window.Config{Capacity: n, FPR: p, Span: time.Hour, Now: func() time.Time { return time.Unix(0, 0) }})).SizeBytes())
		}},
		{curve{name: "bloomredis.Window", colour: teal, dashed: true}, func(p float64) float64 {
			return bits(bloom.Must(bloomredis.WindowConfig{Capacity: n, FPR: p, Span: time.Hour}.SizeBytes()))
		}},
		{curve{name: "counting.Filter", colour: red}, func(p float64) float64 { return bits(bloom.Must(counting.New(n, p)).SizeBytes()) }},
	}
	p := chart{
		title: "Bits a key, by the rate of false positives",
		x:     axis{title: "rate of false positives", from: 0.1, to: 1e-9, log: true, label: general},
		y:     axis{title: "bits a key", from: 4, to: 1024, log: true, ticks: []float64{4, 8, 16, 32, 64, 128, 256, 512, 1024}, label: general},
	}
	for e := 1; e <= 9; e++ {
		p.x.ticks = append(p.x.ticks, math.Pow10(-e))
	}
	for _, k := range kinds {
		for _, rate := range p.x.ticks {
			k.xs, k.ys = append(k.xs, rate), append(k.ys, k.bits(rate))
		}
		p.curves = append(p.curves, k.curve)
	}
	return p
}

// growingBits returns the mean of a growing filter's bits for each key, from 50,000
// keys to ten times as many.
func growingBits(p float64) float64 {
	f := bloom.Must(growing.New(0, p))
	sum, n := 0.0, 0
	for added := uint64(1); added <= 500_000; added++ {
		f.AddHash(bloom.SumUint64(added))
		if added >= 50_000 && added%5_000 == 0 {
			sum += 8 * float64(f.SizeBytes()) / float64(added)
			n++
		}
	}
	return sum / float64(n)
}

// rateChart shows what becomes of the rate when more keys come than a filter was made for.
func rateChart() chart {
	const n = 200_000
	type filter interface {
		AddHash(bloom.Hash) bool
		FPR() float64
	}
	kinds := []struct {
		curve
		filter
	}{
		{curve{name: "bloom.Filter, 1 %", colour: blue}, bloom.Must(bloom.New(n, 1e-2))},
		{curve{name: "blocked.Filter, 1 %", colour: orange}, bloom.Must(blocked.New(n, 1e-2))},
		{curve{name: "growing.Filter, at most 1 %", colour: green}, bloom.Must(growing.New(0, 1e-2))},
		{curve{name: "bloom.Filter, 0.01 %", colour: blue, dashed: true}, bloom.Must(bloom.New(n, 1e-4))},
		{curve{name: "blocked.Filter, 0.01 %", colour: orange, dashed: true}, bloom.Must(blocked.New(n, 1e-4))},
		{curve{name: "growing.Filter, at most 0.01 %", colour: green, dashed: true}, bloom.Must(growing.New(0, 1e-4))},
	}
	p := chart{
		title: "Rate of false positives, by the keys that a filter holds",
		x: axis{title: "keys, as a share of those that bloom and blocked were made for", from: 0, to: 3,
			ticks: []float64{0, 0.5, 1, 1.5, 2, 2.5, 3}, label: percent},
		y: axis{title: "rate of false positives", from: 1e-6, to: 1, log: true,
			ticks: []float64{1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1}, label: percent},
	}
	const step = 0.05
	for _, k := range kinds {
		key := uint64(0)
		for load := step; load < p.x.to+step/2; load += step {
			for ; float64(key) < load*n; key++ {
				k.AddHash(bloom.SumUint64(key))
			}
			if rate := k.FPR(); rate >= p.y.from {
				k.xs, k.ys = append(k.xs, load), append(k.ys, rate)
			}
		}
		p.curves = append(p.curves, k.curve)
	}
	return p
}

// memoryChart shows what share of the keys filters of one size remember. Keys come
// evenly, a key's age being the keys that came after it.
func memoryChart() chart {
	const capacity = 200_000 // keys that come within the window's span
	p := chart{
		title: "Share of keys remembered, by age, in equally large filters",
		x: axis{title: "keys that came since, as a share of the window's Capacity", from: 0, to: 3,
			ticks: []float64{0, 0.5, 1, 1.5, 2, 2.5, 3}, label: percent},
		y: axis{title: "remembered", from: 0, to: 1, ticks: []float64{0, 0.25, 0.5, 0.75, 1}, label: percent},
	}

	// The window's keys are added at the pace of one a microsecond, for longer than
	// any age that is asked for.
	const keys = 4 * capacity
	now := time.UnixMicro(0)
	w := bloom.Must(window.New(window.Config{Capacity: capacity, FPR: 0.01, Span: capacity * time.Microsecond, Now: func() time.Time { return now }}))
	for id := range uint64(keys) {
		now = time.UnixMicro(int64(id))
		w.AddHash(bloom.SumUint64(id))
	}
	const step = capacity / 100
	c := curve{name: "window.Filter, 1 %", colour: purple}
	for age := 0; age < 3*capacity; age += step {
		found := 0
		for i := range step {
			if w.ContainsHash(bloom.SumUint64(uint64(keys - 1 - age - i))) {
				found++
			}
		}
		c.xs, c.ys = append(c.xs, (float64(age)+step/2)/capacity), append(c.ys, float64(found)/step)
	}
	p.curves = append(p.curves, c)

	for _, f := range []struct {
		bits, ways int
		colour     string
		dashed     bool
	}{{8, 1, teal, false}, {8, 3, green, false}, {16, 4, orange, true}} {
		ways := fmt.Sprintf("%d ways", f.ways)
		if f.ways == 1 {
			ways = "1 way"
		}
		filter := bloom.Must(flower.New(flower.Config{Slots: uint64(8 * w.SizeBytes() / int64(f.bits)), Ways: f.ways, Bits: f.bits}))
		c := curve{name: fmt.Sprintf("flower, %d bits, %s", f.bits, ways), colour: f.colour, dashed: f.dashed}
		for age := 0; age <= 3*capacity; age += step {
			c.xs, c.ys = append(c.xs, float64(age)/capacity), append(c.ys, filter.Recall(uint64(age)))
		}
		p.curves = append(p.curves, c)
	}
	return p
}

// speed draws the times of n = 1e5 with keys of 8 bytes at a rate of 1 %, or those of
// the first table.
func (r *report) speed() *svg {
	t, ok := r.in(1e5, rate)
	if !ok {
		t = r.tables[0]
	}
	const left, right, top, bottom, width, row, bar = 200, 24, 58, 40, 770, 26, 7
	var rows []*result
	most := 0.0
	for _, res := range t.results[1:] {
		if res.err == nil && res.name != "xorfilter" { // which is built, not added to
			rows = append(rows, res)
			for op := range ops {
				if ns := res.least(op); ns > most {
					most = ns
				}
			}
		}
	}
	s := &svg{width: width, height: float64(top + bottom + row*len(rows))}
	x := func(ns float64) float64 { return left + ns/most*(width-left-right) }
	colours := [ops]string{blue, teal, orange}
	s.text(8, 18, "start", ink, bold, fmt.Sprintf("Nanoseconds a key: n = %s, keys of %d bytes, %g %% false positives", short(t.n), t.kind.width, 100*t.p))
	legend := [ops]string{"adding a key", "finding one that was added", "not finding another"}
	for op, at := range [ops]float64{left, left + 130, left + 340} {
		s.bar(at, 30, 12, 12, colours[op])
		s.text(at+18, 41, "start", ink, plain, legend[op])
	}
	for ns := 0.0; ns <= most; ns += 20 {
		s.line(x(ns), top, x(ns), s.height-bottom+4, faint)
		s.text(x(ns), s.height-bottom+20, "middle", ink, plain, general(ns))
	}
	for i, res := range rows {
		y := float64(top + row*i)
		style := plain
		if strings.HasPrefix(res.name, "bloom.") || strings.HasPrefix(res.name, "blocked.") {
			style = bold
		}
		s.text(left-8, y+row/2+4.5, "end", ink, style, res.name)
		for op := range ops {
			if ns := res.least(op); !math.IsNaN(ns) {
				s.bar(left, y+2.5+float64(op)*bar, x(ns)-left, bar-0.5, colours[op])
			}
		}
	}
	return s
}
