package files

import "syscall"

// AdviseRandom advises the kernel to read only the pages of a mapped file that are used, not the
// pages around them.
func AdviseRandom(data []byte) {
	_ = syscall.Madvise(data, syscall.MADV_RANDOM) // speed
}

// AdviseSequential advises the kernel that data is read from start to end until stop is called. It
// does nothing if data is not a mapped file.
func AdviseSequential(data []byte, isMap bool) (stop func()) {
	if !isMap {
		return func() {}
	}
	_ = syscall.Madvise(data, syscall.MADV_SEQUENTIAL) // speed
	return func() { AdviseRandom(data) }               // speed
}
