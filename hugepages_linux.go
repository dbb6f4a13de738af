package bloom

import "syscall"

// hugeBytes is the size from which an array asks for huge pages: past the reach
// of the second-level TLB, where each random access would walk the page table.
const hugeBytes = 16 << 20

// newWords returns n zero words. Large arrays ask the kernel for huge pages;
// where it refuses, they have ordinary ones.
func newWords(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 {
		_ = syscall.Madvise(hugePages(words), syscall.MADV_HUGEPAGE)
	}
	return words
}
