package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Colours of middle luminance, to be read on white and on black: pages are either, and
// a picture cannot know.
const (
	ink    = "#7a7f87"
	faint  = "#7a7f8755"
	blue   = "#3d85d6"
	orange = "#d9772b"
	green  = "#2f9e5b"
	red    = "#d64f5f"
	purple = "#9a66c9"
	teal   = "#1796a3"
)

// svg is a picture that is being drawn. Its ground is transparent.
type svg struct {
	width, height float64
	body          strings.Builder
}

func (s *svg) line(x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(&s.body, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2, colour)
}

// curve draws a line through points. Who sees no colours sees which are dashed.
func (s *svg) curve(xs, ys []float64, colour string, dashed bool) {
	dash := ""
	if dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(&s.body, "<path fill=\"none\" stroke-width=\"2.5\" stroke-linejoin=\"round\" stroke=\"%s\"%s d=\"", colour, dash)
	for i := range xs {
		fmt.Fprintf(&s.body, "%c%.1f %.1f", "ML"[min(i, 1)], xs[i], ys[i])
	}
	s.body.WriteString("\"/>\n")
}

func (s *svg) bar(x, y, width, height float64, colour string) {
	fmt.Fprintf(&s.body, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, max(width, 0), height, colour)
}

// text writes at (x, y), which is the start, middle or end of its base line.
func (s *svg) text(x, y float64, anchor, colour, style, text string) {
	fmt.Fprintf(&s.body, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\"%s>%s</text>\n", x, y, anchor, colour, style, html.EscapeString(text))
}

const (
	bold  = ` font-weight="bold"`
	small = ` font-size="11"`
	plain = ""
)

func (s *svg) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	text := fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" font-family=\"Liberation Sans,Arial,Helvetica,sans-serif\" font-size=\"13\">\n%s</svg>\n",
		s.width, s.height, s.width, s.height, s.body.String())
	return os.WriteFile(path, []byte(text), 0o644)
}

// stack returns a picture of all parts, one above the other.
func stack(parts []*svg) *svg {
	s := new(svg)
	for _, p := range parts {
		fmt.Fprintf(&s.body, "<g transform=\"translate(0 %g)\">\n%s</g>\n", s.height, p.body.String())
		s.width, s.height = max(s.width, p.width), s.height+p.height
	}
	return s
}

// axis is one side of a chart.
type axis struct {
	title    string
	from, to float64 // to is at the right, or at the top; from may be more
	log      bool
	ticks    []float64
	label    func(float64) string
}

func (a axis) at(x float64) float64 {
	if a.log {
		return math.Log(x/a.from) / math.Log(a.to/a.from)
	}
	return (x - a.from) / (a.to - a.from)
}

// chart is a picture of curves with their names at the right.
type chart struct {
	title  string
	x, y   axis
	curves []curve
}

type curve struct {
	name, colour string
	dashed       bool
	xs, ys       []float64
}

func (p chart) draw() *svg {
	const left, right, top, bottom, width, height = 84, 226, 36, 48, 820, 390
	s := &svg{width: width, height: height}
	x := func(v float64) float64 { return left + p.x.at(v)*(width-left-right) }
	y := func(v float64) float64 { return height - bottom - p.y.at(v)*(height-top-bottom) }
	s.text(left, 18, "start", ink, bold, p.title)
	for _, t := range p.x.ticks {
		s.line(x(t), top, x(t), height-bottom, faint)
		s.text(x(t), height-bottom+18, "middle", ink, plain, p.x.label(t))
	}
	for _, t := range p.y.ticks {
		s.line(left, y(t), width-right, y(t), faint)
		s.text(left-8, y(t)+4.5, "end", ink, plain, p.y.label(t))
	}
	s.text((left+width-right)/2, height-8, "middle", ink, plain, p.x.title)
	fmt.Fprintf(&s.body, "<text transform=\"translate(14 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n", (top+height-bottom)/2, ink, html.EscapeString(p.y.title))

	type label struct {
		y float64
		c curve
	}
	var labels []label
	for _, c := range p.curves {
		var xs, ys []float64
		for i := range c.xs {
			xs, ys = append(xs, x(c.xs[i])), append(ys, y(c.ys[i]))
		}
		s.curve(xs, ys, c.colour, c.dashed)
		labels = append(labels, label{ys[len(ys)-1] + 4.5, c})
	}
	// Names keep off each other: from top to bottom each is pushed down as far as it
	// must, and then all back up from the bottom.
	const apart = 17
	slices.SortStableFunc(labels, func(a, b label) int { return int(math.Copysign(1, a.y-b.y)) })
	for i := 1; i < len(labels); i++ {
		labels[i].y = max(labels[i].y, labels[i-1].y+apart)
	}
	for i, lowest := len(labels)-1, float64(height-bottom+4); i >= 0; i-- {
		labels[i].y = min(labels[i].y, lowest)
		lowest = labels[i].y - apart
	}
	for _, l := range labels {
		s.text(width-right+8, l.y, "start", l.c.colour, plain, l.c.name)
	}
	return s
}
