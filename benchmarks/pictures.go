package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

var (
	blue   = color.RGBA{0x1f, 0x77, 0xb4, 0xff}
	orange = color.RGBA{0xff, 0x7f, 0x0e, 0xff}
	green  = color.RGBA{0x2c, 0xa0, 0x2c, 0xff}
	purple = color.RGBA{0x94, 0x67, 0xbd, 0xff}
	teal   = color.RGBA{0x17, 0xa2, 0xb8, 0xff}
)

// Dashes help readers who cannot distinguish the colours.
var (
	solid  []vg.Length
	long   = []vg.Length{vg.Points(8), vg.Points(3)}
	dashed = []vg.Length{vg.Points(4), vg.Points(3)}
	dotted = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
)

type curve struct {
	name   string
	colour color.Color
	dashes []vg.Length
	y      func(x float64) float64 // returns NaN if there is nothing to draw at x
}

type picture struct {
	title, x, y string
	logX, logY  bool      // logarithmic axes; such an x axis runs from large to small
	about       string    // what the picture shows, in a sentence
	low, high   float64   // the range of the y axis
	ticks       []float64 // the ticks of the y axis, unless it is logarithmic
	curves      []curve
	xs          []float64
}

func short(n int) string {
	if n >= 1e5 {
		return strings.Replace(strconv.FormatFloat(float64(n), 'g', -1, 32), "e+0", "e", 1)
	}
	return strconv.Itoa(n)
}

func general(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'g', 4, 64), "e-0", "e-", 1)
}

type powers struct{}

func (powers) Ticks(low, high float64) (ticks []plot.Tick) {
	for x := math.Pow(10, math.Ceil(math.Log10(low)-1e-9)); x <= high*1.000001; x *= 10 {
		ticks = append(ticks, plot.Tick{Value: x, Label: general(x)})
	}
	return ticks
}

func marks(values []float64) (ticks plot.ConstantTicks) {
	for _, x := range values {
		ticks = append(ticks, plot.Tick{Value: x, Label: general(x)})
	}
	return ticks
}

func (pic picture) draw(path string) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = pic.title, pic.x, pic.y
	p.Title.Padding = vg.Points(8)
	p.X.Tick.Marker = marks([]float64{0.5, 1, 1.5, 2, 2.5, 3})
	p.Y.Tick.Marker = marks(pic.ticks)
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
		line.Dashes = c.dashes
		p.Add(line)
		p.Legend.Add(c.name, line)
	}
	p.Y.Min, p.Y.Max = pic.low, pic.high
	return save(p, 8.5*vg.Inch, 4*vg.Inch, 2.9*vg.Inch, path, pic.about)
}

// save writes a plot to path as SVG, with the legend to the right of the curves.
func save(p *plot.Plot, width, height, legendWidth vg.Length, path, about string) error {
	const margin = 6 // points
	legend := p.Legend
	p.Legend = plot.NewLegend()
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(4)
	legend.YOffs = vg.Points(-28)
	legend.TextStyle.Font.Size = vg.Points(11)
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, margin, -legendWidth, margin, -margin))
	legend.Draw(draw.Crop(all, width-legendWidth+margin, -margin, margin, -margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	return os.WriteFile(path, accessible(b.Bytes(), about), 0o644)
}

// accessible adds a title, fonts for systems without Liberation Sans, and colours for a dark page.
// Inverting turns white almost black, and rotating the hue brings back similar colours.
func accessible(svg []byte, about string) []byte {
	const dark = "@media (prefers-color-scheme: dark) " +
		"{ svg { filter: invert(0.9) hue-rotate(180deg) } }"
	family := []byte("font-family:Liberation Sans")
	svg = bytes.ReplaceAll(svg, family, append(family, ",Arial,Helvetica,sans-serif"...))
	start := bytes.Index(svg, []byte("<svg"))
	at := start + bytes.IndexByte(svg[start:], '>') + 1
	head := fmt.Sprintf("\n<title>%s</title>\n<style>%s</style>", about, dark)
	return slices.Insert(svg, at, []byte(head)...)
}

// drawPictures draws the pictures that need no measurement.
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

// bitsAKey shows how many bits a key needs at each rate, in filters for a million keys.
func bitsAKey() picture {
	const n = 1_000_000
	size := func(bytes int64) float64 { return 8 * float64(bytes) / n }
	p := picture{
		title: "Bits a key, by the rate of false positives",
		x:     "rate of false positives", y: "bits a key",
		about: "Bits a key by rate: bloom.Filter is the smallest from 1 in 1,200 up, cuckoo.Filter below",
		logX:  true, high: 70, ticks: []float64{0, 10, 20, 30, 40, 50, 60, 70},
	}
	p.curves = []curve{
		{"bloom.Filter", blue, solid, func(p float64) float64 {
			return float64(bloom.OptimalM(n, p)) / n
		}},
		{"blocked.Filter, 1 to 4 lines", orange, long, func(p float64) float64 {
			return float64(bloom.Must(blocked.New(n, p)).M()) / n
		}},
		{"window.Filter", purple, dotted, func(p float64) float64 {
			return size(bloom.Must(window.Config{N: n, P: p, Span: time.Hour}.SizeBytes()))
		}},
		{"cuckoo.Filter", green, dashed, func(p float64) float64 {
			return size(bloom.Must(cuckoo.New(n, p)).SizeBytes())
		}},
	}
	for e := -36; e <= -4; e++ {
		p.xs = append(p.xs, math.Pow(10, float64(e)/4))
	}
	return p
}

// rate shows how the rate changes as keys are added to a filter.
func rate() picture {
	const n, steps = 100_000, 60
	p := picture{
		title: "Rate of false positives, by the keys that a filter holds",
		x:     "keys, as a multiple of those that bloom and blocked were made for",
		y:     "rate of false positives",
		about: "Rate by keys: above the plan it rises steeply, and growing.Filter keeps its bound",
		logY:  true, low: 1e-6, high: 1,
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
		{"bloom.Filter, 1 %", blue, solid, filled(bloom.Must(bloom.New(n, 1e-2)))},
		{"blocked.Filter, 1 %", orange, solid, filled(bloom.Must(blocked.New(n, 1e-2)))},
		{"growing.Filter, at most 1 %", green, solid, filled(bloom.Must(growing.New(0, 1e-2)))},
		{"bloom.Filter, 0.01 %", blue, long, filled(bloom.Must(bloom.New(n, 1e-4)))},
		{"blocked.Filter, 0.01 %", orange, long, filled(bloom.Must(blocked.New(n, 1e-4)))},
		{"growing.Filter, at most 0.01 %", green, long, filled(bloom.Must(growing.New(0, 1e-4)))},
	}
	return p
}

// memory shows the share of keys that filters of equal size remember, by the age of the keys. The
// age of a key is the number of keys that were added after it. Keys arrive evenly.
func memory() picture {
	const n, steps = 100_000, 121
	p := picture{title: "Share of keys remembered, by age, in equally large filters",
		about: "Share of keys remembered by age: window.Filter keeps all up to its N, " +
			"flower.Filter forgets evenly",
		high: 1, ticks: []float64{0, 0.2, 0.4, 0.6, 0.8, 1},
		x: "keys that came since, as a multiple of the window's N", y: "remembered"}
	for i := range steps {
		p.xs = append(p.xs, 3*float64(i)/(steps-1))
	}
	var size int64
	windowed := func(perSpan int) func(float64) float64 { // perSpan keys arrive in a Span
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
		{"window.Filter, 1 %, N keys in a Span", purple, solid, windowed(n)},
		{"the same, 3 N keys in a Span", purple, long, windowed(3 * n)},
	}
	for _, f := range []struct {
		bits, ways int
		colour     color.Color
		dashes     []vg.Length
	}{{8, 1, teal, dotted}, {8, 3, green, dashed}, {16, 4, orange, long}} {
		filter := bloom.Must(flower.New(flower.Config{
			Slots: uint64(8 * size / int64(f.bits)), Ways: f.ways, Bits: f.bits,
		}))
		name := fmt.Sprintf("flower.Filter, %d bits, ways: %d", f.bits, f.ways)
		p.curves = append(p.curves, curve{name, f.colour, f.dashes, func(x float64) float64 {
			return filter.Recall(uint64(x * n))
		}})
	}
	return p
}

func drawSpeed(path string, t table) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Nanoseconds a key: n = %s, keys of %s, p = %s",
		short(t.n), t.kind.name, general(t.p))
	p.X.Label.Text, p.Title.Padding = "ns a key", vg.Points(8)
	var names []string
	var values [remove]plotter.Values
	for _, r := range t.results {
		isOther := strings.HasPrefix(r.name, purego) || r.name == xorFilter.name
		if isOther || r.err != nil || math.IsNaN(r.time(absent, tenth)) {
			continue
		}
		names = append([]string{r.name}, names...) // the lowest bar comes first
		for op := range values {
			values[op] = append(plotter.Values{r.time(op, tenth)}, values[op]...)
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
	height := vg.Length(len(names))*vg.Points(22) + vg.Inch
	return save(p, 9*vg.Inch, height, 2.3*vg.Inch, path,
		"Nanoseconds a key beside other libraries: blocked.Filter in batches is the fastest in Go")
}
