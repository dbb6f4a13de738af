package bloom

// The tests in package bloom_test use these internals.

const DirectLen = directLen

var (
	BigEndian     = bigEndian
	Capacity      = capacity
	DoubleHashing = doubleHashing
	NewFilter     = newFilter
	StrictK       = strictK
)

// WordsOf returns f's words without a copy.
func WordsOf(f *Filter) []uint64 { return f.bits.words }

// DataOf returns the bytes that v reads.
func DataOf(v *View) []byte { return v.bytes.Data }

// Over returns a Filter and a SyncFilter of k hashes that share words, which must be zero.
func Over(words []uint64, k int) (*Filter, *SyncFilter) {
	shared := filter{bits: bitsetOf(words), k: k, strategy: Mitz64}
	return &Filter{filter: shared}, &SyncFilter{syncFilter: syncFilter{shared}}
}

// AddInGo is AddHash without assembly.
func AddInGo(f *Filter, h Hash) bool { return f.addInGo(h) }

// ContainsInGo is ContainsHash without assembly.
func ContainsInGo(f *Filter, h Hash) bool { return f.contains(h) }

// SyncContainsInGo is like ContainsHash of a SyncFilter, without assembly.
func SyncContainsInGo(s *SyncFilter, h Hash) bool { return s.contains(h) }
