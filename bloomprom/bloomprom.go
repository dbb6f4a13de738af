// Package bloomprom publishes the figures of Bloom filters as Prometheus metrics: how
// full a filter is, and how often it was right.
//
// [NewFilter] returns a collector of a filter's own figures. [NewLookups] returns one
// of what became of look-ups in front of a database, which a [Lookups] counts:
//
//	registry.MustRegister(bloomprom.NewFilter("users", seen.Stats), bloomprom.NewLookups("users", &lookups))
//
// All metrics have the label filter, which holds the name, so that one program can register
// several filters:
//
//	bloom_filter_size_bytes            size of the filter
//	bloom_filter_fill_ratio            fraction of bits set
//	bloom_filter_keys                  estimated number of keys
//	bloom_filter_false_positive_rate   expected, as things are now
//	bloom_lookups_total{result="..."}  hit, miss or false_positive
//
// The rate that was observed is the part of absent keys that the filter let through:
//
//	  sum by (filter) (rate(bloom_lookups_total{result="false_positive"}[5m]))
//	/ sum by (filter) (rate(bloom_lookups_total{result!="hit"}[5m]))
//
// If it stays well above bloom_filter_false_positive_rate, the same few keys are asked
// again and again, or somebody chooses keys that collide: see package keyed.
package bloomprom

import (
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed79a3ff49/bloom"
)

// NewFilter returns a collector of the figures that stats returns, such as the method
// Stats of a [bloom.SyncFilter]. The filters of packages blocked, counting and growing
// have that method, too. Each scrape calls stats once, while the filter is in use. For
// a [bloom.Filter], which must not be read while it is written to, stats has to take the
// lock that its writers take.
//
// A window.Filter and a flower.Filter do not tell how many keys they hold, and have no
// Stats. For them, register a prometheus.NewGaugeFunc of the method FPR.
//
// It panics if stats is nil.
func NewFilter(name string, stats func() bloom.Stats) prometheus.Collector {
	if stats == nil {
		panic("bloomprom: NewFilter without a function")
	}
	label := prometheus.Labels{"filter": name}
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("bloom_filter_"+name, help, nil, label)
	}
	return &filter{
		stats: stats,
		size:  gauge("size_bytes", "Size of the filter."),
		fill:  gauge("fill_ratio", "Fraction of bits set."),
		keys:  gauge("keys", "Estimated number of distinct keys."),
		rate:  gauge("false_positive_rate", "Expected probability that an absent key is reported as present."),
	}
}

type filter struct {
	stats                  func() bloom.Stats
	size, fill, keys, rate *prometheus.Desc
}

func (f *filter) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{f.size, f.fill, f.keys, f.rate} {
		ch <- desc
	}
}

func (f *filter) Collect(ch chan<- prometheus.Metric) {
	s := f.stats()
	send := func(desc *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	send(f.size, float64(s.SizeBytes))
	send(f.fill, s.FillRatio)
	send(f.keys, float64(s.ApproxCount))
	send(f.rate, s.FPR)
}

// Lookups counts what became of look-ups in a filter that stands before a database:
//
//	if !seen.ContainsString(key) {
//		lookups.Miss()
//		return nil, ErrNotFound
//	}
//	value, err := query(key)
//	switch {
//	case err == nil:
//		lookups.Hit()
//	case errors.Is(err, ErrNotFound):
//		lookups.FalsePositive()
//	}
//	return value, err
//
// The zero value is ready. Many goroutines may use a Lookups at once. It must not be
// copied. It is an expvar.Var, too.
type Lookups struct{ hits, misses, falsePositives atomic.Uint64 }

// Hit counts a key that the filter and the database contain.
func (l *Lookups) Hit() { l.hits.Add(1) }

// Miss counts a key that the filter does not contain. It is certainly absent.
func (l *Lookups) Miss() { l.misses.Add(1) }

// FalsePositive counts a key that the filter contains and the database does not.
func (l *Lookups) FalsePositive() { l.falsePositives.Add(1) }

// Counts returns how often each method was called.
func (l *Lookups) Counts() (hits, misses, falsePositives uint64) {
	return l.hits.Load(), l.misses.Load(), l.falsePositives.Load()
}

// String returns the counts as JSON, for expvar.Publish.
func (l *Lookups) String() string {
	hits, misses, falsePositives := l.Counts()
	return fmt.Sprintf(`{"hits": %d, "misses": %d, "false_positives": %d}`, hits, misses, falsePositives)
}

// NewLookups returns a collector of what l counted. It panics if l is nil.
func NewLookups(name string, l *Lookups) prometheus.Collector {
	if l == nil {
		panic("bloomprom: NewLookups without Lookups")
	}
	return &lookups{l, prometheus.NewDesc("bloom_lookups_total", "Look-ups, by what became of them.",
		[]string{"result"}, prometheus.Labels{"filter": name})}
}

type lookups struct {
	counted *Lookups
	desc    *prometheus.Desc
}

func (l *lookups) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

func (l *lookups) Collect(ch chan<- prometheus.Metric) {
	hits, misses, falsePositives := l.counted.Counts()
	for result, n := range map[string]uint64{"hit": hits, "miss": misses, "false_positive": falsePositives} {
		ch <- prometheus.MustNewConstMetric(l.desc, prometheus.CounterValue, float64(n), result)
	}
}
