package files

import "syscall"

// AdviseRandom advises the kernel that a map is read here and there. The kernel then reads only the
// pages that are used, and not 32 pages around each.
func AdviseRandom(data []byte) { _ = syscall.Madvise(data, syscall.MADV_RANDOM) }

// AdviseSequential advises the kernel that data is read from start to end, if data is a map. The
// returned function takes that back.
func AdviseSequential(data []byte, isMap bool) (end func()) {
	if !isMap {
		return func() {}
	}
	_ = syscall.Madvise(data, syscall.MADV_SEQUENTIAL)
	return func() { AdviseRandom(data) }
}
