package bitwords

import (
	"syscall"
	"unsafe"
)

func adviseHuge(words []uint64) {
	_ = syscall.Madvise(hugePages(words), syscall.MADV_HUGEPAGE) // speed
}

// hugePages returns the 2 MiB pages that lie wholly within words, which must be at least 4 MiB
// long. The result only gives the kernel a range of addresses; it is never read or written.
func hugePages(words []uint64) []byte {
	const size = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(words)))
	skip := -start & (size - 1)
	n := (uintptr(len(words))*8 - skip) &^ (size - 1)
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(words)), skip)), n)
}
