//go:build !purego && !race && !msan && !asan

package blocked

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import (
	"golang.org/x/sys/cpu"

	"github.com/seed79a3ff49/bloom"
)

// useAVX2 reports a processor with AVX2, BMI2 and FMA. Where it is false, or a
// function below is given what it does not do (keys longer than directLen, filters
// that are zero), the function goes on in its portable form.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasFMA

// directLen is the longest key that assembly hashes, in bytes.
const directLen = 128

//go:noescape
func filterAdd(f *Filter, key []byte) bool

//go:noescape
func filterAddHash(f *Filter, h bloom.Hash) bool

//go:noescape
func filterContains(f *Filter, key []byte) bool

//go:noescape
func filterContainsHash(f *Filter, h bloom.Hash) bool

//go:noescape
func syncContains(f *SyncFilter, key []byte) bool

//go:noescape
func syncContainsHash(f *SyncFilter, h bloom.Hash) bool

func filterAddPortable(f *Filter, key []byte) bool              { return f.AddHash(bloom.Sum(key)) }
func filterAddHashPortable(f *Filter, h bloom.Hash) bool        { return f.add(h) }
func filterContainsPortable(f *Filter, key []byte) bool         { return f.ContainsHash(bloom.Sum(key)) }
func filterContainsHashPortable(f *Filter, h bloom.Hash) bool   { return f.contains(h) }
func syncContainsPortable(f *SyncFilter, key []byte) bool       { return f.ContainsHash(bloom.Sum(key)) }
func syncContainsHashPortable(f *SyncFilter, h bloom.Hash) bool { return f.contains(h) }

// batchChunk is how many hashes a batch hands to assembly at once: it cannot be
// preempted, and should return within some microseconds.
const batchChunk = 1024

// blocksAdd adds the H1 of count hashes, count > 0, to a filter that is not zero,
// and returns how many changed a block. It needs useAVX2.
//
//go:noescape
func blocksAdd(f *Filter, hs *bloom.Hash, count int) int

// blocksContain sets count elements of dst, count > 0. It needs what blocksAdd
// needs.
//
//go:noescape
func blocksContain(f *Filter, hs *bloom.Hash, count int, dst *bool)
