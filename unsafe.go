package bloom

import "unsafe"

// bytesOf returns the bytes of s where they lie. Copying a key to hash it
// would cost more than hashing it. The result must not be written to.
func bytesOf(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
