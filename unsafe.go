package bloom

import "unsafe"

// bytesOf returns the bytes of s where they lie. Copying a key to hash it
// would cost more than hashing it. The result must not be written to.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// hugePages returns the bytes of the 2 MiB pages that lie wholly within words,
// which must be at least 4 MiB. Advice to the kernel is about addresses; the
// bytes are not touched.
func hugePages(words []uint64) []byte {
	const size = 2 << 20
	start := uintptr(unsafe.Pointer(unsafe.SliceData(words)))
	skip := -start & (size - 1)
	n := (uintptr(len(words))*8 - skip) &^ (size - 1)
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(words)), skip)), n)
}
