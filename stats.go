package bloom

import (
	"fmt"

	"github.com/seed79a3ff49/bloom/internal/form"
)

// Stats describes a filter at one moment. Its fields are what [Filter]'s methods of the same names
// return. Other types' Stats methods say what M, K and OnesCount count there, such as slots and
// ways in package flower. Fields that do not apply to a type are zero, such as K in package
// growing. JSON and String use short names (m, k, ones, fill, keys, rate, size), which no version
// changes, because dashboards read them.
//
// To publish a filter's Stats, use expvar.Func:
//
//	expvar.Publish("seen", expvar.Func(func() any { return f.Stats() }))
//
// Do not publish the filter itself: its String makes it an expvar.Var, but is not JSON, which makes
// all of /debug/vars unreadable.
type Stats struct {
	M           uint64  `json:"m,omitempty"`    // bits
	K           int     `json:"k,omitempty"`    // bits that a key sets
	OnesCount   uint64  `json:"ones,omitempty"` // bits set
	FillRatio   float64 `json:"fill"`           // fraction of bits set
	ApproxCount uint64  `json:"keys"`           // estimated number of distinct keys
	FPR         float64 `json:"rate"`           // false-positive rate now
	SizeBytes   int64   `json:"size"`           // length of the binary form in bytes, not the memory
}

// StatsOf returns the Stats of a [Filter] of m bits and k hashes with the given number of bits set.
// SizeBytes is the length of Guava's binary form. If m or k is 0, the result is the zero Stats.
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

// String returns all fields with their names in JSON, fill and rate rounded:
//
//	m=9600 k=7 ones=4703 fill=0.49 keys=923 rate=0.0068 size=1206
func (s Stats) String() string {
	return fmt.Sprintf("m=%d k=%d ones=%d fill=%.2g keys=%d rate=%.2g size=%d",
		s.M, s.K, s.OnesCount, s.FillRatio, s.ApproxCount, s.FPR, s.SizeBytes)
}

// Info says what a filter was made for and how its keys are hashed, neither of which its bits show.
// Look-ups ignore it, so check Hash before the first one in a filter that another program made. Any
// field may be zero. SaveFile saves the Info with the filter.
type Info struct {
	N uint64  // number of keys that the filter was made for
	P float64 // false-positive rate at N keys; 0 <= P < 1

	Hash    string // how keys become digests, such as "SumString"; UTF-8, up to 255 bytes
	Comment string // a text for people, which no program reads; UTF-8, up to 4,096 bytes

	// Meta has facts for programs, up to 4,096 bytes, as the text that Encode of package net/url's
	// Values returns, such as "blank=1&field=2". docs/format.md lists the names that this module
	// uses.
	Meta string
}

// Check returns an error that names a field if SaveFile would refuse i.
func (i Info) Check() error {
	if bad := form.Info(i).Check(); bad != nil {
		return bad.In("bloom")
	}
	return nil
}

// Info returns the filter's Info, which [New] and UpdateInfo set, and Merge and Patch may change.
// [Filter.SaveFile] keeps it. Guava's binary form has no room for it, so a filter decoded from that
// has the zero Info.
func (f *filter) Info() Info { return Info(f.info.Get()) }

// UpdateInfo calls update with a copy of f's Info. What update leaves there becomes the Info, so it
// can set some fields, keep others and clear others:
//
//	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
//
// Calls run one after the other, so none loses what another wrote, and Info returns the Info before
// or after an update. update must not call methods of f. If it panics, the Info stays as it was.
// SaveFile, and other types' encodings, return an error if [Info.Check] does.
func (f *filter) UpdateInfo(update func(*Info)) {
	f.info.Update(func(i *form.Info) { update((*Info)(i)) })
}

func describe(name string, m uint64, k int, s Strategy) string {
	if m == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, k=%d, %v)", name, m, k, s)
}
