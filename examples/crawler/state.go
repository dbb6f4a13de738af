package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed79a3ff49/bloom"
)

// A state is a crawl that can be gone on with: a folder with two files.
type state struct{ dir string }

// A frontier is what remains to be fetched.
type frontier struct {
	Start  string   `json:"start"`
	Queued []string `json:"queued"` // oldest first
}

func (s state) frontierFile() string { return filepath.Join(s.dir, "queue.json") }
func (s state) seenFile() string     { return filepath.Join(s.dir, "seen.bloom") }

// load returns what was saved, or nothing if nothing was. seen is nil where a crash
// came before the first one was saved: its keys may then be met again.
func (s state) load() (left *frontier, seen *bloom.Filter, err error) {
	data, err := os.ReadFile(s.frontierFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, os.MkdirAll(s.dir, 0o777) // better now than when saving
	}
	if err != nil {
		return nil, nil, err
	}
	left = new(frontier)
	if err := json.Unmarshal(data, left); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.frontierFile(), err)
	}
	seen, err = bloom.LoadFile(s.seenFile())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return left, seen, err
}

// save saves both, the queue before the filter: a URL that only the queue has may be
// fetched twice, one that only the filter has would never be.
func (s state) save(left frontier, seen *bloom.Filter) error {
	data, err := json.Marshal(left)
	if err != nil {
		return err
	}
	if err := replaceFile(s.frontierFile(), data); err != nil {
		return err
	}
	return seen.SaveFile(s.seenFile())
}

// replaceFile writes a file, which is there as a whole or not at all.
func replaceFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // unless it was renamed
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
