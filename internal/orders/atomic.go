package orders

import (
	"sync/atomic"
	"unsafe"
)

// The types and functions of sync/atomic that the library uses. Each call is a point before the
// real call.

// Int32 is [atomic.Int32].
type Int32 struct{ real atomic.Int32 }

func (x *Int32) Load() int32 {
	Point()
	return x.real.Load()
}

func (x *Int32) Store(v int32) {
	Point()
	x.real.Store(v)
}

func (x *Int32) Swap(v int32) int32 {
	Point()
	return x.real.Swap(v)
}

func (x *Int32) CompareAndSwap(was, is int32) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
}

func (x *Int32) Add(by int32) int32 {
	Point()
	return x.real.Add(by)
}

// Int64 is [atomic.Int64].
type Int64 struct{ real atomic.Int64 }

func (x *Int64) Load() int64 {
	Point()
	return x.real.Load()
}

func (x *Int64) Store(v int64) {
	Point()
	x.real.Store(v)
}

func (x *Int64) Swap(v int64) int64 {
	Point()
	return x.real.Swap(v)
}

func (x *Int64) CompareAndSwap(was, is int64) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
}

func (x *Int64) Add(by int64) int64 {
	Point()
	return x.real.Add(by)
}

// Uint32 is [atomic.Uint32].
type Uint32 struct{ real atomic.Uint32 }

func (x *Uint32) Load() uint32 {
	Point()
	return x.real.Load()
}

func (x *Uint32) Store(v uint32) {
	Point()
	x.real.Store(v)
}

func (x *Uint32) Swap(v uint32) uint32 {
	Point()
	return x.real.Swap(v)
}

func (x *Uint32) CompareAndSwap(was, is uint32) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
}

func (x *Uint32) Add(by uint32) uint32 {
	Point()
	return x.real.Add(by)
}

// Uint64 is [atomic.Uint64].
type Uint64 struct{ real atomic.Uint64 }

func (x *Uint64) Load() uint64 {
	Point()
	return x.real.Load()
}

func (x *Uint64) Store(v uint64) {
	Point()
	x.real.Store(v)
}

func (x *Uint64) Swap(v uint64) uint64 {
	Point()
	return x.real.Swap(v)
}

func (x *Uint64) CompareAndSwap(was, is uint64) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
}

func (x *Uint64) Add(by uint64) uint64 {
	Point()
	return x.real.Add(by)
}

// Bool is [atomic.Bool].
type Bool struct{ real atomic.Bool }

func (x *Bool) Load() bool {
	Point()
	return x.real.Load()
}

func (x *Bool) Store(v bool) {
	Point()
	x.real.Store(v)
}

func (x *Bool) Swap(v bool) bool {
	Point()
	return x.real.Swap(v)
}

func (x *Bool) CompareAndSwap(was, is bool) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
}

// Pointer is [atomic.Pointer].
type Pointer[T any] struct{ real atomic.Pointer[T] }

func (x *Pointer[T]) Load() *T {
	Point()
	return x.real.Load()
}

func (x *Pointer[T]) Store(v *T) {
	Point()
	x.real.Store(v)
}

func (x *Pointer[T]) Swap(v *T) *T {
	Point()
	return x.real.Swap(v)
}

func (x *Pointer[T]) CompareAndSwap(was, is *T) bool {
	Point()
	return x.real.CompareAndSwap(was, is)
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

func CompareAndSwapUint64(p *uint64, was, is uint64) bool {
	Point()
	return atomic.CompareAndSwapUint64(p, was, is)
}

func LoadPointer(p *unsafe.Pointer) unsafe.Pointer {
	Point()
	return atomic.LoadPointer(p)
}

func CompareAndSwapPointer(p *unsafe.Pointer, was, is unsafe.Pointer) bool {
	Point()
	return atomic.CompareAndSwapPointer(p, was, is)
}
