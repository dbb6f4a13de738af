package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func totalSize(names []string) (total int64) {
	for _, name := range names {
		info, err := stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

func inputs(names []string) []string {
	if len(names) == 0 {
		return []string{lines.Stdin}
	}
	return names
}

func stat(name string) (os.FileInfo, error) {
	if name == lines.Stdin {
		return os.Stdin.Stat()
	}
	return os.Stat(name)
}

// checkReadable returns an error if inputs cannot be read. The error names up to three of them.
func checkReadable(names []string) error {
	const maxNamed = 3
	var bad []string
	for _, name := range names {
		if err := readable(name); err != nil {
			bad = append(bad, fmt.Sprintf("%s: %v", name, cause(err)))
		}
	}
	switch {
	case len(bad) == 0:
		return nil
	case len(bad) > maxNamed:
		bad[maxNamed] = fmt.Sprintf("and %d more", len(bad)-maxNamed)
		bad = bad[:maxNamed+1]
	}
	return errors.New("nothing was read: " + strings.Join(bad, "; "))
}

func readable(name string) error {
	if name == lines.Stdin {
		return nil
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("is a directory")
	case !info.Mode().IsRegular(): // opening a named pipe waits for its writer
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return file.Close()
}

func warnInput(cfg *lines.Config) {
	warnBad(cfg)
	warnAll(unparted(cfg))
}

func warnBad(cfg *lines.Config) {
	if cfg.Bad > 0 {
		warn("left out %s (--skip-bad), the first of them is %v",
			counted(uint64(cfg.Bad), "line"), cfg.FirstBad)
	}
}

// unparted returns a warning if the key is the first field, --sep is not given, and lines were read
// but none has a separator.
func unparted(cfg *lines.Config) (warnings []string) {
	if cfg.Key.Field != 1 || cfg.Keys == 0 || cfg.Parted || cfg.Named {
		return nil
	}
	between := "a tab or a comma"
	if cfg.Key.Separator != "" {
		between = fmt.Sprintf("%q", cfg.Key.Separator)
	}
	return []string{
		fmt.Sprintf("no line has %s: the whole line was taken as field 1 (--sep)", between),
	}
}
