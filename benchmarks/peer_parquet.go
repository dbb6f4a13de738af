package main

import (
	"github.com/cespare/xxhash/v2"
	parquet "github.com/parquet-go/parquet-go/bloom"
)

const parquetNote = "split-block, 10 bits a key as in its README: 1.3 %; takes digests: xxHash; " +
	"Insert reports nothing"

var parquetGo = row{"parquet-go", parquetNote, func(n int, _ float64) filter {
	f := make(parquet.SplitBlockFilter, parquet.NumSplitBlocksOf(int64(n), 10))
	return filter{bits: uint64(len(f)) * parquet.BlockSize * 8, reset: f.Reset,
		add: func(ks keys) { ks.forEach(func(key []byte) { f.Insert(xxhash.Sum64(key)) }) },
		count: func(ks keys) int {
			return ks.count(func(key []byte) bool { return f.Check(xxhash.Sum64(key)) })
		}}
}}
