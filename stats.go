package bloom

import (
	"fmt"

	"github.com/seed79a3ff49/bloom/internal/form"
)

// Stats describes a filter at one moment. For a [Filter], the fields are the results of the methods
// with the same names. For other types, M, K and OnesCount may count other things, such as slots
// and ways in package flower; see the Stats method of the type. Fields that do not apply to a type
// are zero, such as K in package growing. JSON and String use short names (m, k, ones, fill, keys,
// rate, size). These will not change, because dashboards read them.
//
// To publish a filter's Stats, use expvar.Func:
//
//	expvar.Publish("seen", expvar.Func(func() any { return f.Stats() }))
//
// Do not publish the filter itself. It is an expvar.Var, because it has a String method, but the
// result of that is not JSON and would make all of /debug/vars unreadable.
type Stats struct {
	M           uint64  `json:"m,omitempty"`    // bits
	K           int     `json:"k,omitempty"`    // largest number of bits that a key sets
	OnesCount   uint64  `json:"ones,omitempty"` // bits that are set
	FillRatio   float64 `json:"fill"`           // fraction of bits that are set
	ApproxCount uint64  `json:"keys"`           // estimated number of distinct keys
	FPR         float64 `json:"rate"`           // current false-positive rate
	SizeBytes   int64   `json:"size"`           // length of the binary form, not the memory
}

// StatsOf returns the Stats of a [Filter] with m bits, k hash functions and the given number of
// bits set. SizeBytes is the length of Guava's binary form. If m is 0 or k < 1, the result is the
// zero Stats.
func StatsOf(m uint64, k int, ones uint64) Stats {
	if m == 0 || k < 1 {
		return Stats{}
	}
	fill := float64(ones) / float64(m)
	return Stats{
		M:           m,
		K:           k,
		OnesCount:   ones,
		FillRatio:   fill,
		ApproxCount: approxCount(m, k, ones),
		FPR:         currentRate(m, k, fill),
		SizeBytes:   form.HeaderSize + int64(m/8),
	}
}

// String returns all fields with their JSON names. It rounds fill and rate:
//
//	m=9600 k=7 ones=4703 fill=0.49 keys=923 rate=0.0068 size=1206
func (s Stats) String() string {
	return fmt.Sprintf("m=%d k=%d ones=%d fill=%.2g keys=%d rate=%.2g size=%d",
		s.M, s.K, s.OnesCount, s.FillRatio, s.ApproxCount, s.FPR, s.SizeBytes)
}

// Info says what a filter was made for and how its keys were hashed. Neither can be seen from its
// bits. Look-ups ignore the Info. So if another program made a filter, check Hash before the first
// look-up. Any field may be zero. SaveFile saves the Info with the filter.
type Info struct {
	N uint64  // number of keys that the filter was made for
	P float64 // false-positive rate at N keys; 0 <= P < 1

	Hash    string // how keys were hashed, such as "SumString"; UTF-8, up to 255 bytes
	Comment string // text for people; UTF-8, up to 4,096 bytes

	// Meta has facts for programs, such as "blank=1&field=2", in the form that the Encode method of
	// net/url.Values returns, up to 4,096 bytes. docs/format.md lists the names that this module
	// uses.
	Meta string
}

// Check returns an error if SaveFile would refuse i. The error names the field.
func (i Info) Check() error {
	if bad := form.Info(i).Check(); bad != nil {
		return bad.In("bloom")
	}
	return nil
}

// Info returns the filter's Info. [New] and UpdateInfo set it. Merge, Intersect and Patch may
// change it. [Filter.SaveFile] keeps it. Guava's binary form has no room for it, so a filter that
// was decoded from that form has the zero Info.
func (f *filter) Info() Info { return Info(f.info.Get()) }

// UpdateInfo calls update with a copy of f's Info, and then stores the copy. So update can set some
// fields and keep others:
//
//	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
//
// Concurrent calls run one after another, so no change is lost, and Info returns the Info either
// before or after an update. update must not call methods of f. If it panics, the Info remains
// unchanged. UpdateInfo does not check the new Info. SaveFile does, and so do the encoding methods
// in other packages; see [Info.Check].
func (f *filter) UpdateInfo(update func(*Info)) {
	f.info.Update(func(i *form.Info) { update((*Info)(i)) })
}

func describe(name string, m uint64, k int, s Strategy) string {
	if m == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, k=%d, %v)", name, m, k, s)
}
