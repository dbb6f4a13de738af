//go:build !purego && !race && !msan && !asan

package bloom

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import "golang.org/x/sys/cpu"

// useAVX2 reports a processor with AVX2 and BMI2. Where it is false, or a
// function below is given what it does not do (keys longer than directLen, filters
// that are zero or Mitz32), the function goes on in its portable form. That
// lets no key escape either; see onStack.
//
// Race detectors and sanitizers do not see what assembly reads and writes. With
// them all code is portable, so that they find, say, a Filter that is written to
// without a lock.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

//go:noescape
func filterAdd(f *Filter, key []byte) bool

//go:noescape
func filterAddHash(f *Filter, h Hash) bool

//go:noescape
func filterContains(f *Filter, key []byte) bool

//go:noescape
func filterContainsHash(f *Filter, h Hash) bool

//go:noescape
func syncContains(f *SyncFilter, key []byte) bool

//go:noescape
func syncContainsHash(f *SyncFilter, h Hash) bool

func sumBatch(dst []Hash, keys [][]byte) {
	for i, key := range keys {
		dst[i] = Sum(key)
	}
}

func sumStringBatch(dst []Hash, keys []string) {
	for i, key := range keys {
		dst[i] = SumString(key)
	}
}

func sumUint64Batch(dst []Hash, keys []uint64) {
	for i, key := range keys {
		dst[i] = SumUint64(key)
	}
}

func filterAddPortable(f *Filter, key []byte) bool        { return f.AddHash(Sum(key)) }
func filterAddHashPortable(f *Filter, h Hash) bool        { return f.add(h) }
func filterContainsPortable(f *Filter, key []byte) bool   { return f.ContainsHash(Sum(key)) }
func filterContainsHashPortable(f *Filter, h Hash) bool   { return f.contains(h) }
func syncContainsPortable(f *SyncFilter, key []byte) bool { return f.ContainsHash(Sum(key)) }
func syncContainsHashPortable(f *SyncFilter, h Hash) bool { return f.contains(h) }
