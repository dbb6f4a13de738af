// Package bloomprom publishes the statistics of Bloom filters as Prometheus metrics: how full a
// filter is, and how often its answers were right.
//
// A [FilterCollector] collects the statistics of a filter. [NewGuardCollector] returns a collector
// for the look-ups of a guard.Guard:
//
//	registry.MustRegister(
//		bloomprom.NewFilterCollector("users", users.Stats),
//		bloomprom.NewGuardCollector("users", users.Counts),
//	)
//
// A [Lookups] counts the look-ups of any other filter in front of a database. All metrics have the
// label "filter" with the filter's name, so one program can register several filters:
//
//	bloom_filter_size_bytes            size of the filter
//	bloom_filter_fill_ratio            fraction of bits set
//	bloom_filter_keys                  estimated number of keys
//	bloom_filter_false_positive_rate   rate expected now
//	bloom_filter_reach_seconds         reach of a window; see NewReachCollector
//	bloom_lookups_total{result="..."}  hit, miss, false_positive or learned
//	bloom_lookup_queries_total         queries of a guard.Guard, including failed ones
//
// Before the first load of a guard.Guard or a replica.Replica, every key passes, and
// bloom_filter_false_positive_rate is 1.
package bloomprom

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/guard"
)

// FilterCollector is a prometheus.Collector of a filter's statistics. Make it with
// [NewFilterCollector].
type FilterCollector struct {
	stats                  func() bloom.Stats
	size, fill, keys, rate *prometheus.Desc
}

// NewFilterCollector returns a collector of the statistics that stats returns. stats can be the
// Stats method of a guard.Guard, a [bloom.SyncFilter] or a replica.Replica. Each scrape calls stats
// once, while the filter is in use; nothing may write to a [bloom.Filter] at that time. If the
// filter does not exist yet, or may be replaced, pass a function that finds the current one and
// returns a zero Stats if there is none.
//
// It panics if stats is nil.
func NewFilterCollector(name string, stats func() bloom.Stats) *FilterCollector {
	if stats == nil {
		panic("bloomprom: NewFilterCollector without a function")
	}
	label := prometheus.Labels{"filter": name}
	gauge := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("bloom_filter_"+name, help, nil, label)
	}
	return &FilterCollector{
		stats: stats,
		size:  gauge("size_bytes", "Size of the filter."),
		fill:  gauge("fill_ratio", "Fraction of bits set."),
		keys:  gauge("keys", "Estimated number of distinct keys."),
		rate: gauge("false_positive_rate",
			"Expected probability that an absent key is reported as present."),
	}
}

// Describe implements prometheus.Collector.
func (f *FilterCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{f.size, f.fill, f.keys, f.rate} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (f *FilterCollector) Collect(ch chan<- prometheus.Metric) {
	s := f.stats()
	send := func(desc *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value)
	}
	send(f.size, float64(s.SizeBytes))
	send(f.fill, s.FillRatio)
	send(f.keys, float64(s.ApproxCount))
	send(f.rate, s.FPR)
}

// NewReachCollector returns a collector of how far back a window remembers every key. Each scrape
// calls reach once; reach can be the Reach method of a window.Filter. A reach below the window's
// Span usually means that more keys arrived than the window was made for.
//
// It panics if reach is nil.
func NewReachCollector(name string, reach func() time.Duration) prometheus.Collector {
	if reach == nil {
		panic("bloomprom: NewReachCollector without a function")
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "bloom_filter_reach_seconds",
		Help:        "How far back every key is remembered.",
		ConstLabels: prometheus.Labels{"filter": name},
	}, func() float64 { return reach().Seconds() })
}

// NewGuardCollector returns a collector of the look-ups of a guard.Guard. Each scrape calls counts
// once; counts is the guard's Counts method. A look-up counts as miss if the filter answers it, and
// as learned if the guard answers it from what it has learned. A query counts as hit if it finds
// its key, and otherwise as false_positive, even before the first load. A query that fails counts
// only in bloom_lookup_queries_total.
//
// It panics if counts is nil.
func NewGuardCollector(name string, counts func() guard.Counts) prometheus.Collector {
	if counts == nil {
		panic("bloomprom: NewGuardCollector without a function")
	}
	queries := prometheus.NewDesc("bloom_lookup_queries_total", "Queries by look-ups.",
		nil, prometheus.Labels{"filter": name})
	return &guardCollector{counts: counts, lookups: lookupsDesc(name), queries: queries}
}

type guardCollector struct {
	counts           func() guard.Counts
	lookups, queries *prometheus.Desc
}

func (g *guardCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- g.lookups
	ch <- g.queries
}

func (g *guardCollector) Collect(ch chan<- prometheus.Metric) {
	c := g.counts()
	sendLookups(ch, g.lookups, map[string]uint64{
		"hit": c.Hits, "miss": c.Misses, "false_positive": c.Denials, "learned": c.Learned,
	})
	queries := float64(c.Queries)
	ch <- prometheus.MustNewConstMetric(g.queries, prometheus.CounterValue, queries)
}

func lookupsDesc(name string) *prometheus.Desc {
	return prometheus.NewDesc("bloom_lookups_total", "Look-ups, by their result.",
		[]string{"result"}, prometheus.Labels{"filter": name})
}

func sendLookups(ch chan<- prometheus.Metric, desc *prometheus.Desc, counts map[string]uint64) {
	for result, n := range counts {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), result)
	}
}

// Lookups counts the results of look-ups in a filter in front of a database:
//
//	if !users.ContainsString(key) {
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
// A Lookups is a prometheus.Collector and an expvar.Var of its counts. Make it with [NewLookups]:
// the zero Lookups counts, but panics when it is registered as a collector. Many goroutines may use
// a Lookups. It must not be copied.
//
// The observed rate is the share of absent keys that the filter let through:
//
//	  sum by (filter) (rate(bloom_lookups_total{result=~"false_positive|learned"}[5m]))
//	/ sum by (filter) (rate(bloom_lookups_total{result!="hit"}[5m]))
//
// If the observed rate stays well above bloom_filter_false_positive_rate, the same few keys may be
// looked up repeatedly, or somebody may choose keys that collide; see package keyed. A guard.Guard
// can learn such keys, and then they rarely reach the database.
type Lookups struct {
	_                            [0]func() // not comparable
	hits, misses, falsePositives atomic.Uint64
	desc                         *prometheus.Desc
}

// NewLookups returns a Lookups for the named filter, with counts of 0.
func NewLookups(name string) *Lookups {
	return &Lookups{desc: lookupsDesc(name)}
}

// Hit counts a key that the filter and the database contain.
func (l *Lookups) Hit() { l.hits.Add(1) }

// Miss counts a key that the filter does not contain.
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
	return fmt.Sprintf(`{"hits": %d, "misses": %d, "false_positives": %d}`,
		hits, misses, falsePositives)
}

// Describe implements prometheus.Collector.
func (l *Lookups) Describe(ch chan<- *prometheus.Desc) {
	if l.desc == nil {
		panic("bloomprom: registering a zero Lookups: make it with NewLookups")
	}
	ch <- l.desc
}

// Collect implements prometheus.Collector.
func (l *Lookups) Collect(ch chan<- prometheus.Metric) {
	hits, misses, falsePositives := l.Counts()
	sendLookups(ch, l.desc, map[string]uint64{
		"hit": hits, "miss": misses, "false_positive": falsePositives,
	})
}
