package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// answers returns a slice of n answers, in the memory of dst if that is large enough.
func answers(dst []bool, n int) []bool { return slices.Grow(dst[:0], n)[:n] }

// filter is a filter of this module or of another library.
type filter interface {
	Stats() bloom.Stats
	infoHolder
	saver
}

// hashFilter is a filter of this module, with methods that take the digests of keys.
type hashFilter interface {
	filter
	ContainsHash(bloom.Hash) bool
	AddBatch([]bool, []bloom.Hash)
	ContainsBatch([]bool, []bloom.Hash)
}

// cuckooFilter gives a cuckoo.Filter an AddBatch method: added[i] is false only if the filter had
// no room for the key.
type cuckooFilter struct{ *cuckoo.Filter }

func (f cuckooFilter) AddBatch(added []bool, hs []bloom.Hash) {
	f.InsertBatch(answers(added, len(hs)), hs)
}

func newCuckoo(n uint64, p float64) (cuckooFilter, error) {
	f, err := cuckoo.New(n, min(p, limits.MostCuckooRate))
	return cuckooFilter{f}, err
}

// contains sets found[i] to whether f may have the key of b.Hashes[i].
func contains(f filter, found []bool, b *lines.Batch) {
	hashed, keyed := methodsOf(f)
	if hashed != nil {
		hashed.ContainsBatch(found, b.Hashes)
		return
	}
	for i := range found {
		found[i] = keyed.Contains(b.Key(i))
	}
}

// addBatch adds the keys of b to f, and sets added[i] to whether the key of b.Hashes[i] was
// certainly new or, in a cuckooFilter, had room.
func addBatch(f filter, added []bool, b *lines.Batch) {
	hashed, keyed := methodsOf(f)
	if hashed != nil {
		hashed.AddBatch(added, b.Hashes)
		return
	}
	for i := range added {
		added[i] = keyed.Add(b.Key(i))
	}
}

type loaded struct {
	filter
	path       string
	kind       kind
	size       int64 // the length of the file in bytes
	compressed bool
}

// load reads a filter of any type, which may be compressed with gzip or zstd.
func load(path string) (*loaded, error) { return loadAs(path, path) }

// loadAs is like load, but its errors show name instead of path.
func loadAs(path, name string) (*loaded, error) {
	info, err := os.Stat(path)
	switch {
	case path == lines.Stdin:
		return nil, errors.New("standard input is for lines here: the filter must be in a file")
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, cause(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf(
			"%s is not a regular file: a filter cannot come through a pipe", name)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is not a filter: it is empty", name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, renamed(err, path, name)
	}
	defer file.Close()
	if err := fits(name, float64(info.Size())); err != nil {
		return nil, err
	}
	head, err := peek(file)
	if err != nil {
		return nil, renamed(err, path, name)
	}
	k, ok := kindOf(head)
	switch {
	case ok:
		f, err := k.load(path)
		return &loaded{f, name, k, info.Size(), false}, renamed(err, path, name)
	case form.KindOf(head) == form.Bank:
		return nil, fmt.Errorf("%s is a bank, not a filter; see bloom help bank", name)
	case form.Name(head) == "patch":
		return nil, fmt.Errorf("%s is a patch, not a filter: bloom patch FILE PATCH", name)
	case !lines.Compressed(head):
		return nil, noFilter(name, head)
	}
	f, err := unpacked(name, io.MultiReader(bytes.NewReader(head), file))
	if err == nil {
		f.size = info.Size()
	}
	return f, err
}

// renamed returns err, with name in place of path if err is about the file at path.
func renamed(err error, path, name string) error {
	var in *form.FileError
	var failed *fs.PathError
	switch {
	case errors.As(err, &in) && in.Path == path:
		return &form.FileError{Path: name, Err: in.Err}
	case errors.As(err, &failed) && failed.Path == path:
		return &fs.PathError{Op: failed.Op, Path: name, Err: failed.Err}
	}
	return err
}

var errNoFilter = errors.New("not a filter")

func noFilter(name string, head []byte) error {
	if bytes.HasPrefix(head, []byte("\xac\xed")) {
		return fmt.Errorf("%s is %w: a Java ObjectOutputStream wrote it; "+
			"BloomFilter.writeTo writes a filter", name, errNoFilter)
	}
	return fmt.Errorf("%s is %w: it begins with %q", name, errNoFilter, head[:min(len(head), 8)])
}

// filterFirst adds the order of the arguments to an errNoFilter, for commands that take a filter
// and then files of lines.
func filterFirst(command string, err error) error {
	if errors.Is(err, errNoFilter) {
		return fmt.Errorf("%w (the filter comes first, then lines: bloom %s FILE lines.txt)",
			err, command)
	}
	return err
}

// loadAny is like load, but reads standard input if path is "-".
func loadAny(path string) (*loaded, error) {
	if path != lines.Stdin {
		return load(path)
	}
	return unpacked("standard input", os.Stdin)
}

// unpacked loads a filter from r through a temporary file.
func unpacked(name string, r io.Reader) (*loaded, error) {
	head, err := peek(r)
	if err != nil {
		return nil, err
	}
	arrived := lines.NewArrived(io.MultiReader(bytes.NewReader(head), r))
	in, err := lines.DecompressFilter(arrived)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	inner, err := peek(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Refuse other data before it fills the disk.
	if _, ok := kindOf(inner); !ok && len(inner) > 0 && form.KindOf(inner) == nil {
		return nil, noFilter(name, inner)
	}
	file, path, err := temporaryAt("bloom-*")
	if err != nil {
		return nil, err
	}
	defer discard(file)
	err = copyChecked(file, io.MultiReader(bytes.NewReader(inner), in), arrived)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f, err := loadAs(path, name)
	if err != nil {
		return nil, err
	}
	f.compressed = lines.Compressed(head)
	return f, nil
}

// copyChecked copies src, the decompressed bytes of arrived, to file. It calls arrived.Check after
// each MiB.
func copyChecked(file io.Writer, src io.Reader, arrived *lines.Arrived) error {
	for copied := int64(0); ; {
		n, err := io.CopyN(file, src, 1<<20)
		copied += n
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := arrived.Check(copied); err != nil {
			return fmt.Errorf("it unpacks to %w", err)
		}
	}
}

// peek reads up to 24 bytes, which is as much as kindOf needs.
func peek(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, 24))
}

// replaceable reports whether the file at path is missing, is empty, or is almost certainly a
// filter, a bank or a patch. It returns false for a bits-and-blooms filter, because other files may
// begin like one.
func replaceable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	head, err := peek(file)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return err == nil
	}
	if begins("BLM")(head) {
		// In a frame, a capital letter, a control character and a zero byte follow the magic. Text
		// has no zero bytes.
		return len(head) > 5 && 'A' <= head[3] && head[3] <= 'Z' && head[4] < ' ' && head[5] == 0
	}
	k, ok := kindOf(head)
	return ok && (k.sure == nil || k.sure(head, info.Size()))
}

// checkPacked returns an error if the file at path is not replaceable, and is compressed or of a
// kind that lines.Begin refuses.
func checkPacked(path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || replaceable(path) {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil // reading it later reports the error
	}
	defer file.Close()
	_, name, err := lines.Begin(file, '\n')
	var kind lines.KindError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: %w", path, err)
	case name != "":
		return fmt.Errorf("%s %w", path, errCompressed)
	}
	return nil
}

var errCompressed = errors.New("is compressed; decompress it first")

type foreignFilter struct{ foreignBytes }

type foreignBytes interface {
	Stats() bloom.Stats
	io.WriterTo
}

// foreignKeyFilter is a foreignFilter that hashes keys as its own library does.
type foreignKeyFilter struct {
	foreignFilter
	keyedFilter
}

type keyedFilter interface {
	Add(key []byte) bool
	Contains(key []byte) bool
}

// Info returns a zero Info, because the files of other libraries have none.
func (f foreignFilter) Info() bloom.Info             { return bloom.Info{} }
func (f foreignFilter) UpdateInfo(func(*bloom.Info)) {}

func withKeys[F interface {
	foreignBytes
	keyedFilter
}](f F) filter {
	return foreignKeyFilter{foreignFilter{f}, f}
}

func withoutKeys(f *foreign.Holiman) filter { return foreignFilter{f} }

func foreignLoader[F any](
	library string, decode func([]byte) (F, error), filterOf func(F) filter,
) func(string) (filter, error) {
	return func(path string) (filter, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := decode(data)
		if err != nil {
			return nil, form.In(path, fmt.Errorf(
				"it begins like a filter of %s, but cannot be read: %w", library, err))
		}
		return filterOf(f), nil
	}
}

// loadKeys is like load, but refuses a filter with hashes that only its own library can compute.
func loadKeys(path string) (*loaded, error) {
	f, err := load(path)
	if err != nil {
		return nil, err
	}
	if f.kind.opaque {
		return nil, fmt.Errorf("%s holds hashes that only the program that made it can compute, "+
			"so bloom cannot look lines up in it: a Go program can, with foreign.NewHoliman", path)
	}
	return f, nil
}
