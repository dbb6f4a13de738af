//go:build !linux

package files

// AdviseRandom and AdviseSequential are described in advice_linux.go.

func AdviseRandom([]byte) {}

func AdviseSequential([]byte, bool) (stop func()) { return func() {} }
