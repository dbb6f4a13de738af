package main

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// chart draws n = 1e5 with keys of 8 bytes, or the first table without it.
func (r *report) chart(path string) error {
	t := r.tables[0]
	for _, other := range r.tables {
		if other.n == 1e5 && other.kind.width == 8 {
			t = other
		}
	}
	var names []string
	var bars [ops]plotter.Values
	for i := len(t.results) - 1; i > 0; i-- { // the first at the top, without the loop
		res := t.results[i]
		if len(res.net[add]) == 0 {
			continue
		}
		names = append(names, res.name)
		for op := range ops {
			ns := res.median(op)
			if math.IsNaN(ns) {
				ns = 0
			}
			bars[op] = append(bars[op], ns)
		}
	}
	p := plot.New()
	p.Title.Text = "Time per key, n = " + power(t.n) + ", keys of " + t.kind.name + ", 1 % false positives"
	p.X.Label.Text = "nanoseconds, loop taken off"
	p.X.Min = 0
	const width = 6
	colors := [ops]color.Color{color.RGBA{0x44, 0x77, 0xaa, 0xff}, color.RGBA{0x66, 0xcc, 0xee, 0xff}, color.RGBA{0xcc, 0xbb, 0x44, 0xff}}
	p.Add(plotter.NewGrid())
	for op, values := range bars {
		chart, err := plotter.NewBarChart(values, vg.Points(width))
		if err != nil {
			return err
		}
		chart.Horizontal = true
		chart.LineStyle.Width = 0
		chart.Color = colors[op]
		chart.Offset = vg.Points(float64(1-op) * width)
		p.Add(chart)
		p.Legend.Add(opNames[op], chart)
	}
	p.Legend.Top = false
	p.NominalY(names...)
	return p.Save(vg.Points(640), vg.Points(float64(90+26*len(names))), path)
}
