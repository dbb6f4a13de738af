package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/window"
)

type dedupeFlags struct {
	size      filterFlags
	input     inputFlags
	file      target // the file of --state
	shard     shard
	state     string
	out       string
	span      time.Duration
	saveEvery time.Duration
	sizeGiven bool // -n, -p or --span was given
}

func dedupeCommand() *cobra.Command {
	var o dedupeFlags
	c := &cobra.Command{
		Use:        "dedupe [-n N] [-p P] [--state FILE] [file ...]",
		SuggestFor: []string{"uniq"},
		RunE:       o.run,
	}
	flags := c.Flags()
	o.size.register(flags,
		"different lines to expect; else it grows",
		"new lines left out by mistake", 1e-6)
	flags.StringVar(&o.state, "state", "",
		"`FILE` that remembers lines from run to run")
	flags.StringVarP(&o.out, "output", "o", "",
		"`OUT` to append lines to; else standard output")
	flags.DurationVar(&o.saveEvery, "save-every", time.Minute,
		"time between saves of FILE")
	flags.Var((*span)(&o.span), "span", "forget lines after that time, such as 24h or 7d")
	o.shard.register(flags)
	o.file.addForce(flags)
	flags.Lookup("force").Usage =
		"continue with or replace FILE, whatever it is"
	o.input.register(flags)
	return c
}

func (o *dedupeFlags) run(c *cobra.Command, args []string) error {
	if o.state == "" && stdoutClosed() {
		return errNoStdout
	}
	cfg, err := o.input.config(args)
	if err != nil {
		return err
	}
	cfg.Blank = true
	cfg.Select = o.shard.selector()
	if err := o.check(c); err != nil {
		return err
	}
	if err := checkReadable(cfg.Names); err != nil {
		return err
	}
	if o.state != "" {
		if err := checkPacked(o.state); err != nil {
			return err // even with --force, which would replace the file
		}
		release, err := o.file.lock(c.Context(), o.state, cfg.Names...)
		if err != nil {
			return err
		}
		defer release()
		if err := o.file.reads(); err != nil {
			return err
		}
	}
	d, err := o.open(cfg)
	if err != nil {
		return err
	}
	release, err := o.openOutput(c.Context(), d, cfg)
	if err != nil {
		return err
	}
	defer release()
	return d.run(c.Context(), cfg)
}

// check returns an error if flags contradict each other, have no effect or are out of range. It
// sets o.sizeGiven, and o.out to "" for standard output.
func (o *dedupeFlags) check(c *cobra.Command) error {
	given := c.Flags().Changed
	o.sizeGiven = given("lines") || given("rate") || given("span")
	if isStdout(o.out) {
		o.out = ""
	}
	for _, name := range []string{"save-every", "wait", "force"} {
		if given(name) && o.state == "" {
			return usageError{fmt.Errorf(
				"--%s needs --state: without it there is no file to save", name)}
		}
	}
	switch {
	case o.out != "" && o.state == "":
		return usageError{errors.New("-o needs --state; without a state, use > OUT")}

	case given("span") && o.span <= 0:
		return usageError{fmt.Errorf("--span %v must be longer than 0", o.span)}
	case o.span != 0 && o.size.n == 0:
		return usageError{errors.New("--span needs -n, the number of lines that come in that time")}
	case o.span != 0:
		return o.size.check(0, "")
	case o.size.n == 0:
		return o.size.check(limits.GrowingRate, fmt.Sprintf("; with -n it is %v", limits.BlockedRate))
	}
	return o.size.check(limits.BlockedRate, "")
}

// open returns a deduper with the filter of the state's file, or with a new one. It sets cfg.Key
// from the file's Info.
func (o *dedupeFlags) open(cfg *lines.Config) (*deduper, error) {
	d := &deduper{
		arrived: arrivals{total: totalSize(cfg.Names), read: &cfg.Read, shard: o.shard},
		state:   state{every: o.saveEvery, saved: time.Now()},
	}
	if o.state != "" {
		d.state.file = &o.file
	}
	if o.span == 0 { // with --span, -n is a number of lines per span, not per run
		d.room = o.shard.share(uint64(o.size.n))
	}
	fresh, err := o.newMemory(&d.arrived)
	if err != nil {
		return nil, o.size.outside(err, o.shard)
	}
	saved, err := o.load()
	switch {
	case err != nil:
		return nil, err
	case saved == nil:
		keyRule{o.input.key, o.shard}.setInfo(fresh.f, "", false)
		changeFacts(fresh.f, func(facts url.Values) {
			setPlace(facts, o.input.key) // even if keys are whole lines
		})
		d.seen = fresh
		return d, nil
	}
	f, err := o.accept(saved, fresh)
	if err != nil {
		return nil, err
	}
	cfg.Key = o.input.key // accept has set it from saved's Info
	d.blank = recordsBlank(saved)
	d.seen = memoryOf(f)
	d.held = saved.Stats().ApproxCount
	return d, nil
}

// load returns the filter of the state's file, or nil if the run makes a new one.
func (o *dedupeFlags) load() (*loaded, error) {
	if o.state == "" {
		return nil, nil
	}
	if o.file.force {
		info, err := os.Stat(o.file.path)
		if err != nil || info.Size() == 0 || !replaceable(o.file.path) {
			return nil, nil
		}
	}
	saved, err := load(o.file.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return saved, err
}

// accept returns the filter of saved, or an error if the run cannot continue with it. It sets
// o.input.key from saved's Info, and then updates that Info; see mergeInfo.
func (o *dedupeFlags) accept(saved *loaded, fresh *memory) (hashFilter, error) {
	saved.path = o.state
	switch {
	case saved.compressed:
		return nil, fmt.Errorf("%s %w", o.state, errCompressed)
	case o.sizeGiven && !sameSize(saved.filter, fresh.f):
		return nil, fmt.Errorf("%s holds a %s that -n, -p and --span do not fit; "+
			"leave them out to continue with it", o.state, saved.kind.name)
	}
	if made := shardIn(saved); made != o.shard && max(made.n, o.shard.n) > 1 {
		return nil, fmt.Errorf("%s was made with --shard %q, but --shard is %q now",
			o.state, &made, &o.shard)
	}
	if err := saved.keyFromInfo(&o.input.key, o.input.flags); err != nil {
		return nil, err
	}
	if err := saved.checkPlace(o.input.key.Place); err != nil && !o.file.force {
		return nil, err
	}
	if hash := saved.Info().Hash; ownHash(hash) && !o.file.force {
		return nil, usageError{fmt.Errorf("%s says that its keys are %q, "+
			"so lines would be mixed with other keys; "+
			"--force continues anyway", o.state, hash)}
	}
	keyRule{o.input.key, o.shard}.mergeInfo(saved)
	f, _ := methodsOf(saved.filter)
	if f == nil || saved.kind.repeats {
		return nil, fmt.Errorf("%s is a %s, to which dedupe cannot add; "+
			"bloom build makes filters of other types", o.state, saved.kind.name)
	}
	return f, nil
}

func (o *dedupeFlags) newMemory(arrived *arrivals) (*memory, error) {
	n := o.shard.share(uint64(o.size.n))
	switch {
	case o.span != 0:
		if err := planner(planWindow).fits(n, o.size.p); err != nil {
			return nil, err
		}
		f, err := window.New(dedupeWindow(n, o.size.p, o.span))
		return memoryOf(f), err
	case n > 0:
		k, _ := kindFor("blocked")
		f, err := fitting(k, n, o.size.p)
		if err != nil {
			return nil, err
		}
		return memoryOf(f), nil
	}
	return newGrower(o.size.p, o.state != "", arrived.left)
}

// sameSize reports whether saved has the type, rate, span and room of fresh. If fresh was made
// without -n, any room will do.
func sameSize(saved filter, fresh hashFilter) bool {
	have, want := saved.Info(), fresh.Info()
	switch {
	case reflect.TypeOf(saved) != reflect.TypeOf(fresh), have.P != want.P:
		return false
	case want.N != 0 && have.N != want.N:
		return false
	}
	span, _ := spanOf(saved)
	wantSpan, _ := spanOf(fresh)
	return span == wantSpan
}

// openOutput opens standard output or the file of -o. It locks the file until release is called,
// and adds the lines of the file's tail to the filter; see takeTail.
func (o *dedupeFlags) openOutput(ctx context.Context, d *deduper, cfg *lines.Config) (
	release func(), err error,
) {
	taken := append(cfg.Names, o.file.path)
	if o.out == "" {
		if o.state != "" && stdoutClosed() {
			return nil, errClosed
		}
		if err := checkStdout(taken...); err != nil {
			return nil, err
		}
		return func() {}, d.out.openStdout(cfg.Delim)
	}
	file := target{wait: o.file.wait, appends: true}
	if release, err = file.lock(ctx, o.out, taken...); err != nil {
		return nil, err
	}
	err = d.out.open(file.path, o.state, d.seen.f, cfg.Delim)
	if err == nil {
		err = d.takeTail(cfg)
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}
