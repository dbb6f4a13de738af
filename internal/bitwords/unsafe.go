package bitwords

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// BytesOf returns the bytes of s without copying them, which would cost more than hashing a key.
// The bytes must not be written to.
func BytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// NoEscape returns key, hidden from escape analysis, for functions that do not keep it. The
// analysis does not see that package murmur3 keeps a key only in a digest on its own stack, and
// would allocate every key on the heap.
func NoEscape(key []byte) []byte {
	hidden := unsafe.Add(nil, uintptr(unsafe.Pointer(unsafe.SliceData(key))))
	return unsafe.Slice((*byte)(hidden), len(key))
}

// WordsOf returns n words in the machine's byte order, which share the memory of data[offset:].
// Both offset and the address of data must be multiples of 8.
func WordsOf(data []byte, offset, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&data[offset:][: 8*n : 8*n][0])), n)
}

// Aligned reports whether the words of WordsOf(data, 0, n) are little-endian and can be loaded
// atomically.
func Aligned(data []byte) bool {
	littleEndian := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return littleEndian && bits.UintSize == 64 && start%8 == 0
}
