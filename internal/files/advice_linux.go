package files

import "syscall"

// AdviseRandom advises the kernel to read only the pages of a map that are used, instead of the 32
// pages around each.
func AdviseRandom(data []byte) { _ = syscall.Madvise(data, syscall.MADV_RANDOM) }

// AdviseSequential advises the kernel that data, if it is a map, is read from start to end, until
// stop is called.
func AdviseSequential(data []byte, isMap bool) (stop func()) {
	if !isMap {
		return func() {}
	}
	_ = syscall.Madvise(data, syscall.MADV_SEQUENTIAL)
	return func() { AdviseRandom(data) }
}
