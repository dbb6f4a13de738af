package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

var (
	blue   = color.RGBA{0x1f, 0x77, 0xb4, 0xff}
	orange = color.RGBA{0xff, 0x7f, 0x0e, 0xff}
	green  = color.RGBA{0x2c, 0xa0, 0x2c, 0xff}
	red    = color.RGBA{0xd6, 0x27, 0x28, 0xff}
	purple = color.RGBA{0x94, 0x67, 0xbd, 0xff}
	teal   = color.RGBA{0x17, 0xa2, 0xb8, 0xff}
)

// curve is a line of a picture.
type curve struct {
	name   string
	colour color.Color
	dashed bool
	y      func(x float64) float64 // returns NaN if there is nothing to draw at x
}

// picture is a picture of curves over xs.
type picture struct {
	title, x, y string
	logX, logY  bool // logarithmic axes; that of x runs from large to small
	legendLeft  bool
	curves      []curve
	xs          []float64
}

// short writes large round numbers as 1e5.
func short(n int) string {
	if n >= 1e5 {
		return strings.Replace(strconv.FormatFloat(float64(n), 'g', -1, 32), "e+0", "e", 1)
	}
	return strconv.Itoa(n)
}

// general writes small numbers as 1e-6.
func general(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'g', 4, 64), "e-0", "e-", 1)
}

// powers are ticks at powers of ten.
type powers struct{}

func (powers) Ticks(from, to float64) (ticks []plot.Tick) {
	for x := math.Pow(10, math.Ceil(math.Log10(from)-1e-9)); x <= to*1.000001; x *= 10 {
		ticks = append(ticks, plot.Tick{Value: x, Label: general(x)})
	}
	return ticks
}

func (pic picture) draw(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = pic.title, pic.x, pic.y
	p.Title.Padding, p.Legend.Padding = vg.Points(8), vg.Points(2)
	p.Legend.Top = true
	p.Legend.Left = pic.legendLeft
	p.Legend.XOffs = vg.Points(8)
	p.Legend.YOffs = vg.Points(-16)
	if !pic.legendLeft {
		p.Legend.XOffs = vg.Points(-8)
	}
	var halves plot.ConstantTicks
	for x := 0.0; x <= 3; x += 0.5 {
		halves = append(halves, plot.Tick{Value: x, Label: general(x)})
	}
	p.X.Tick.Marker = halves
	if pic.logX {
		p.X.Scale, p.X.Tick.Marker = plot.InvertedScale{Normalizer: plot.LogScale{}}, powers{}
	}
	if pic.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers{}
	}
	p.Add(plotter.NewGrid())
	for _, c := range pic.curves {
		var points plotter.XYs
		for _, x := range pic.xs {
			if y := c.y(x); !math.IsNaN(y) {
				points = append(points, plotter.XY{X: x, Y: y})
			}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = c.colour, vg.Points(1.5)
		if c.dashed {
			line.Dashes = []vg.Length{vg.Points(6), vg.Points(4)}
		}
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	return p.Save(7*vg.Inch, 4*vg.Inch, path)
}

// drawPictures draws the pictures that need no measuring of time. Their figures come from this
// library's functions.
func drawPictures(dir string) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	pictures := map[string]func() picture{
		"bits.svg": bitsAKey, "rate.svg": rate, "memory.svg": memory,
	}
	for name, p := range pictures {
		if err := p().draw(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// bitsAKey shows how many bits a key takes at each rate, in filters of a million keys.
func bitsAKey() picture {
	const n = 1_000_000
	size := func(bytes int64) float64 { return 8 * float64(bytes) / n }
	p := picture{
		title: "Bits a key, by the rate of false positives",
		x:     "rate of false positives", y: "bits a key",
		logX: true, legendLeft: true,
	}
	p.curves = []curve{
		{"bloom.Filter", blue, false, func(p float64) float64 {
			return float64(bloom.OptimalM(n, p)) / n
		}},
		{"blocked.Filter, 1 to 4 lines", orange, false, func(p float64) float64 {
			return float64(bloom.Must(blocked.New(n, p)).M()) / n
		}},
		{"window.Filter", purple, false, func(p float64) float64 {
			return size(bloom.Must(window.Config{N: n, P: p, Span: time.Hour}.SizeBytes()))
		}},
		{"counting.Filter", red, false, func(p float64) float64 {
			return size(bloom.Must(counting.New(n, p)).SizeBytes())
		}},
		{"cuckoo.Filter", green, false, func(p float64) float64 {
			return size(bloom.Must(cuckoo.New(n, p)).SizeBytes())
		}},
	}
	for e := -36; e <= -4; e++ {
		p.xs = append(p.xs, math.Pow(10, float64(e)/4))
	}
	return p
}

// rate shows how the rate changes when more keys come than a filter was made for.
func rate() picture {
	const n, steps = 100_000, 60
	p := picture{
		title: "Rate of false positives, by the keys that a filter holds",
		x:     "keys, as a multiple of those that bloom and blocked were made for",
		y:     "rate of false positives",
		logY:  true, legendLeft: true,
	}
	for i := range steps {
		p.xs = append(p.xs, 3*float64(i+1)/steps)
	}
	filled := func(f interface {
		AddHash(bloom.Hash) bool
		Stats() bloom.Stats
	}) func(float64) float64 {
		key := uint64(0)
		return func(load float64) float64 {
			for ; float64(key) < load*n; key++ {
				f.AddHash(bloom.SumUint64(key))
			}
			if rate := f.Stats().FPR; rate >= 1e-6 {
				return rate
			}
			return nan
		}
	}
	p.curves = []curve{
		{"bloom.Filter, 1 %", blue, false, filled(bloom.Must(bloom.New(n, 1e-2)))},
		{"blocked.Filter, 1 %", orange, false, filled(bloom.Must(blocked.New(n, 1e-2)))},
		{"growing.Filter, at most 1 %", green, false, filled(bloom.Must(growing.New(0, 1e-2)))},
		{"bloom.Filter, 0.01 %", blue, true, filled(bloom.Must(bloom.New(n, 1e-4)))},
		{"blocked.Filter, 0.01 %", orange, true, filled(bloom.Must(blocked.New(n, 1e-4)))},
		{"growing.Filter, at most 0.01 %", green, true, filled(bloom.Must(growing.New(0, 1e-4)))},
	}
	return p
}

// memory shows the share of keys that filters of equal size remember. Keys come evenly. The age of
// a key is the number of keys that came after it.
func memory() picture {
	const n, steps = 100_000, 120
	p := picture{title: "Share of keys remembered, by age, in equally large filters",
		x: "keys that came since, as a multiple of the window's N", y: "remembered"}
	for i := range steps {
		p.xs = append(p.xs, 3*float64(i)/steps)
	}
	var size int64
	windowed := func(perSpan int) func(float64) float64 { // so many keys come in a Span
		const keys = 4 * n
		now := time.Unix(0, 0)
		w := bloom.Must(window.New(window.Config{
			N: n, P: 0.01, Span: time.Duration(perSpan) * time.Microsecond,
			Now: func() time.Time { return now },
		}))
		size = w.SizeBytes()
		for id := range uint64(keys) {
			now = now.Add(time.Microsecond)
			w.AddHash(bloom.SumUint64(id))
		}
		return func(x float64) float64 {
			const sample = 500
			found := 0
			for i := range sample {
				if w.ContainsHash(bloom.SumUint64(uint64(keys - 1 - i - int(x*n)))) {
					found++
				}
			}
			return float64(found) / sample
		}
	}
	p.curves = []curve{
		{"window.Filter, 1 %, N keys in a Span", purple, false, windowed(n)},
		{"the same, 3 N keys in a Span", purple, true, windowed(3 * n)},
	}
	for _, f := range []struct {
		bits, ways int
		colour     color.Color
	}{{8, 1, teal}, {8, 3, green}, {16, 4, orange}} {
		filter := bloom.Must(flower.New(flower.Config{
			Slots: uint64(8 * size / int64(f.bits)), Ways: f.ways, Bits: f.bits,
		}))
		name := fmt.Sprintf("flower.Filter, %d bits, ways: %d", f.bits, f.ways)
		p.curves = append(p.curves, curve{name, f.colour, false, func(x float64) float64 {
			return filter.Recall(uint64(x * n))
		}})
	}
	return p
}

// drawSpeed draws the times of a table.
func drawSpeed(path string, t table) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Nanoseconds a key: n = %s, keys of %s, p = %s",
		short(t.n), t.kind.name, general(t.p))
	p.X.Label.Text, p.Title.Padding, p.Legend.Top = "ns a key", vg.Points(8), true
	var names []string
	var values [remove]plotter.Values
	for _, r := range t.results {
		isOther := strings.HasPrefix(r.name, purego) || r.name == xorFilter.name
		if isOther || r.err != nil || math.IsNaN(r.median(absent)) {
			continue
		}
		names = append([]string{r.name}, names...) // the lowest bar comes first
		for op := range values {
			values[op] = append(plotter.Values{r.median(op)}, values[op]...)
		}
	}
	width := vg.Points(5)
	operations := []string{"adding a key", "finding one that was added", "not finding another"}
	for op, name := range operations {
		bars, err := plotter.NewBarChart(values[op], width)
		if err != nil {
			return err
		}
		bars.Horizontal, bars.LineStyle.Width = true, 0
		bars.Color, bars.Offset = []color.Color{blue, teal, orange}[op], vg.Length(1-op)*width
		p.Add(bars)
		p.Legend.Add(name, bars)
	}
	p.NominalY(names...)
	return p.Save(8*vg.Inch, vg.Length(len(names))*vg.Points(22)+vg.Inch, path)
}
