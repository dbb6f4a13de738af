package blocked

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

// File looks keys up in a file. Unix and Windows map the file into memory: a look-up
// reads the pages that it needs, and processes share them. So the file may be larger
// than memory. Elsewhere a File is a copy in memory.
//
// On Linux, OpenFile advises the kernel to read the pages that look-ups need, and not
// the pages around them. That is one page for nearly every absent key, and one for each
// line of a present key. 2,000 look-ups of present keys with two lines, in a file of 2
// GiB on a cloud disk, read 16 MB. They took a tenth of the time that they take without
// the advice, when they read the whole file. If memory has room for the file, and many
// keys follow, call [File.Verify] first: it reads the whole file in order.
//
// Nobody may write to the file or cut it while it is open. Look-ups would be wrong,
// or the process would die of SIGBUS. On Unix [Filter.SaveFile] may replace the
// file, and the file may be removed. The File still shows the old filter then.
//
// Many goroutines may use a File at once. [File.Close] needs it to itself; see the
// example of [bloom.OpenFile]. The methods Contains, Stats and Verify of a File
// that is zero or closed panic.
type File struct {
	f    Filter // whose words are in data, in the order of bytes that data has
	data []byte // the whole file, nil if closed
	mark
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length and the
// header. So a large file takes as long as a small one. [File.Verify] notices damaged
// bits, OpenFile does not. The caller must Close the File.
func OpenFile(path string) (*File, error) {
	f := new(File)
	data, err := frame.MapFile("blocked", path, func(data []byte) error {
		params, body, info, err := frame.Blocked.Parse(data, checkParams)
		if err != nil {
			return err
		}
		f.f.set(memory.WordsOf(data, frame.Blocked.HeadSize(), len(body)/8), int(params[1]))
		f.f.info = bloom.Info(info)
		return nil
	})
	if err != nil {
		return nil, err
	}
	memory.AdviseRandom(data)
	f.data = data
	return f, nil
}

const errClosed = "blocked: use of a File that is closed or zero"

// opened returns the Filter, which is there until f is closed.
func (f *File) opened() *Filter {
	if f.data == nil {
		panic(errClosed)
	}
	return &f.f
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (f *File) Contains(key []byte) bool {
	if bigEndian {
		return f.ContainsHash(bloom.Sum(key))
	}
	return f.opened().Contains(key)
}

// ContainsString is Contains of key's bytes, without copying them.
func (f *File) ContainsString(key string) bool { return f.Contains(memory.BytesOf(key)) }

// ContainsHash is Contains by digest.
func (f *File) ContainsHash(h bloom.Hash) bool {
	if bigEndian {
		return f.opened().containsReversed(h)
	}
	return f.opened().ContainsHash(h)
}

// bigEndian reports a machine whose words have the other order of bytes than a file's.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// containsReversed is contains where each word has its bytes in the other order.
func (f *Filter) containsReversed(h bloom.Hash) bool {
	values := spread(h)
	for l, value := range values[:f.lines] {
		var clear uint64
		for i, w := range f.words[block(&values, l, len(f.words)):][:blockWords] {
			clear |= mask(value, i) &^ bits.ReverseBytes64(w)
		}
		if clear != 0 {
			return false
		}
	}
	return true
}

// M returns the number of bits, a multiple of 256. It is 0 if f is closed.
func (f *File) M() uint64 { return f.f.M() }

// Lines returns the number of blocks in which a key has bits; see [Filter.Lines].
func (f *File) Lines() int { return f.f.lines }

// SizeBytes returns the length of the file. It is 0 if f is closed.
func (f *File) SizeBytes() int64 { return int64(len(f.data)) }

// Info returns the filter's Info.
func (f *File) Info() bloom.Info { return f.opened().info }

// Stats reads the whole filter; see [Filter.Stats].
func (f *File) Stats() bloom.Stats {
	f.opened()
	memory.AdviseSequential(f.data)
	defer memory.AdviseRandom(f.data)
	return f.f.Stats() // the same in either order of bytes
}

// String describes f by its parameters.
func (f *File) String() string { return fmt.Sprintf("File of %v", &f.f) }

// Verify reads all of the file and returns an error, which wraps [bloom.ErrFormat], if
// its bytes are not the ones that SaveFile wrote.
func (f *File) Verify() error {
	f.opened()
	memory.AdviseSequential(f.data)
	defer memory.AdviseRandom(f.data)
	return frame.Blocked.Verify(f.data)
}

// Close releases the map. No other method may run at the same time. Closing again
// does nothing.
func (f *File) Close() error {
	if f.data == nil {
		return nil
	}
	data := f.data
	f.f.set(nil, 0)
	f.data = nil
	if err := memory.Unmap(data); err != nil {
		return fmt.Errorf("blocked: unmapping: %w", err)
	}
	return nil
}
