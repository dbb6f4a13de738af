//go:build goexperiment.simd && go1.27

package main

import (
	"simd/archsimd"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

var (
	// salts and saltLanes have the constants of Parquet's split-block filter, one for each lane.
	salts = [8]uint32{
		0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
		0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
	}
	saltLanes = archsimd.LoadUint32x8Array(&salts)
	oneLanes  = archsimd.BroadcastUint32x8(1)
)

// The row shows the cost of a look-up without a call: the compiler inlines vector instructions in
// Go, but no function in assembly. Go 1.26 compiles some of the instructions to slow code, so this
// file needs Go 1.27, with GOEXPERIMENT=simd.
func init() {
	const note = "the look-up of one line in Go, with vector instructions"
	digestRows = append(digestRows, row{"blocked.Filter, digests, archsimd", note,
		func(n int, p float64) filter {
			m, _, err := blocked.Size(uint64(n), p)
			blocks := make([][8]uint32, bloom.Must(m, err)/256)
			var hs []bloom.Hash
			return filter{bits: m, reset: func() { clear(blocks) },
				prepare: func(ks keys) {
					hs = hs[:0]
					ks.forEach(func(key []byte) { hs = append(hs, bloom.Sum(key)) })
				},
				add: func(keys) {
					for _, h := range hs {
						h1, _ := h.Words()
						block := &blocks[h1>>32*uint64(len(blocks))>>32]
						for i := range block {
							block[i] |= 1 << (uint32(h1) * salts[i] >> 27)
						}
					}
				},
				count: func(keys) (found int) {
					for _, h := range hs {
						h1, _ := h.Words()
						block := archsimd.LoadUint32x8Array(&blocks[h1>>32*uint64(len(blocks))>>32])
						places := archsimd.BroadcastUint32x8(uint32(h1)).Mul(saltLanes).ShiftAllRight(27)
						found += one(oneLanes.ShiftLeft(places).AndNot(block).IsZero())
					}
					return found
				}}
		}})
}
