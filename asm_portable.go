//go:build !amd64 || purego || race || msan || asan

package bloom

const useAVX2 = false

func filterAdd(f *Filter, key []byte) bool        { return f.add(Sum(key)) }
func filterAddHash(f *Filter, h Hash) bool        { return f.add(h) }
func filterContains(f *Filter, key []byte) bool   { return f.contains(Sum(key)) }
func filterContainsHash(f *Filter, h Hash) bool   { return f.contains(h) }
func syncContains(f *SyncFilter, key []byte) bool { return f.contains(Sum(key)) }
func syncContainsHash(f *SyncFilter, h Hash) bool { return f.contains(h) }

func addMany(*Filter, []bool, []Hash) int              { return 0 }
func containsMany(*Filter, []bool, []Hash) int         { return 0 }
func syncAddMany(*SyncFilter, []bool, []Hash) int      { return 0 }
func syncContainsMany(*SyncFilter, []bool, []Hash) int { return 0 }

func sumMany([]Hash, [][]byte) int        { return 0 }
func sumManyStrings([]Hash, []string) int { return 0 }
func sumManyUint64s([]Hash, []uint64) int { return 0 }
