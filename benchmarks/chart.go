package main

import (
	"fmt"
	"image/color"
	"math"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
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
		if res.err != nil {
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
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Time per key: n = %s, keys of %d bytes, 1 %% false positives", power(t.n), t.kind.width)
	p.Title.Padding = vg.Points(8)
	p.X.Label.Text = "nanoseconds, empty loop taken off"
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
	p.Legend.Top = true
	p.Legend.Padding = vg.Points(3)
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, 1.03*p.X.Max
	p.Y.Min, p.Y.Max = -0.7, float64(len(names))-0.3

	svg := vgsvg.New(vg.Points(700), vg.Points(float64(100+26*len(names))))
	canvas := draw.New(svg)
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Rectangle.Path())
	const margin = 10
	p.Draw(draw.Crop(canvas, margin, -margin, margin, -margin))
	var b strings.Builder
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	// Readers without that font have others of its widths.
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif")
	return os.WriteFile(path, []byte(text), 0o644)
}
