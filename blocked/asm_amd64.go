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
func filterAdd(b *Filter, key []byte) bool

//go:noescape
func filterAddHash(b *Filter, h uint64) bool

//go:noescape
func filterContains(b *Filter, key []byte) bool

//go:noescape
func filterContainsHash(b *Filter, h uint64) bool

func filterAddPortable(b *Filter, key []byte) bool        { return b.AddHash(bloom.Sum(key)) }
func filterAddHashPortable(b *Filter, h uint64) bool      { return b.add(h) }
func filterContainsPortable(b *Filter, key []byte) bool   { return b.ContainsHash(bloom.Sum(key)) }
func filterContainsHashPortable(b *Filter, h uint64) bool { return b.contains(h) }

// batchChunk is how many hashes a batch hands to assembly at once: it cannot be
// preempted, and should return within some microseconds.
const batchChunk = 1024

// blocksAdd adds the H1 of count hashes, count > 0, to a filter that is not zero,
// and returns how many changed a block. It needs useAVX2.
//
//go:noescape
func blocksAdd(b *Filter, hs *bloom.Hash, count int) int

// blocksContain sets count elements of dst, count > 0. It needs what blocksAdd
// needs.
//
//go:noescape
func blocksContain(b *Filter, hs *bloom.Hash, count int, dst *bool)
