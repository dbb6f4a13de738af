package bitwords

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// BytesOf returns the bytes of s without copying them. They must not be written to.
func BytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// NoEscape returns key, hidden from escape analysis. It is for functions that do not retain the
// key. Package murmur3 does not retain the key, but escape analysis cannot see that, and would
// allocate keys on the heap.
func NoEscape(key []byte) []byte {
	hidden := unsafe.Add(nil, uintptr(unsafe.Pointer(unsafe.SliceData(key))))
	return unsafe.Slice((*byte)(hidden), len(key))
}

// WordsOf returns n words in the machine's byte order. They share the memory of data[offset:]. n
// must be positive, and offset and the address of data must be multiples of 8.
func WordsOf(data []byte, offset, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&data[offset:][: 8*n : 8*n][0])), n)
}

// Aligned reports whether the machine is little-endian and 64-bit, and the address of data is a
// multiple of 8.
func Aligned(data []byte) bool {
	littleEndian := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return littleEndian && bits.UintSize == 64 && start%8 == 0
}
