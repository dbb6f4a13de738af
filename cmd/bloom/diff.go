package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func diffCommand() *cobra.Command {
	var file target
	c := &cobra.Command{
		Use:  "diff -o PATCH FROM TO",
		Args: need(2, 2, "the filters FROM and TO"),
		RunE: func(c *cobra.Command, args []string) error {
			return file.produce(c, func() (saver, error) { return diffFiles(args[0], args[1]) })
		},
	}
	file.addOutput(c.Flags())
	return c
}

type patchBytes []byte

func (p patchBytes) WriteTo(w io.Writer) (int64, error) { return bytes.NewReader(p).WriteTo(w) }

func diffFiles(first, second string) (patchBytes, error) {
	a, err := loadGuava(first)
	if err != nil {
		return nil, err
	}
	b, err := loadGuava(second)
	if err != nil {
		return nil, err
	}
	patch, err := bloom.Diff(a, b)
	if errors.Is(err, bloom.ErrMismatch) {
		err = fmt.Errorf("%s and %s: %w; build both with the same -n and -p", first, second, err)
	}
	return patch, err
}

// loadGuava loads a bloom.Filter. Other types have no patches.
func loadGuava(path string) (*bloom.Filter, error) {
	f, err := loadAny(path)
	if err != nil {
		return nil, err
	}
	return guavaOf(f, path)
}

func guavaOf(f *loaded, path string) (*bloom.Filter, error) {
	g, ok := f.filter.(*bloom.Filter)
	if !ok {
		return nil, fmt.Errorf("%s is a %s: only a bloom.Filter can be patched", path, f.kind.name)
	}
	return g, nil
}

func patchCommand() *cobra.Command {
	var file target
	c := &cobra.Command{
		Use:  "patch FILE PATCH",
		Args: need(2, 2, "the filter's FILE and the PATCH"),
		RunE: func(c *cobra.Command, args []string) error {
			release, err := file.lock(c.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			defer release()
			if err := file.reads(); err != nil {
				return err
			}
			f, err := load(args[0])
			if err != nil {
				return err
			}
			if f.compressed {
				return fmt.Errorf("%s %w", args[0], errCompressed)
			}
			g, err := guavaOf(f, args[0])
			if err != nil {
				return err
			}
			spared := neverOf(g)
			if err := patchFrom(g, args[1]); err != nil {
				return fmt.Errorf("%s was not changed: %w", args[0], err)
			}
			if spared > 0 && neverOf(g) == 0 { // the patched filter may report names of --never
				warnNever(args[0], spared)
			}
			return file.save(g)
		},
	}
	file.register(c.Flags())
	return c
}

// patchFrom reads a patch from the file at path, or from standard input if path is "-", and applies
// it to f.
func patchFrom(f *bloom.Filter, path string) error {
	in := io.Reader(os.Stdin)
	if path != lines.Stdin {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	const more = 1 << 16 // a patch is at most this much longer than its filter
	data, err := io.ReadAll(io.LimitReader(in, f.SizeBytes()+more))
	if err != nil {
		return err
	}
	err = f.Patch(data)
	switch {
	case errors.Is(err, bloom.ErrMismatch):
		return fmt.Errorf("%s was made from a different filter, or has already been applied", path)
	case err != nil:
		return fmt.Errorf("%s is not a patch that bloom diff made: %w", path, err)
	}
	return nil
}
