package memory

import "unsafe"

// BytesOf returns the bytes of s where they lie. Copying a key to hash it
// would cost more than hashing it. The result must not be written to.
func BytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// NoEscape returns key, hidden from escape analysis. Whoever gets it must not
// keep it. The murmur3 package keeps a key nowhere but in a digest on its own stack,
// which the analysis does not see: it would have every key allocated that could
// lie on its caller's stack.
func NoEscape(key []byte) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(nil, uintptr(unsafe.Pointer(unsafe.SliceData(key))))), len(key))
}
