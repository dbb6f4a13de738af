package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
)

// sampleKeys is a number of keys above which sizes are in proportion to the number.
const sampleKeys = 100_000

func planGrowing(p float64) (bits float64, k int) {
	f, err := growing.New(0, p)
	const keys = 60_000 // more keys than the first 64 KB have room for
	for i := uint64(0); i < keys && err == nil; i++ {
		f.AddHash(bloom.SumUint64(i))
	}
	if err != nil {
		return 0, 0
	}
	return float64(f.SizeBytes()) * 8 / keys, 8 // k is 8, or a multiple of 8 at low rates
}

type stater interface{ Stats() bloom.Stats }

// made returns a function that makes a filter with create and measures how many bits a key needs at
// the rate p, and how many it sets. bits is 0 if there is no filter with that rate.
func made[F stater](create func(uint64, float64) (F, error)) func(p float64) (float64, int) {
	return func(p float64) (float64, int) {
		f, err := create(sampleKeys, p)
		if err != nil {
			return 0, 0
		}
		s := f.Stats()
		return float64(8*s.SizeBytes) / sampleKeys, s.K
	}
}

func planCommand() *cobra.Command {
	var size filterFlags
	var asJSON *bool
	c := &cobra.Command{
		Use:  "plan -n N [-p P] [--json]",
		Args: need(0, 0, "no arguments"),
		RunE: func(_ *cobra.Command, _ []string) error {
			if stdoutClosed() {
				return errNoStdout
			}
			if size.n == 0 {
				return usageError{errors.New("plan needs -n N; see bloom help plan")}
			}
			if err := size.check(1e-15, ""); err != nil {
				return err
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			if !*asJSON {
				fmt.Fprintf(w, "%s, %g of others reported:\n\n",
					counted(uint64(size.n), "key"), size.p)
				fmt.Fprintln(w, "type\tbits/key\tsize\tbits a key sets\t")
			}
			for _, of := range kinds {
				if of.plan == nil {
					continue
				}
				bits, k := of.plan(size.p)
				plan := planned{
					Type: of.name,
					Keys: uint64(size.n),
					Rate: size.p,
					Bits: bits,
					Size: uint64(bits * float64(size.n) / 8),
					K:    k,
					Note: of.note,
				}
				switch {
				case *asJSON:
					if err := writeJSON(plan); err != nil {
						return err
					}
				case plan.Size > 0:
					fmt.Fprintf(w, "%s\t%.1f\t%s\t%d\t%s\n",
						plan.Type, plan.Bits, humanize.Bytes(plan.Size), plan.K, plan.Note)
				default:
					fmt.Fprintf(w, "%s\t-\t-\t-\tnone at that rate\n", plan.Type)
				}
			}
			return w.Flush()
		},
	}
	size.add(c.Flags(), "keys", "other keys reported by mistake", 0.001)
	asJSON = addJSON(c.Flags())
	return c
}

// planned has the figures of a type for the given keys and rate. Size is 0 if the type has no
// filter with that rate.
type planned struct {
	Type string  `json:"type"`
	Keys uint64  `json:"keys"`
	Rate float64 `json:"rate"`
	Bits float64 `json:"bits_per_key,omitempty"`
	Size uint64  `json:"size,omitempty"`
	K    int     `json:"k,omitempty"`
	Note string  `json:"note"`
}

// exact returns create with more room for small filters. Guava's formula, which create uses,
// ignores that double hashing raises the rate of such filters above p.
func exact[F filter](create func(uint64, float64) (F, error)) func(uint64, float64) (F, error) {
	return func(n uint64, p float64) (F, error) { return create(roomFor(n, p), p) }
}

// roomFor returns a number of keys for which Guava's formula gives the size that n keys need. It
// returns n, so that the filter merges with Guava's, if Guava's size for n is at most a percent, or
// less than a word, too small and the rate is at most 1.2 p.
func roomFor(n uint64, p float64) uint64 {
	n = max(n, 1)
	guava := bloom.OptimalM(n, p)
	m, _, err := bloom.StrictSize(n, p)
	// StrictSize may count on fewer hashes than Guava's formula gives.
	keeps := func(room uint64) bool { return rateOf(room, p, n) <= 1.2*p }
	if err != nil || m <= guava+max(guava/100, 63) && keeps(n) {
		return n
	}
	// The size must not exceed m: some sizes above m have a higher rate.
	room := uint64(float64(n) * float64(m) / float64(guava))
	for ; bloom.OptimalM(room, p) > m; room-- {
	}
	for !keeps(room) {
		room += 1 + room/50
	}
	return room
}

// rateOf returns the rate of New(room, p) with n keys.
func rateOf(room uint64, p float64, n uint64) float64 {
	m, k, err := bloom.Size(room, p)
	if err != nil {
		return 0
	}
	fill := -math.Expm1(-float64(k) * float64(n) / float64(m))
	return bloom.StatsOf(m, k, uint64(math.Round(fill*float64(m)))).FPR
}

// machine is the memory of the machine in bytes, or the limit of the process's control groups if
// that is less, or 0 if it is unknown.
var machine = func() uint64 {
	total, err := memlimit.FromSystem()
	if err != nil {
		total = 0
	}
	limit, err := memlimit.FromCgroup()
	if err == nil && (total == 0 || limit < total) {
		return limit
	}
	return total
}()

// ownMemory is the memory, in bytes, that a command needs beside its filter.
const ownMemory = 32 << 20

// fits returns an error, with the text of what, if the machine has less memory than bytes. Without
// this check, Go would end the program with stack traces, or the system would kill it silently.
func fits(what string, bytes float64) error {
	if machine == 0 || bytes+ownMemory <= float64(machine) {
		return nil
	}
	needed := humanize.Bytes(uint64(min(bytes, 1<<63)))
	return memoryError{fmt.Errorf("%s takes %s of memory, and there are %s, "+
		"of which bloom itself needs %s",
		what, needed, humanize.Bytes(machine), humanize.Bytes(ownMemory))}
}

type memoryError struct{ error }

// usage returns err, which is about a size that the flags ask for, as an error of the command line.
// Its text names flags in place of Go's packages. A memoryError is returned unchanged, because the
// size may fit on another machine.
func usage(err error) error {
	if _, ok := err.(memoryError); ok || err == nil {
		return err
	}
	return usageError{errors.New(inShell.Replace(err.Error()))}
}

var inShell = strings.NewReplacer(
	"bloom.New", "--type guava",
	"blocked.New", "--type blocked",
	"package ", "--type ",
)

// fitting calls create for n lines. It returns an error if the filter needs more memory than the
// machine has.
func fitting(create func(uint64, float64) (filter, error), n uint64, p float64) (filter, error) {
	const few = 1 << 16 // above it, sizes are in proportion to n
	if n > few {
		f, err := create(few, p)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("a filter of %s at a rate of %v", counted(n, "line"), p)
		if err := fits(what, float64(f.Stats().SizeBytes)/few*float64(n)); err != nil {
			return nil, err
		}
	}
	return create(n, p)
}
