package orders

import (
	"sync/atomic"
	"unsafe"
)

// These types and functions stand in for the ones that the library uses from sync/atomic. Each call
// is a point. Only one thread runs at a time, so plain values suffice.

type (
	Int32  = number[int32]
	Int64  = number[int64]
	Uint32 = number[uint32]
	Uint64 = number[uint64]
	Bool   struct{ value[bool] }
)

// Pointer stands in for [atomic.Pointer].
type Pointer[T any] struct{ value[*T] }

type value[T comparable] struct{ v T }

func (x *value[T]) Load() T {
	Point()
	return x.v
}

func (x *value[T]) Store(v T) {
	Point()
	x.v = v
}

func (x *value[T]) Swap(v T) (old T) {
	Point()
	old, x.v = x.v, v
	return old
}

func (x *value[T]) CompareAndSwap(old, v T) bool {
	Point()
	if x.v != old {
		return false
	}
	x.v = v
	return true
}

type number[T int32 | int64 | uint32 | uint64] struct{ value[T] }

func (x *number[T]) Add(delta T) T {
	Point()
	x.v += delta
	return x.v
}

func LoadUint64(p *uint64) uint64 {
	Point()
	return atomic.LoadUint64(p)
}

func StoreUint64(p *uint64, v uint64) {
	Point()
	atomic.StoreUint64(p, v)
}

func OrUint64(p *uint64, mask uint64) uint64 {
	Point()
	return atomic.OrUint64(p, mask)
}

func AndUint64(p *uint64, mask uint64) uint64 {
	Point()
	return atomic.AndUint64(p, mask)
}

func CompareAndSwapUint64(p *uint64, old, fresh uint64) bool {
	Point()
	return atomic.CompareAndSwapUint64(p, old, fresh)
}

func LoadPointer(p *unsafe.Pointer) unsafe.Pointer {
	Point()
	return atomic.LoadPointer(p)
}

func CompareAndSwapPointer(p *unsafe.Pointer, old, fresh unsafe.Pointer) bool {
	Point()
	return atomic.CompareAndSwapPointer(p, old, fresh)
}
