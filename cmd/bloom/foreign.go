package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/foreign"
)

// theirs is a filter in another library's bytes.
type theirs struct {
	of interface {
		Stats() bloom.Stats
		io.WriterTo
	}
}

// keyed is one whose keys are bytes, which its own library hashes.
type keyed interface {
	filter
	Add(key []byte) bool
	Contains(key []byte) bool
}

type theirKeys struct{ theirs }

func (f theirKeys) Add(key []byte) bool      { return f.of.(keyedFilter).Add(key) }
func (f theirKeys) Contains(key []byte) bool { return f.of.(keyedFilter).Contains(key) }

type keyedFilter interface {
	Add(key []byte) bool
	Contains(key []byte) bool
}

// Info is what the file says: no more than DCSO's n and p.
func (f theirs) Info() (info bloom.Info) {
	if of, ok := f.of.(*foreign.DCSO); ok {
		info = of.Info()
	}
	return info
}

func (f theirs) SetInfo(bloom.Info)         {}
func (f theirs) Stats() bloom.Stats         { return f.of.Stats() }
func (f theirs) SaveFile(path string) error { return replaceFile(path, f.of) }

// foreignKind returns the library that a file's first bytes look like.
func foreignKind(head []byte) (kind, bool) {
	first := string(head)
	switch {
	case strings.HasPrefix(first, "\x01\x00\x00\x00\x00\x00\x00\x00"):
		return foreignKindOf("DCSO bloom", foreign.NewDCSO), true
	case strings.HasPrefix(first, "\x00\x00\x00\x00\x00\x00\x00\x00v02\n"):
		return foreignKindOf("holiman bloomfilter", foreign.NewHoliman), true
	case strings.HasPrefix(first, "\x00\x00"), strings.HasPrefix(strings.TrimLeft(first, " \t\r\n"), "{"):
		return foreignKindOf("bits-and-blooms", foreign.NewBitsAndBlooms), true
	}
	return kind{}, false
}

func foreignKindOf[F interface {
	Stats() bloom.Stats
	io.WriterTo
}](name string, decode func([]byte) (F, error)) kind {
	return kind{name: name, load: func(path string) (filter, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := decode(data)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w (in %s)", err, path)
		case name == "holiman bloomfilter":
			return theirs{f}, nil
		}
		return theirKeys{theirs{f}}, nil
	}}
}

// askable returns an error if lines are no keys of f.
func (f *loaded) askable() error {
	if _, ok := f.filter.(theirs); ok {
		return fmt.Errorf("%s is a filter of hashes that its program made in a way of its own: a Go program can ask it with foreign.NewHoliman", f.path)
	}
	return nil
}
