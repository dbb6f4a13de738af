package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	boom "github.com/tylertreat/BoomFilters"
)

// grower is a filter that keys are added to from none to the last point. Its functions
// loop over the keys themselves.
type grower struct {
	name, note string
	color      color.Color
	make       func(n uint64) // for n keys, if it needs to know
	again      bool           // made anew for every point
	foreign    bool
	add        func(keys)
	count      func(keys) int
	bits       func() uint64
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

// growingBudget is how long a grower that is not this module's may take for one point, by
// what the point before took, before it is left out.
const growingBudget = 30 * time.Second

func growers() []*grower {
	var g *growing.Filter
	var right *bloom.Filter
	var scalable *boom.ScalableBloomFilter
	return []*grower{
		{
			name: "growing.Filter", note: "growing.New(0.01)", color: color.RGBA{0x44, 0x77, 0xaa, 0xff},
			make: func(uint64) { g = bloom.Must(growing.New(rate)) },
			add: func(ks keys) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					g.Add(b[:w:w])
				}
			},
			count: func(ks keys) (n int) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					if g.Contains(b[:w:w]) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return 8 * uint64(g.SizeBytes()) },
		},
		{
			name: "bloom.Filter, made for n", note: "bloom.New(n, 0.01) for each n", color: color.RGBA{0x22, 0x88, 0x33, 0xff}, again: true,
			make: func(n uint64) { right = bloom.Must(bloom.New(n, rate)) },
			add: func(ks keys) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					right.Add(b[:w:w])
				}
			},
			count: func(ks keys) (n int) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					if right.Contains(b[:w:w]) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return right.M() },
		},
		{
			name: "BoomFilters, scalable", note: "NewDefaultScalableBloomFilter(0.01), its Add, which reports nothing, and Test", foreign: true, color: color.RGBA{0xcc, 0x33, 0x11, 0xff},
			make: func(uint64) { scalable = boom.NewDefaultScalableBloomFilter(rate) },
			add: func(ks keys) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					scalable.Add(b[:w:w])
				}
			},
			count: func(ks keys) (n int) {
				for b, w := ks.buf, ks.width; len(b) >= w; b = b[w:] {
					if scalable.Test(b[:w:w]) {
						n++
					}
				}
				return n
			},
			bits: func() uint64 { return 8 * uint64(bloom.Must(scalable.WriteTo(io.Discard))) },
		},
	}
}

// grow measures g at every point.
func (g *grower) grow(ns []int) (points []point) {
	const most = 100_000 // keys looked up, but for absent ones
	k := kinds[0]
	ks := k.make(0, growingBlock)
	from := 0
	g.make(uint64(ns[0]))
	var last time.Duration
	for i, n := range ns {
		if g.again {
			from = 0
			debug.FreeOSMemory()
			g.make(uint64(n))
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
			block(part, g.add)
		}
		from = n
		pt.add = median()
		pt.bits = float64(g.bits()) / float64(n)

		// Keys that are present are spread over all that were added.
		looks, found := min(most, n), 0
		count := func(ks keys) { found += g.count(ks) }
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
		points = append(points, pt)
		last = time.Since(began)
		progress("%s, %s keys: %.2f bits, %.3f %%, %.1f ns add, %.1f present, %.1f absent", g.name, short(n), pt.bits, 100*pt.rate, pt.add, pt.present, pt.absent)
	}
	return points
}

// measureGrowing writes GROWING.md and growing.svg, with filters of up to most keys.
func measureGrowing(most int, out string) error {
	debug.SetGCPercent(100)
	var ns []int
	for n := 1000; n <= most; n *= 10 {
		ns = append(ns, n)
		if 3*n <= most {
			ns = append(ns, 3*n)
		}
	}
	start := time.Now()
	all := growers()
	var points [][]point
	for _, g := range all {
		points = append(points, g.grow(ns))
		*g = grower{name: g.name, note: g.note, color: g.color}
		debug.FreeOSMemory()
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("# Growing\n\nA filter that grows beside one that was made for the keys that it holds, at a rate of 1 %%.\n\n")
	p("Made by `%s` in %v.\n\n", strings.TrimSpace("go run . "+strings.Join(os.Args[1:], " ")), time.Since(start).Round(time.Second))
	p("- Machine: %s\n- %s; %s\n\n", machine(), runtime.Version(), strings.Join(modules(), "; "))
	p("![Rate, memory and time as filters grow](growing.svg)\n\n")
	for i, g := range all {
		p("## %s\n\n`%s`\n\n", g.name, g.note)
		p("| keys | false positives | bits per key | add, ns | present, ns | absent, ns |\n|---|---|---|---|---|---|\n")
		for _, pt := range points[i] {
			p("| %s | %.3f %% | %.2f | %.1f | %.1f | %.1f |\n", short(pt.n), 100*pt.rate, pt.bits, pt.add, pt.present, pt.absent)
		}
		if len(points[i]) < len(ns) {
			p("\nThe next row would take it more than %v.\n", growingBudget)
		}
		p("\n")
	}
	p("Keys have 8 bytes. One goroutine adds them, and looks up others after each row's number: 100,000 of those that were added, "+
		"spread over all, and a million that were not, or as many as two seconds allow. Times are nanoseconds per key, hashing included: medians over "+
		"blocks of %d keys, those since the row before for add. Bits are those of the binary form.\n", growingBlock)
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "GROWING.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return growingChart(filepath.Join(out, "growing.svg"), all, points)
}

// short writes n as 2e5.
func short(n int) string {
	e := int(math.Log10(float64(n)) + 1e-9)
	return fmt.Sprintf("%de%d", n/int(math.Pow10(e)), e)
}

// growingChart draws three panels above each other.
func growingChart(path string, all []*grower, points [][]point) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	panels := []struct {
		title string
		y     func(point) float64
		log   bool
	}{
		{"False positives, %", func(p point) float64 { return 100 * p.rate }, false},
		{"Bits per key", func(p point) float64 { return p.bits }, false},
		{"Absent look-up, ns", func(p point) float64 { return p.absent }, true},
	}
	const width, height = 320, 300
	svg := vgsvg.New(vg.Points(float64(width*len(panels))), vg.Points(height))
	canvas := draw.New(svg)
	canvas.SetColor(color.White) // readers with a dark background see the chart on white
	canvas.Fill(canvas.Rectangle.Path())
	for i, panel := range panels {
		p := plot.New()
		p.Title.Text = panel.title
		p.Title.Padding = vg.Points(6)
		p.X.Label.Text = "keys"
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = plot.LogTicks{Prec: -1}
		if panel.log {
			p.Y.Scale = plot.LogScale{}
			p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
		}
		p.Add(plotter.NewGrid())
		for j, g := range all {
			var xys plotter.XYs
			for _, pt := range points[j] {
				if y := panel.y(pt); pt.n >= 20_000 { // below, 64 KB are many bits a key
					xys = append(xys, plotter.XY{X: float64(pt.n), Y: y})
				}
			}
			line, err := plotter.NewLine(xys)
			if err != nil {
				return err
			}
			line.Width = vg.Points(2)
			line.Color = g.color
			p.Add(line)
			if i == 0 {
				p.Legend.Add(g.name, line)
			}
		}
		if !panel.log {
			p.Y.Min = 0
		}
		p.Legend.Top, p.Legend.Left = true, true
		p.Legend.Padding = vg.Points(3)
		left := vg.Points(float64(i * width))
		area := draw.Crop(canvas, left+10, left+vg.Points(width)-canvas.Max.X-10, 10, -10)
		p.Draw(area)
	}
	var b strings.Builder
	if _, err := svg.WriteTo(&b); err != nil {
		return err
	}
	text := strings.ReplaceAll(b.String(), "font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif")
	return os.WriteFile(path, []byte(text), 0o644)
}
