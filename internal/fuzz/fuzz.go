// Package fuzz has a function for every decoder, in the form that libFuzzer and
// ClusterFuzzLite call. The fuzz tests of the packages check more.
package fuzz

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// A filter is any type that has a binary form.
type filter interface {
	ContainsHash(bloom.Hash) bool
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	io.ReaderFrom
	io.WriterTo
}

func Bloom(data []byte) int    { return check(data, new(bloom.Filter), new(bloom.Filter)) }
func Sync(data []byte) int     { return check(data, new(bloom.SyncFilter), new(bloom.SyncFilter)) }
func Blocked(data []byte) int  { return check(data, new(blocked.Filter), new(blocked.Filter)) }
func Growing(data []byte) int  { return check(data, new(growing.Filter), new(growing.Filter)) }
func Counting(data []byte) int { return check(data, new(counting.Filter), new(counting.Filter)) }
func Cuckoo(data []byte) int   { return check(data, new(cuckoo.Filter), new(cuckoo.SyncFilter)) }
func Window(data []byte) int   { return check(data, new(window.Filter), new(window.Filter)) }
func Bank(data []byte) int     { return check(data, new(bankSet), new(bankSet)) }
func Flower(data []byte) int   { return check(data, new(flower.Filter), new(flower.Filter)) }

// bankSet is the union of a bank's members.
type bankSet struct{ bank.Bank }

func (b *bankSet) ContainsHash(h bloom.Hash) bool { return len(b.Which(nil, h)) > 0 }

// View asks views and readers of data.
func View(data []byte) int {
	b, err := bloom.NewView(data)
	refused(err)
	if err == nil {
		b.ContainsHash(bloom.SumUint64(1))
	}
	many, err := bank.NewView(data)
	refused(err)
	if err == nil {
		many.Which(nil, bloom.SumUint64(1))
	}
	r, err := bloom.NewReader(bytes.NewReader(data), int64(len(data)))
	refused(err)
	if err == nil {
		bloom.Must(r.ContainsString("1"))
	}
	lines, err := blocked.NewReader(bytes.NewReader(data), int64(len(data)))
	refused(err)
	if err == nil {
		bloom.Must(lines.ContainsString("1"))
	}
	return 0
}

// Foreign reads the bytes of other libraries.
func Foreign(data []byte) int {
	_, err := foreign.NewBitsAndBlooms(data)
	refused(err)
	_, err = foreign.NewHoliman(data)
	refused(err)
	_, err = foreign.NewDCSO(data)
	refused(err)
	return 0
}

// check decodes data in every way. Both filters are new.
func check(data []byte, f, g filter) int {
	refused(f.UnmarshalText(data))
	err := f.UnmarshalBinary(data)
	refused(err)
	if err != nil {
		return 0
	}
	again := bloom.Must(f.MarshalBinary())
	bloom.Must(0, f.UnmarshalBinary(again))
	n := bloom.Must(g.ReadFrom(bytes.NewReader(again)))
	if n != int64(len(again)) {
		panic(fmt.Sprintf("%d of %d bytes read", n, len(again)))
	}
	var out bytes.Buffer
	bloom.Must(g.WriteTo(&out))
	if !slices.Equal(out.Bytes(), again) {
		panic(fmt.Sprintf("%T: WriteTo and MarshalBinary differ", f))
	}
	bloom.Must(0, f.UnmarshalText(bloom.Must(g.MarshalText())))
	if h := bloom.SumUint64(1); f.ContainsHash(h) != g.ContainsHash(h) {
		panic(fmt.Sprintf("%T: text and bytes differ", f))
	}
	return 1 // libFuzzer: worth more variations
}

// refused panics unless err is nil or wraps ErrFormat.
func refused(err error) {
	if err != nil && !errors.Is(err, bloom.ErrFormat) {
		panic(err)
	}
}
