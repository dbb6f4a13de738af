package bitwords

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// BytesOf returns the bytes of s where they lie. Copying a key to hash it
// would cost more than hashing it. The result must not be written to.
func BytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// NoEscape returns key, hidden from escape analysis. A function that gets it must not
// keep it. The murmur3 package keeps a key nowhere but in a digest on its own stack,
// which the analysis does not see: it would have every key allocated that could
// lie on its caller's stack.
func NoEscape(key []byte) []byte {
	hidden := unsafe.Add(nil, uintptr(unsafe.Pointer(unsafe.SliceData(key))))
	return unsafe.Slice((*byte)(hidden), len(key))
}

// WordsOf returns the bytes from the given one on as words in the machine's order of
// bytes, where they lie. That byte must be at a multiple of 8, in an array that begins
// at one.
func WordsOf(data []byte, from, n int) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&data[from:][: 8*n : 8*n][0])), n)
}

// Aligned reports whether WordsOf of data, from 0 on, are little-endian words that can be
// loaded atomically.
func Aligned(data []byte) bool {
	littleEndian := binary.NativeEndian.Uint16([]byte{1, 0}) == 1
	start := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	return littleEndian && bits.UintSize == 64 && start%8 == 0
}
