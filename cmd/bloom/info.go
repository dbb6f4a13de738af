package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
)

// report has the values that info shows for a filter or a bank. Its JSON leaves out values that the
// type does not have.
type report struct {
	File     string   `json:"file"`
	Type     string   `json:"type"`
	Size     int64    `json:"size"`
	Files    int      `json:"files,omitempty"`
	M        uint64   `json:"m,omitempty"`
	K        int      `json:"k,omitempty"`
	Lines    int      `json:"lines,omitempty"` // cache lines per key
	Strategy string   `json:"strategy,omitempty"`
	Fill     float64  `json:"fill"`
	Keys     uint64   `json:"keys"`
	MadeFor  uint64   `json:"made_for,omitempty"`
	MadeAt   float64  `json:"made_at,omitempty"`
	Rate     float64  `json:"rate"`
	Span     float64  `json:"span,omitempty"`  // a window's Span in seconds
	Reach    *float64 `json:"reach,omitempty"` // how far back a window has every key, in seconds
	Never    uint64   `json:"never,omitempty"` // how many names the filter certainly does not report
	Hash     string   `json:"hash,omitempty"`
	Comment  string   `json:"comment,omitempty"`
	Meta     string   `json:"meta,omitempty"`
	Checksum string   `json:"checksum"` // the kind of checksum that was verified, or "none"

	bits, set string // the words for bits, and for set bits, in the text
}

func infoCommand() *cobra.Command {
	const use = "info [--json] FILE ..."
	return reportCommand(use, "at least one FILE", func(path string) (*report, error) {
		f, err := loadAny(path)
		if err != nil {
			return nil, err
		}
		return f.report(path), nil
	})
}

// reportCommand returns a command that writes a report on each argument. If makeReport fails, the
// command continues with the next argument, and fails at the end.
func reportCommand(
	use, needs string, makeReport func(path string) (*report, error),
) *cobra.Command {
	c := &cobra.Command{Use: use, Args: need(1, -1, needs)}
	asJSON := addJSON(c.Flags())
	c.RunE = func(_ *cobra.Command, args []string) (failed error) {
		if stdoutClosed() {
			return errNoStdout
		}
		for i, path := range args {
			r, err := makeReport(path)
			switch {
			case err != nil:
				if failed != nil {
					logf("%v", failed)
				}
				failed = err
				continue
			case *asJSON:
				err = writeJSON(r)
			default:
				text := strings.Repeat("\n", min(i, 1)) + printable(r.File) + "\n"
				for _, row := range r.rows() {
					text += fmt.Sprintf("  %-9s %s\n", row.Name, row.Value)
				}
				_, err = io.WriteString(os.Stdout, text)
			}
			if err != nil {
				return err
			}
		}
		return failed
	}
	return c
}

func newReport(path, kind string, s bloom.Stats, info bloom.Info) *report {
	return &report{
		File: path, Type: kind, Checksum: "CRC-32C", bits: "bits", set: "set",
		M: s.M, K: s.K, Fill: s.FillRatio, Keys: s.ApproxCount, Rate: s.FPR,
		MadeFor: info.N, MadeAt: info.P, Hash: info.Hash, Comment: info.Comment, Meta: info.Meta,
	}
}

func (f *loaded) report(path string) *report {
	s := f.Stats()
	r := newReport(path, f.kind.name, s, f.Info())
	r.Size = f.size
	r.Never = neverOf(f)
	r.Checksum = cmp.Or(f.kind.sum, r.Checksum)
	r.bits = cmp.Or(f.kind.bits, r.bits)
	r.set = cmp.Or(f.kind.set, r.set)
	if f.kind.figures != nil {
		f.kind.figures(f.filter, r)
	}
	if f.compressed {
		r.Checksum = "that of the compression"
	}
	return r
}

type row struct{ Name, Value string }

func (r *report) rows() (rows []row) {
	add := func(known bool, name, format string, args ...any) {
		if known {
			rows = append(rows, row{name, fmt.Sprintf(format, args...)})
		}
	}
	add(true, "type", "%s", r.Type)
	add(true, "size", "%s (%s)", humanize.Bytes(uint64(r.Size)), counted(uint64(r.Size), "byte"))
	add(r.Files > 0, "files", "%s", humanize.Comma(int64(r.Files)))
	add(r.M > 0, "m", "%s %s", humanize.Comma(int64(r.M)), r.bits)
	add(r.K > 0, "k", "%s a key", counted(uint64(r.K), "hash"))
	add(r.Lines > 0, "lines", "%s a key", counted(uint64(r.Lines), "cache line"))
	add(r.Strategy != "", "strategy", "%s", r.Strategy)
	add(true, "fill", "%.3g %% of the %s are %s", 100*r.Fill, r.bits, r.set)
	add(true, "keys", "about %s", humanize.Comma(int64(r.Keys)))
	add(r.MadeFor > 0, "made for", "%s at a rate of %.3g", counted(r.MadeFor, "key"), r.MadeAt)
	add(true, "rate", "%.3g of other keys are reported now", r.Rate)
	add(r.Never > 0, "never", "none of %s is reported", counted(r.Never, "given name"))
	seconds := func(s float64) time.Duration {
		return time.Duration(s * float64(time.Second)).Round(time.Second)
	}
	if r.Span > 0 {
		reach, span := seconds(*r.Reach), seconds(r.Span)
		full := "every key of the last %v is remembered"
		short := "too many keys came for %v: every key of only the last %v is remembered"
		add(reach >= span, "reach", full, span)
		add(reach < span, "reach", short, span, reach)
	}
	add(r.Hash != "", "hash", "%s", printable(r.Hash))
	add(r.Comment != "", "comment", "%s", printable(r.Comment))
	add(r.Meta != "", "meta", "%s", printable(r.Meta))
	add(r.Checksum == "none", "checksum", "none")
	add(r.Checksum != "none", "checksum", "right, %s", r.Checksum)
	return rows
}

// counted returns n with the noun in its right form, such as "2,000 lines".
func counted(n uint64, noun string) string {
	number := humanize.Comma(int64(min(n, math.MaxInt64)))
	return number + " " + english.PluralWord(int(min(n, 2)), noun, "")
}

// printable returns text in quotes if escaped changes it. Otherwise it returns text unchanged.
func printable(text string) string {
	if escaped(text) != text {
		return strconv.Quote(text)
	}
	return text
}

func addJSON(flags *pflag.FlagSet) *bool { return flags.Bool("json", false, "write JSON") }

func writeJSON(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }
