//go:build !linux

package bitwords

func adviseHuge([]uint64) {}
