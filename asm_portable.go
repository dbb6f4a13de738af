//go:build !amd64 || purego || race || msan || asan

package bloom

const assembly = false

func filterAdd(f *filter, key []byte) bool      { return f.addInGo(Sum(key)) }
func filterAddHash(f *filter, h Hash) bool      { return f.addInGo(h) }
func filterContains(f *filter, key []byte) bool { return f.contains(Sum(key)) }
func filterContainsHash(f *filter, h Hash) bool { return f.contains(h) }

func addMany(f *filter, shared bool, dst []bool, hs []Hash) int { return 0 }
func containsMany(f *filter, dst []bool, hs []Hash) int         { return 0 }
