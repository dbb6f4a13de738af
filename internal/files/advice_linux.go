package files

import "syscall"

// AdviseRandom advises the kernel that a map is read here and there. The kernel then reads
// the pages that are asked for, and not 32 around each.
func AdviseRandom(data []byte) { _ = syscall.Madvise(data, syscall.MADV_RANDOM) }

// AdviseSequential advises the kernel that data, if it is a map, is read from start to end, until
// the returned function is called.
func AdviseSequential(data []byte, isMap bool) (end func()) {
	if !isMap {
		return func() {}
	}
	_ = syscall.Madvise(data, syscall.MADV_SEQUENTIAL)
	return func() { AdviseRandom(data) }
}
