// Package bloom provides Bloom filters: sets that answer "certainly not" or "probably yes" from a
// few bits per key.
//
// A [Filter] finds every key that was added, even if the filter is encoded, saved, merged or
// folded. It reports other keys as present at a rate that the caller chooses. At 1 % it needs 9.6
// bits for each key, however long the keys are, and a rate ten times lower needs 4.8 more.
//
//	seen, err := bloom.New(1_000_000, 0.01) // for a million keys, with 1 % false positives
//	if err != nil {
//		return err // a parameter is out of range
//	}
//	seen.AddString("ada")           // true: certainly new
//	seen.AddString("ada")           // false: probably seen
//	seen.ContainsString("grace")    // false: certainly not added
//	seen.AddHash(bloom.SumUint64(7)) // an integer as a key
//
// The memory is fixed. If a filter contains more keys than planned, it still finds all of them, but
// the rate is higher; see [Filter.FPR].
//
// If several goroutines add to a Filter at once, keys may be lost. Use a [SyncFilter] for them:
//
//	seen, err := bloom.NewSync(1_000_000, 0.01)
//
// To save a filter and load it again after a restart:
//
//	seen, err := bloom.LoadOrNew("seen.bloom", 1_000_000, 0.01)
//	...
//	err = seen.SaveFile("seen.bloom") // atomic, durable, checked
//	...
//	many := bloom.NewSyncFrom(seen) // a copy for many goroutines
//
// If several programs change the same file, each must hold the file's lock from before it loads the
// file until after it saves it; see package file.
//
// To process keys in batches, first hash them with [SumBatch], [SumStringBatch] or
// [SumUint64Batch], and then add them or look them up:
//
//	hashes := make([]bloom.Hash, len(keys))
//	found := make([]bool, len(keys))
//	bloom.SumStringBatch(hashes, keys)
//	seen.ContainsBatch(found, hashes)
//
// More calls:
//
//   - to ask a file without loading it: [OpenFile]; bytes in memory: [NewView]; a file elsewhere,
//     by ranges: [NewReader]
//   - to exchange filters with Java: [Filter.WriteTo], [Filter.ReadFrom] and docs/java.md
//   - to combine filters: [Filter.Merge]; to shrink one: [Filter.Fold]
//   - for metrics and logs: [Filter.Stats]
//
// # Guava
//
// Filter is the classic filter (Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors,
// 1970). It has exactly the same bits as Google Guava's com.google.common.hash.BloomFilter in Java,
// and each can read the other's bytes. With Guava's arithmetic, the empty key is an exception: a
// filter that contains its n keys often reports it, even at a low rate. Packages counting, bank and
// replica have the same bits and the same exception. See [Sum].
//
// # Keys
//
// Every filter in this module, except those of package foreign, hashes a key to a [Hash], and
// computes the key's bits from that. A Hash can be computed once and used for all filters: methods
// such as AddHash take one. Methods such as AddString hash the bytes of a string without copying
// them. No method retains a key. A Hash is a Murmur3 digest, which has no secret. If an adversary
// may choose keys, use module keyed.
//
// # Batches
//
// AddBatch adds the keys with the digests hs in order, and sets added[i] to the result of
// AddHash(hs[i]). If added is nil, it discards the results. ContainsBatch sets found[i] to the
// result of ContainsHash(hs[i]). Both panic if the slice for results is shorter than hs, and do not
// change its elements after the first len(hs).
//
// If the filter is larger than the processor's caches, batches are faster than single calls for
// most types, because cache misses overlap. On amd64 processors with AVX2 and BMI2, a batch of
// eight keys or more is usually faster in a Filter or SyncFilter of this package or of package
// blocked; a shorter batch takes about as long as single calls. See benchmarks/RESULTS.md.
//
// # Goroutines
//
// Any number of goroutines may use a SyncFilter, or a value of a type in packages bank, counting,
// flower, growing, guard, replica and window. They may add keys, look keys up, read statistics and
// encode concurrently; only decoding needs the value to itself. A Filter of this package, of
// blocked or of cuckoo has no locks: many goroutines may look keys up while none writes to it, but
// concurrent additions may lose keys. Any number of goroutines may use a View or a Reader, but no
// method may run during a View's Close.
//
// A look-up, an encoding or a Snapshot sees every key whose Add or Insert returned before it began,
// unless the key was removed or forgotten. If a key is added at the same time, the call may see
// all, some or none of its bits.
//
// If several goroutines add the same new key concurrently, singly or in batches, at most one of
// them gets true. The others get false, perhaps before that one has returned. Rarely, none gets
// true, because other keys set bits of the key during the calls. If keys are removed or forgotten
// at the same time, for example by Reset, Patch or Remove, a key may be new more than once.
//
// Reset removes every key whose Add returned before it began. If a key is added at the same time,
// it may be removed, remain, or leave some of its bits. No goroutine may write to the argument of
// Merge or Equal during the call. If a type has both Info and UpdateInfo, they may run concurrently
// with all other methods except decoding, but on the zero value only with each other.
//
// # Encodings
//
// Except in package foreign, each type that can be encoded has one binary form, which
// docs/format.md defines. MarshalBinary, AppendBinary and WriteTo produce the same bytes, and
// SizeBytes returns their number. WriteTo needs only a small buffer. MarshalText encodes the bytes
// in standard base64, for JSON, XML, flags and cookies. A zero value has an empty text, but no
// binary form: encoding it is an error. The form includes the [Info]; if that cannot be saved,
// encoding is an error. Only the form of [Filter] and SyncFilter, which is Guava's, has no Info.
//
// UnmarshalBinary and UnmarshalText decode exactly one form, or the content of a file that SaveFile
// wrote. Empty text yields a zero value. ReadFrom reads and decodes one form, and nothing after it.
// It allocates memory as data arrives, whatever the header claims. No decoder retains its data. On
// error, the receiver is unchanged. If the reader fails, the error wraps the reader's error.
// Otherwise it wraps [ErrFormat], even if the reader ends too early.
//
// # Files
//
// SaveFile atomically replaces or creates a file: after a crash, path has either its previous
// content or the whole filter. Once SaveFile returns nil, the filter is on disk, except on Windows,
// Plan 9 and WebAssembly, which cannot sync a directory. The file holds the binary form, the Info
// and a CRC-32C of everything. If the Info cannot be saved, the error names the field.
//
// SaveFile writes a new file in the same directory, named .NAME.bloom-tmp-*, and renames it to
// path. If NAME is longer than 200 bytes, a checksum replaces its end. The directory must be
// readable and writable, and have room for both files. If SaveFile fails before the rename, it
// removes the new file. It usually also removes such files that killed processes left. If several
// calls save to the same path concurrently, the file of the last one remains. On Windows, SaveFile
// fails while the file at path is open, for example in a View.
//
// If there is a file at path, then on Unix the new one is readable only by its owner while it is
// written. Afterwards the new file gets the old file's permissions, its owner and group if the
// system permits that, and on Linux its access-control list. If it cannot have the list or the
// group, nobody but the new file's owner gets more access than before. Other attributes, such as
// user.*, and access-control lists on other systems are lost. Without an old file, the new one has
// the same permissions as from os.Create. If path is a symbolic link, SaveFile replaces the link,
// not its target. If the target is a regular file, the new file gets its permissions. SaveFile
// refuses to replace a link to a device, pipe or socket, and anything but a regular file or a link.
//
// Before LoadFile allocates memory for the filter, it checks that the file is long enough. If it
// notices damage, the error wraps ErrFormat. In a file that SaveFile wrote, it always notices one
// changed bit, one missing byte and one added byte, and nearly always other damage.
//
// LoadOrNew returns the filter in the file at path or, if there is no such file, a new one. It does
// not write the file. It returns an error if the file cannot be read, if path is empty or a
// dangling link, or if its directory is missing; so a wrong path is reported immediately, not by a
// later SaveFile. If the saved filter differs from a new one in the parameters that the type's
// LoadOrNew names, the error wraps [ErrMismatch]. The Info is not compared.
//
// On Unix and Windows, OpenFile maps the file: look-ups read the pages that they need, and
// processes share them. On other systems, the View has a copy in memory. OpenFile takes constant
// time if it maps the file. It does not check the bits; the View's Verify does. The bytes must not
// change until the View is closed. If a program writes to an open file or truncates it, look-ups
// may be wrong, or the process may be killed by SIGBUS. On Unix, the file may be removed, or
// replaced by SaveFile; the View still shows the old filter.
//
// A Reader looks keys up in a file in an object store, on a web server, or anywhere else that an
// io.ReaderAt can read. NewReader reads the header and the Info in at most two requests, and
// look-ups request little more than the bytes that they need. If the io.ReaderAt fails, a look-up
// returns the error, and does not report the key as absent. The file must not change while a Reader
// uses it. If the store can refuse requests for an object that has changed, as with HTTP's If-Match
// header, use that.
//
// If another program wrote a file, check the Hash in its Info before the first look-up. Hash says
// how keys were hashed; it is empty if the writer, such as Java, did not set it. For example, the
// bloom command with --hex hashes the bytes that hexadecimal digits stand for: Contains finds these
// bytes, but ContainsString does not find the digits. If Hash is "SumUTF16", pass the [SumUTF16] of
// a key to ContainsHash.
//
// # Other packages
//
//   - blocked is faster, even at low rates; growing has room for any number of keys
//   - counting and cuckoo remove keys
//   - window remembers keys for a span of time; flower remembers recent keys best
//   - guard stands in front of a store, and learns of its new keys
//   - bank asks many filters together; sieve has a queue without repeats
//   - replica copies one filter to many machines; module contrib/bloomredis shares one in Redis
//   - foreign reads and writes the filters of other libraries; file locks and replaces files
//
// Use a map if the keys must be listed, or if every answer must be right.
package bloom
