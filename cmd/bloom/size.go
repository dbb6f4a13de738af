package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	system "github.com/pbnjay/memory"

	"github.com/seed79a3ff49/bloom"
)

// exact is make, for types with Guava's indexes, but that a filter of few keys is so large
// that its rate is p. Guava's formula knows nothing of double hashing.
func exact[F filter](make func(uint64, float64) (F, error)) func(uint64, float64) (F, error) {
	return func(n uint64, p float64) (F, error) { return make(roomFor(n, p), p) }
}

// roomFor returns the number of keys for which Guava makes a filter of the size that n keys
// need. That is n where the sizes differ by a hundredth or less, so that the filter merges
// with Guava's.
func roomFor(n uint64, p float64) uint64 {
	n = max(n, 1)
	guava := bloom.OptimalM(n, p)
	m, _, err := bloom.StrictSize(n, p)
	if err != nil || m <= guava+max(guava/100, 63) {
		return n
	}
	// Not more than m: some larger sizes are worse.
	room := uint64(float64(n) * float64(m) / float64(guava))
	for ; bloom.OptimalM(room, p) > m; room-- {
	}
	return room
}

// machine is how much memory there is, in bytes: the machine's, or what its control group
// may use. 0 means that it is not known.
var machine = func() uint64 {
	total := system.TotalMemory()
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, _ := os.ReadFile(path)
		if limit, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}()

// fits returns an error if something that takes so many bytes does not fit into memory.
// Go would end with all its stacks.
func fits(what string, bytes float64) error {
	if machine == 0 || bytes <= float64(machine) {
		return nil
	}
	return memoryError{fmt.Errorf("%s takes %s of memory, and there are %s", what, humanize.Bytes(uint64(min(bytes, 1<<63))), humanize.Bytes(machine))}
}

// memoryError is that of something that does not fit into memory.
type memoryError struct{ error }

// usage returns err, of a size that was asked for, as one of the command line, without the names of
// Go. Elsewhere it may fit.
func usage(err error) error {
	if _, ok := err.(memoryError); ok || err == nil {
		return err
	}
	return usageError{errors.New(inShell.Replace(err.Error()))}
}

var inShell = strings.NewReplacer("use bloom.New", "use -type guava", "package ", "-type ", "bloom.New", "-type guava", "blocked.New", "-type blocked")

// fitting is make, which makes a filter for n lines, with an error if that takes more memory
// than there is.
func fitting(make func(n uint64, p float64) (filter, error), n uint64, p float64) (filter, error) {
	const few = 1 << 16 // with which bytes are in proportion to lines
	if n > few {
		f, err := make(few, p)
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("a filter of %s at a rate of %v", counted(n, "line"), p)
		if err := fits(what, float64(f.Stats().SizeBytes)/few*float64(n)); err != nil {
			return nil, err
		}
	}
	return make(n, p)
}
