package lines

import "github.com/seed79a3ff49/bloom"

// Digests returns a function that hashes the key of a line, as a Reader of c does. Call the
// function with the lines of a file in order, without their delimiters: the first line may decide
// which byte separates fields. ok is false for a line without a key.
func (c *Config) Digests() func(line []byte) (h bloom.Hash, ok bool) {
	key := c.key()
	var scratch []byte
	var sep byte
	isFirst := true
	return func(line []byte) (bloom.Hash, bool) {
		if isFirst {
			sep = key.separator(line)
			isFirst = false
		}
		var k []byte
		var err error
		k, scratch, err = key.Of(line, sep, scratch[:0])
		return bloom.Sum(k), err == nil
	}
}

// key returns c.Key, with KeepCR set if lines do not end with a newline.
func (c *Config) key() Key {
	key := c.Key
	key.KeepCR = key.KeepCR || c.Delim != '\n'
	return key
}
