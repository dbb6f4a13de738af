//go:build !linux

package memory

func adviseHuge([]uint64) {}
