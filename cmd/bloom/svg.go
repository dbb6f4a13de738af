package main

import (
	"fmt"
	"math"
	"strings"
)

// The picture has rates of 1e-1 to 1e-9 from left to right and bits a key upwards.
const (
	width, height      = 640, 400
	left, right        = 60, 150
	top, bottom        = 50, 50
	decades            = 9
	mostBits, bitsStep = 200, 25
)

// labels moves names apart whose lines end close together.
var labels = [...]float64{8, 2, -4, 0, -3, 0}

func xOf(p float64) float64 {
	return left + (width-left-right)*(-math.Log10(p)-1)/(decades-1)
}

func yOf(bits float64) float64 { return height - bottom - (height-top-bottom)*bits/mostBits }

// picture draws bits a key against the rate, for all types, and marks p.
func picture(p float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<style>
  text { fill: #24292f } .grid { stroke: #8886 } .mark { stroke: #888; stroke-dasharray: 4 3 }
  .c0 { stroke: #0969da } .c1 { stroke: #bc4c00 } .c2 { stroke: #1a7f37 } .c3 { stroke: #8250df } .c4 { stroke: #0f8a8a } .c5 { stroke: #cf222e } path { fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .c0 { stroke: #58a6ff } .c1 { stroke: #f0883e } .c2 { stroke: #3fb950 } .c3 { stroke: #a371f7 } .c4 { stroke: #39c5cf } .c5 { stroke: #ff7b72 } }
</style>
<text x="%d" y="24" font-size="15">Bits a key, by the rate of false positives</text>
`, width, height, left)
	for bits := 0; bits <= mostBits; bits += bitsStep {
		y := yOf(float64(bits))
		fmt.Fprintf(&b, "<path class=\"grid\" d=\"M%d %.1fH%d\" style=\"stroke-width:1\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
			left, y, width-right, left-8, y+4, bits)
	}
	for d := 1; d <= decades; d++ {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">1e-%d</text>\n", xOf(math.Pow(10, -float64(d))), height-bottom+20, d)
	}
	if p <= 0.1 && p >= math.Pow(10, -decades) {
		fmt.Fprintf(&b, "<path class=\"mark\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\">%g</text>\n", xOf(p), top, height-bottom, xOf(p)+4, top+10, p)
	}
	for i, d := range designs {
		path, y := "M", 0.0
		for at := 4; at <= 4*decades; at++ {
			rate := math.Pow(10, -float64(at)/4)
			if bits, _, _ := d.at(rate); bits > 0 {
				y = yOf(bits)
				path += fmt.Sprintf("%.1f %.1f ", xOf(rate), y)
			}
		}
		fmt.Fprintf(&b, "<path class=\"c%d\" d=\"%s\"/><text x=\"%d\" y=\"%.1f\">%s</text>\n", i, strings.TrimSpace(path), width-right+8, y+4+labels[i], d.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
