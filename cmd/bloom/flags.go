package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// count is a number of lines, such as 1000000, 1,000,000, 1e6 or 1M.
type count uint64

// grouped matches a number with commas, as this program prints it.
var grouped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+$`)
})

func (c *count) Type() string { return "N" }

func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*c), 10)
}

func (c *count) Set(s string) error {
	number := strings.ReplaceAll(s, "_", "")
	if strings.Contains(s, ",") && grouped().MatchString(s) {
		number = strings.ReplaceAll(s, ",", "")
	}
	if n, err := strconv.ParseUint(number, 10, 64); err == nil && n > 0 {
		*c = count(n)
		return nil
	}
	unit := 1.0
	if i := len(number) - 1; i > 0 && strings.ContainsRune("kmgtb", rune(number[i]|0x20)) {
		unit = map[byte]float64{'k': 1e3, 'm': 1e6, 'g': 1e9, 'b': 1e9, 't': 1e12}[number[i]|0x20]
		number = number[:i]
	}
	x, err := strconv.ParseFloat(number, 64)
	x *= unit
	if err != nil || !(x >= 1 && x < 1<<63) || x != math.Trunc(x) {
		return fmt.Errorf("%q is not a number of lines, such as 1000, 1e6 or 10M", s)
	}
	*c = count(x)
	return nil
}

// rate is a fraction, written as 0.01, 1e-6 or 1%.
type rate float64

func (r *rate) Type() string { return "P" }

func (r *rate) String() string { return strconv.FormatFloat(float64(*r), 'g', -1, 64) }

func (r *rate) Set(s string) error {
	number := s
	if percent, ok := strings.CutSuffix(s, "%"); ok {
		number = strings.TrimSpace(percent) + "e-2"
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return fmt.Errorf("%q is not a rate, such as 0.001, 1e-6 or 1%%", s)
	}
	*r = rate(x)
	return nil
}

// span is a duration. It may begin with weeks and days: 7d, or 1w2d12h. A day has 24 hours.
type span time.Duration

func (s *span) Type() string { return "duration" }

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *span) Set(text string) error {
	rest := text
	sum := 0.0
	for _, unit := range []struct {
		name  string
		hours float64
	}{{"w", 7 * 24}, {"d", 24}} {
		number, after, found := strings.Cut(rest, unit.name)
		if !found {
			continue
		}
		hours, err := time.ParseDuration(number + "h")
		if err != nil || strings.Trim(number, "0123456789.") != "" {
			return errSpan
		}
		sum += float64(hours) * unit.hours
		rest = after
	}
	if rest != "" || text == "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 && rest != text {
			return errSpan
		}
		sum += float64(d)
	}
	if sum >= math.MaxInt64 {
		return fmt.Errorf("%q is longer than 292 years", text)
	}
	*s = span(sum)
	return nil
}

var errSpan = errors.New(`must be a duration like "90m", "24h", "7d" or "1w"`)

// filterFlags has the number of lines that a filter must have room for, and its rate.
type filterFlags struct {
	n count
	p float64
}

func (f *filterFlags) register(flags *pflag.FlagSet, n, p string, ordinary float64) {
	flags.VarP(&f.n, "lines", "n", n)
	f.p = ordinary
	flags.VarP((*rate)(&f.p), "rate", "p", p)
}

// check returns an error if f.p is outside (0, 1) or below lowest. In the second case the error
// ends with hint.
func (f *filterFlags) check(lowest float64, hint string) error {
	switch {
	case !(f.p > 0 && f.p < 1):
		return usageError{fmt.Errorf("-p %v is outside (0, 1)", f.p)}
	case f.p < lowest:
		return usageError{fmt.Errorf("-p %v is below %v, the lowest possible rate%s",
			f.p, lowest, hint)}
	}
	return nil
}

// outside turns a bloom.ParamError for n, p or Span into a usageError, and returns any other error
// as it is. part is the shard that the filter is for.
func (f *filterFlags) outside(err error, part shard) error {
	var bad *bloom.ParamError
	if !errors.As(err, &bad) {
		return err
	}
	var given string
	switch bad.Param {
	case "p", "P":
		given = fmt.Sprintf("-p %v", bad.Value)
	case "Span":
		given = fmt.Sprintf("--span %v", bad.Value)
	case "n", "N":
		switch {
		case f.n == 0:
			given = fmt.Sprintf("the number of different lines, %v,", bad.Value)
		case part.n > 1:
			given = fmt.Sprintf("the share of --shard %v in -n %d, %v,", &part, f.n, bad.Value)
		default:
			given = fmt.Sprintf("-n %v", bad.Value)
		}
	default:
		return err
	}
	return usageError{outsideError{given + " is " + bad.Bound, bad}}
}

type outsideError struct {
	text string
	bad  *bloom.ParamError
}

func (e outsideError) Error() string { return e.text }

func (e outsideError) Unwrap() error { return e.bad }

type inputFlags struct {
	flags   *pflag.FlagSet
	null    bool
	key     lines.Key
	skipBad bool
	blank   bool
	long    int
}

// addBlank adds --blank. dedupe has no such flag: it always reads blank lines, too.
func (f *inputFlags) addBlank(flags *pflag.FlagSet) {
	flags.BoolVar(&f.blank, "blank", false,
		"keep blank lines, which are otherwise left out")
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.null, "null", "0", false, "lines end with a NUL byte, not with a newline")
	flags.BoolVarP(&f.null, "null-data", "z", false, "the same as -0, as in grep and sort")
	flags.IntVarP(&f.key.Field, "field", "f", 0,
		"compare only field `N` of TSV or CSV lines")
	flags.StringVar(&f.key.JSON, "json", "",
		"compare only `NAME` of JSON objects")
	flags.StringVar(&f.key.Separator, "sep", "",
		"`byte` between fields; else a tab or a comma")
	addKey(flags, &f.key)
	flags.BoolVar(&f.skipBad, "skip-bad", false,
		"leave out bad lines, and count them")
	flags.IntVar(&f.long, "long", 27,
		"allow zstd 2^`N` bytes of memory")
	f.flags = flags
}

type makeFlags struct {
	size    filterFlags
	input   inputFlags
	file    target
	comment string
}

func (f *makeFlags) register(flags *pflag.FlagSet, n, p string) {
	f.size.register(flags, n, p, 0.001)
	f.file.addOutput(flags)
	flags.StringVar(&f.comment, "comment", "", "`text` to store in the file")
	f.input.register(flags)
	f.input.addBlank(flags)
}

// maxComment is the maximum length of an Info's Comment, in bytes.
const maxComment = 4096

func (f *makeFlags) config(names []string) (*lines.Config, error) {
	if len(f.comment) > maxComment || !utf8.ValidString(f.comment) {
		return nil, usageError{fmt.Errorf(
			"--comment has %s: it must be UTF-8, and no longer than %s",
			counted(uint64(len(f.comment)), "byte"), counted(maxComment, "byte"))}
	}
	return f.input.config(names)
}

func addKey(flags *pflag.FlagSet, key *lines.Key) {
	flags.BoolVar(&key.FoldCase, "fold-case", false,
		"ignore case: A and a are the same")
	flags.BoolVar(&key.Hex, "hex", false,
		"compare the bytes of hexadecimal lines")
	flags.BoolVar(&key.KeepCR, "keep-cr", false,
		"compare the CR that ends Windows lines, too")
}

// maxName is the maximum length of the NAME of --json, in bytes. Any such NAME fits into the Meta of
// an Info.
const maxName = 512

func (f *inputFlags) config(names []string) (*lines.Config, error) {
	switch {
	case f.key.Field < 0 || f.key.Field == 0 && f.flags.Changed("field"):
		return nil, usageError{fmt.Errorf("-f %d: fields are counted from 1", f.key.Field)}
	case f.flags.Changed("json") && (f.key.JSON == "" || !utf8.ValidString(f.key.JSON)):
		return nil, usageError{fmt.Errorf("--json %q is not the name of a value", f.key.JSON)}
	case len(f.key.JSON) > maxName:
		return nil, usageError{fmt.Errorf("--json has %d bytes, but may have only %d",
			len(f.key.JSON), maxName)}
	case f.key.JSON != "" && f.key.Field > 0:
		return nil, usageError{errors.New("--json and -f cannot be used together")}
	case f.long < 10 || f.long > 31:
		return nil, usageError{fmt.Errorf("--long %d is outside [10, 31]", f.long)}
	case len(unescaped(f.key.Separator)) > 1:
		return nil, usageError{fmt.Errorf("--sep %q is not one byte", f.key.Separator)}
	case f.key.Separator != "" && f.key.Field == 0:
		return nil, usageError{fmt.Errorf("--sep needs -f")}
	}
	f.key.Separator = unescaped(f.key.Separator)
	cfg := &lines.Config{
		Names:   inputs(names),
		Delim:   '\n',
		Key:     f.key,
		Named:   f.key.Separator != "",
		SkipBad: f.skipBad,
		Blank:   f.blank,
		Window:  1 << f.long,
		Counts:  new(lines.Counts),
	}
	if f.null {
		cfg.Delim = 0
	}
	return cfg, nil
}

// unescaped returns the byte that an escape such as \t, \x1f or \0 stands for. It returns any other
// s unchanged.
func unescaped(s string) string {
	if s == `\0` {
		return "\x00"
	}
	if len(s) < 2 || s[0] != '\\' {
		return s
	}
	c, _, rest, err := strconv.UnquoteChar(s, 0)
	isByte := err == nil && rest == "" && c < 1<<8
	if !isByte {
		return s
	}
	return string([]byte{byte(c)})
}

// need returns a check that there are at least minimum and at most maximum arguments. A negative
// maximum means any number. arguments describes them in the error.
func need(minimum, maximum int, arguments string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < minimum || maximum >= 0 && len(args) > maximum {
			name := strings.TrimPrefix(c.CommandPath(), "bloom ")
			verb := "needs"
			if maximum == 0 {
				verb = "takes"
			}
			return fmt.Errorf("%s %s %s", name, verb, arguments)
		}
		return nil
	}
}
