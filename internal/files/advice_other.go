//go:build !linux

package files

// AdviseRandom and AdviseSequential are documented in advice_linux.go.

func AdviseRandom([]byte) {}

func AdviseSequential([]byte, bool) (stop func()) { return func() {} }
