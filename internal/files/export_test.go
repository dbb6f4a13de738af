package files

import (
	"io/fs"
	"testing"
	"time"
)

// The tests are in another package, because they need package filtertest, which imports this one.
// They use these names.

const Cleaned = cleaned

func Temporary(path string, i int) string { return temporary(prefix(path), i) }

func TryLock(name string) (unlock func() error, err error) {
	file, err := tryLock(name)
	if file == nil {
		return nil, err
	}
	return func() error { return release(file, name) }, nil
}

// HeldLocks returns the number of locks that are not released.
func HeldLocks() (n int) {
	held.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}

// RetryTwice shortens the time for which Lock waits while an error may pass.
func RetryTwice() { retries = 2 }

// BeforeOpen has OpenRegular call do between its steps.
func BeforeOpen(t *testing.T, do func()) {
	beforeOpen = do
	t.Cleanup(func() { beforeOpen = func() {} })
}

// AfterSync has Write call do before its last step.
func AfterSync(t *testing.T, do func()) {
	afterSync = do
	t.Cleanup(func() { afterSync = func() {} })
}

// SettledAt reports whether a file is settled that was first seen with these facts, and then read, at
// two times. changed is zero on systems that do not tell it.
func SettledAt(info fs.FileInfo, changed, seen, read time.Time) bool {
	return Identity{facts: facts{info, changed}, seen: seen, read: read}.settled()
}

// SameFacts reports whether two files that last changed at the given times have equal facts.
func SameFacts(a, b fs.FileInfo, changedA, changedB time.Time) bool {
	return facts{a, changedA}.equal(facts{b, changedB})
}

func (i Identity) Settled() bool { return i.settled() }

// Aged returns i as if the file had been read after d.
func (i Identity) Aged(d time.Duration) Identity {
	i.read = i.read.Add(d)
	return i
}
