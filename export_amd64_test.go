//go:build !purego && !race && !msan && !asan

package bloom

const FetchWords = fetchWords
