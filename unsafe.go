package bloom

import "unsafe"

// bytesOf returns the bytes of s where they lie. Copying a key to hash it
// would cost more than hashing it. The result must not be written to.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// onStack returns key, hidden from escape analysis. The murmur3 package keeps a
// key nowhere but in a digest on its own stack, which the analysis does not see: it
// would have every key allocated that could lie on its caller's stack.
func onStack(key []byte) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(nil, uintptr(unsafe.Pointer(unsafe.SliceData(key))))), len(key))
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
