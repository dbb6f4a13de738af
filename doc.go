// Package bloom provides Bloom filters: sets that answer "certainly not" or "probably yes" from a
// few bits per key.
//
// A [Filter] finds every key that was added, through every encoding, merge, fold and file. It
// reports other keys as present at a rate that the caller picks: at 1 % it needs 9.6 bits a key,
// whatever the keys' size, and 4.8 more for each further factor of ten.
//
//	seen, err := bloom.New(1_000_000, 0.01) // a million keys, 1 % of others look seen
//	if err != nil {
//		return err // a parameter is out of range
//	}
//	seen.AddString("ada")           // true: certainly new
//	seen.AddString("ada")           // false: probably seen
//	seen.ContainsString("grace")    // false: certainly not added
//	seen.AddHash(bloom.SumUint64(7)) // an integer as a key
//
// Memory is fixed. A filter that holds more keys than planned still answers, at a higher rate; see
// [Filter.FPR].
//
// If several goroutines add to a Filter, keys are lost. A [SyncFilter] is for many of them:
//
//	seen, err := bloom.NewSync(1_000_000, 0.01)
//
// Save a filter, and continue with it after a restart:
//
//	seen, err := bloom.LoadOrNew("seen.bloom", 1_000_000, 0.01)
//	...
//	err = seen.SaveFile("seen.bloom") // atomic, durable, checked
//	...
//	many := bloom.NewSyncFrom(seen) // a copy for many goroutines
//
// If several programs change one file, each holds its lock from before the load until after the
// save; see package file.
//
// Batches hash first, by [SumBatch], [SumStringBatch] or [SumUint64Batch], and then add or ask:
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
// 1970), bit for bit the one that Google Guava's com.google.common.hash.BloomFilter makes in Java.
// The two read each other's bytes. Guava's arithmetic has an exception, the empty key: a filter
// that holds its n keys reports it in about half of all cases. Packages counting, bank and replica
// have the same bits and the same exception. See [Sum].
//
// # Keys
//
// Every key goes the same way: key -> [Hash] -> indexes -> bits. A Hash is computed once and serves
// every filter of this module; methods whose names end in Hash take it. Those that end in String
// take the bytes of a string, without copying them. No method retains a key. A Hash is a Murmur3
// digest, which has no secret. Module keyed has a hash for keys that an adversary chooses.
//
// # Batches
//
// AddBatch adds the keys with the digests hs in order, and sets added[i] to what AddHash(hs[i])
// returns; a nil added discards the results. ContainsBatch sets found[i] to ContainsHash(hs[i]).
// Both panic if the results are shorter than hs, and change no more than len(hs) of them.
//
// Batches of most types are faster than single calls if the filter is larger than the processor's
// caches, because cache misses overlap. Where there is assembly, a batch of eight keys or more is
// faster in every Filter and SyncFilter of this package and of blocked; a shorter one takes as long
// as single calls, and one call more. See benchmarks/RESULTS.md.
//
// # Goroutines
//
// Any number of goroutines may use a SyncFilter, or a value of a type of bank, counting, flower,
// growing, guard, replica and window: they add, look up, measure and encode concurrently. Only
// decoding needs such a value to itself. A Filter of this package, of blocked or of cuckoo has no
// locks: many goroutines may look keys up while none writes to it, and concurrent additions lose
// keys. Views and Readers are for many goroutines, but no method may run during a View's Close.
//
// A look-up, an encoding or a Snapshot has every key whose Add or Insert returned before it began,
// until the key is removed or forgotten. Of a key that is being added it may have all bits, some or
// none.
//
// If several goroutines add the same new key concurrently, singly or in batches, at most one of
// them gets true; the others get false, maybe before that one has returned. None gets true if other
// keys set all its bits, which during the calls is as rare as a false positive. A key can be new
// more than once beside calls that remove keys, such as Reset, Patch and Remove.
//
// Reset removes every key whose Add returned before it began. A key that is being added may be
// removed, or stay, or leave some of its bits. No goroutine may write to the argument of Merge or
// Equal during the call. On every type that has both, the zero value included, Info and UpdateInfo
// may run beside all other methods.
//
// # Encodings
//
// Each type has one binary form, which docs/format.md defines. MarshalBinary, AppendBinary and
// WriteTo, which needs only a small buffer, make the same bytes, and SizeBytes is their number.
// MarshalText makes them standard base64, which is a filter's form in JSON, XML, flags and cookies.
// A zero value has no binary form, which is an error, and an empty text. A form includes the
// [Info], and it is an error if that cannot be saved. Only the form of a [Filter] and of a
// SyncFilter, which is the one of Guava, has no Info.
//
// UnmarshalBinary and UnmarshalText decode exactly one form, or the content of a file that SaveFile
// wrote. An empty text makes a zero value. ReadFrom decodes the form that the reader yields next,
// and reads no byte more. It allocates memory as data arrives, whatever the header claims. No
// decoder retains its data. On error the receiver is unchanged. The error wraps [ErrFormat], even
// if a reader ends too early, or else the reader's own error.
//
// # Files
//
// SaveFile atomically replaces or creates a file: after a crash at any moment, path holds what it
// held before, or the whole filter. Once SaveFile has returned nil, the filter is on disk, except
// on Windows, Plan 9 and WebAssembly, which cannot sync a directory. The file holds the binary
// form, the Info and a CRC-32C of everything. If the Info cannot be saved, the error names the
// field.
//
// SaveFile writes a new file in the same directory, named .NAME.bloom-tmp-*, and renames it to
// path, so the directory must be readable and have room for both files. It removes the new file if
// it fails, and those that killed processes left. Of several concurrent SaveFiles, the last one's
// file stays; on Windows SaveFile fails while the file is open, for example by OpenFile.
//
// If there is an old file, the new one is private to its owner while it is written, and then gets
// the old permissions, the old owner and group if the system permits that, and on Linux the
// access-control list; if it cannot have the list or the group, nobody gets more access by that.
// Other attributes, such as user.*, and the lists of other systems, are lost. Without an old file,
// it has the permissions of os.Create. A symbolic link at path is itself replaced, by a file with
// the permissions of the link's target, which stays as it is. Anything else that is not a regular
// file is refused, and so is a link to a device, a pipe or a socket.
//
// LoadFile allocates as much memory as the file is long, and none before the file's header and
// length agree. If the file has changed since SaveFile wrote it, the error wraps ErrFormat: a
// changed bit, a missing byte and an added byte are always noticed, and other damage goes unnoticed
// with probability 2^-32.
//
// LoadOrNew returns the filter in the file at path or, if there is no such file, a new one; it
// writes no file. It returns an error if a file cannot be read, if path is empty or a link to
// nothing, or if its directory is missing, so that a wrong path is reported immediately and not by
// a later SaveFile. If the saved filter differs from a new one in the parameters that the type's
// LoadOrNew names, the error wraps [ErrMismatch]. The Info is not compared.
//
// OpenFile maps a file on Unix and Windows: look-ups read the pages that they need, and processes
// share them. Elsewhere the View has a copy in memory. OpenFile does not read the bits, so it takes
// no longer for a large file, and only the View's Verify notices damaged bits. The bytes must stay
// unchanged until the View is closed. If a program writes to an open file or truncates it, look-ups
// are wrong, or the process dies of SIGBUS. On Unix the file may be removed, or replaced by
// SaveFile; the View still shows the old filter.
//
// A Reader answers from a file in an object store, on a web server, or anywhere else that an
// io.ReaderAt reaches. NewReader reads the header and the Info, in two requests, and look-ups
// request only the bytes that they need. If the io.ReaderAt fails, a look-up returns its error, and
// never the answer that a key is absent. The file must not change while a Reader uses it: if the
// store can refuse requests for an object that has changed, as with the HTTP header If-Match, use
// that.
//
// If another program wrote a file, look at the Hash of its Info before the first look-up: it says
// how keys were hashed, and is empty if the writer, such as Java, set none. The bloom command with
// --hex, for example, makes lists whose keys are bytes: Contains finds them, and ContainsString of
// their hexadecimal digits does not. If Hash is "SumUTF16", pass [SumUTF16] of a key to
// ContainsHash.
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
