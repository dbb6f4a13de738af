// Package alltypes lists the root module's own filter types, for tests and tools. To add a type,
// add a row to [All]; the tests of this package name the other places that must list it.
package alltypes

import (
	"encoding"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// Filter has methods that all types share.
type Filter interface {
	Info() bloom.Info
	UpdateInfo(func(*bloom.Info))
	Stats() bloom.Stats
	Reset()
	SaveFile(path string) error
	fmt.Stringer
	slog.LogValuer
	encoding.BinaryMarshaler
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	io.WriterTo
	io.ReaderFrom
}

// View has methods that all Views share.
type View interface {
	Info() bloom.Info
	Stats() bloom.Stats
	Verify() error
	fmt.Stringer
	slog.LogValuer
	io.Closer
}

// Reader has methods that all Readers share.
type Reader interface {
	Info() bloom.Info
	fmt.Stringer
	slog.LogValuer
}

// Type describes a type of filter. All functions except New may be nil.
type Type struct {
	Name string // the name of the type with its package, such as "blocked.SyncFilter"

	// New returns an empty filter for n keys at a rate of 1 %. A flower.Filter gets n slots
	// instead, but at least 64. A filter for 100 keys cannot be combined with one for 1,000 keys.
	New func(n uint64) Filter
	// SyncOf copies a Filter into a new SyncFilter. Snapshot copies a SyncFilter into a new Filter.
	SyncOf   func(Filter) Filter
	Snapshot func(Filter) Filter

	Load       func(path string) (Filter, error)
	Open       func(path string) (View, error)
	NewView    func(data []byte) (View, error)
	NewReader  func(r io.ReaderAt, size int64) (Reader, error)
	ZeroReader func() Reader

	Command    bool // bloom build makes files of this type
	Checked    bool // the command reads files of this type, but never makes one
	JavaScript bool // bloom.mjs reads the binary form
	Invariants bool // with the invariants build tag, the type checks itself
	Guava      bool // the binary form is Guava's, which has no Info, checksum or frame
	Forgets    bool // a key that was added may be absent
	Sync       bool // the type is the SyncFilter of the row above
}

// All has a row for each type. A SyncFilter follows its Filter.
var All = []Type{{
	Name:       "bloom.Filter",
	New:        func(n uint64) Filter { return bloom.Must(bloom.New(n, 0.01)) },
	SyncOf:     func(f Filter) Filter { return bloom.NewSyncFrom(f.(*bloom.Filter)) },
	Snapshot:   func(f Filter) Filter { return f.(*bloom.SyncFilter).Snapshot() },
	Load:       func(path string) (Filter, error) { return bloom.LoadFile(path) },
	Open:       func(path string) (View, error) { return bloom.OpenFile(path) },
	NewView:    func(data []byte) (View, error) { return bloom.NewView(data) },
	NewReader:  func(r io.ReaderAt, n int64) (Reader, error) { return bloom.NewReader(r, n) },
	ZeroReader: func() Reader { return new(bloom.Reader) },
	Command:    true, JavaScript: true, Guava: true,
}, {
	Name: "bloom.SyncFilter",
	New:  func(n uint64) Filter { return bloom.Must(bloom.NewSync(n, 0.01)) },
	Sync: true, Guava: true,
}, {
	Name:       "blocked.Filter",
	New:        func(n uint64) Filter { return bloom.Must(blocked.New(n, 0.01)) },
	SyncOf:     func(f Filter) Filter { return blocked.NewSyncFrom(f.(*blocked.Filter)) },
	Snapshot:   func(f Filter) Filter { return f.(*blocked.SyncFilter).Snapshot() },
	Load:       func(path string) (Filter, error) { return blocked.LoadFile(path) },
	Open:       func(path string) (View, error) { return blocked.OpenFile(path) },
	NewView:    func(data []byte) (View, error) { return blocked.NewView(data) },
	NewReader:  func(r io.ReaderAt, n int64) (Reader, error) { return blocked.NewReader(r, n) },
	ZeroReader: func() Reader { return new(blocked.Reader) },
	Command:    true, JavaScript: true,
}, {
	Name: "blocked.SyncFilter",
	New:  func(n uint64) Filter { return bloom.Must(blocked.NewSync(n, 0.01)) },
	Sync: true,
}, {
	Name:    "growing.Filter",
	New:     func(n uint64) Filter { return bloom.Must(growing.New(n, 0.01)) },
	Load:    func(path string) (Filter, error) { return growing.LoadFile(path) },
	Command: true,
}, {
	Name:    "counting.Filter",
	New:     func(n uint64) Filter { return bloom.Must(counting.New(n, 0.01)) },
	Load:    func(path string) (Filter, error) { return counting.LoadFile(path) },
	Command: true, Invariants: true,
}, {
	Name:     "cuckoo.Filter",
	New:      func(n uint64) Filter { return bloom.Must(cuckoo.New(n, 0.01)) },
	SyncOf:   func(f Filter) Filter { return cuckoo.NewSyncFrom(f.(*cuckoo.Filter)) },
	Snapshot: func(f Filter) Filter { return f.(*cuckoo.SyncFilter).Snapshot() },
	Load:     func(path string) (Filter, error) { return cuckoo.LoadFile(path) },
	Open:     func(path string) (View, error) { return cuckoo.OpenFile(path) },
	NewView:  func(data []byte) (View, error) { return cuckoo.NewView(data) },
	Command:  true, Invariants: true,
}, {
	Name: "cuckoo.SyncFilter",
	New:  func(n uint64) Filter { return bloom.Must(cuckoo.NewSync(n, 0.01)) },
	Sync: true,
}, {
	Name:       "bank.Bank",
	New:        func(n uint64) Filter { return bloom.Must(bank.New(n, 0.01)) },
	Load:       func(path string) (Filter, error) { return bank.LoadFile(path) },
	Open:       func(path string) (View, error) { return bank.OpenFile(path) },
	NewView:    func(data []byte) (View, error) { return bank.NewView(data) },
	NewReader:  func(r io.ReaderAt, n int64) (Reader, error) { return bank.NewReader(r, n) },
	ZeroReader: func() Reader { return new(bank.Reader) },
	JavaScript: true, Invariants: true,
}, {
	Name: "flower.Filter",
	New: func(n uint64) Filter {
		return bloom.Must(flower.New(flower.Config{Slots: max(n, 64), Ways: 2, Bits: 8}))
	},
	Load:    func(path string) (Filter, error) { return flower.LoadFile(path) },
	Checked: true, Forgets: true,
}, {
	Name: "window.Filter",
	New: func(n uint64) Filter {
		return bloom.Must(window.New(window.Config{N: n, P: 0.01, Span: time.Hour, Now: clock}))
	},
	Load:       func(path string) (Filter, error) { return window.LoadFile(path) },
	Invariants: true, Forgets: true,
}}

// Forms returns the rows that are not SyncFilters: one for each package, and so one for each binary
// form.
func Forms() (types []Type) {
	for _, t := range All {
		if !t.Sync {
			types = append(types, t)
		}
	}
	return types
}

// Packages returns the names of the packages with a type that satisfies include. A package's form
// has the same name in testdata/vectors/vectors.json.
func Packages(include func(Type) bool) (names []string) {
	for _, t := range Forms() {
		if include(t) {
			names = append(names, t.Package())
		}
	}
	return names
}

// ByPackage returns the row in Forms of the named package.
func ByPackage(name string) (Type, bool) {
	for _, t := range Forms() {
		if t.Package() == name {
			return t, true
		}
	}
	return Type{}, false
}

// Package returns the name of the type's package.
func (t Type) Package() string { return t.Name[:strings.IndexByte(t.Name, '.')] }

// Zero returns a pointer to the type's zero value.
func (t Type) Zero() Filter {
	return reflect.New(reflect.TypeOf(t.New(1)).Elem()).Interface().(Filter)
}

// Decoder returns an empty filter that can decode the type's form. now is the time that a window's
// clock always shows, in nanoseconds since 1970.
func (t Type) Decoder(now int64) Filter {
	if t.Package() != "window" {
		return t.Zero()
	}
	at := func() time.Time { return time.Unix(0, now) }
	return bloom.Must(window.New(window.Config{N: 1, P: 0.5, Span: time.Hour, Now: at}))
}

// clock always returns the same time, so that windows can be compared.
func clock() time.Time { return time.Unix(1_700_000_000, 0) }

// Add adds key to f. If f is a bank, Add appends a member and adds key to it.
func Add(f Filter, key string) {
	switch f := f.(type) {
	case *bank.Bank:
		f.AddString(f.Append(), key)
	case interface{ InsertString(string) bool }:
		f.InsertString(key)
	case interface{ AddString(string) bool }:
		f.AddString(key)
	default:
		panic(fmt.Sprintf("%T adds no keys", f))
	}
}

// Has looks a key up in a filter, a View or a Reader. In a bank it looks in all members.
func Has(f any, key string) (bool, error) {
	switch f := f.(type) {
	case interface{ ContainsString(string) bool }:
		return f.ContainsString(key), nil
	case interface{ ContainsString(string) (bool, error) }:
		return f.ContainsString(key)
	case interface {
		Which([]int, bloom.Hash) []int
	}:
		return len(f.Which(nil, bloom.SumString(key))) > 0, nil
	case interface {
		Which([]int, bloom.Hash) ([]int, error)
	}:
		members, err := f.Which(nil, bloom.SumString(key))
		return len(members) > 0, err
	}
	panic(fmt.Sprintf("%T has no keys", f))
}

// Answers returns an answer for each key: 0 or 1, or the result of Which if f is a bank.
func Answers(f Filter, keys []string) (answers []any) {
	for _, key := range keys {
		if b, ok := f.(*bank.Bank); ok {
			answers = append(answers, b.Which([]int{}, bloom.SumString(key)))
			continue
		}
		answer := 0
		if found, _ := Has(f, key); found {
			answer = 1
		}
		answers = append(answers, answer)
	}
	return answers
}
