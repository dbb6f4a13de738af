// Package memory allocates the arrays of filters and maps their files.
package memory

// Words returns n zero words. Large arrays ask the kernel for huge pages; where
// it refuses, they have ordinary ones. It panics or exits as make does where there
// is no memory.
func Words(n int) []uint64 {
	words := make([]uint64, n)
	if n >= hugeBytes/8 {
		adviseHuge(words)
	}
	return words
}

// hugeBytes is the size from which an array asks for huge pages: past the reach
// of the second-level TLB, where each random access would walk the page table.
const hugeBytes = 16 << 20
