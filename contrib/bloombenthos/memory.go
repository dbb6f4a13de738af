package bloombenthos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redpanda-data/benthos/v4/public/bloblang"
	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/file"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

func init() {
	open := func(conf *service.ParsedConfig, res *service.Resources) (service.Cache, error) {
		return openOnce(res, func() (*cache, error) { return newMemoryCache(conf, res, clock{}) })
	}
	service.MustRegisterCache("bloom", memorySpec(), open)
}

// The names of fields that both caches have.
const (
	capacityField = "capacity"
	fprField      = "fpr"
	spanField     = "span"
	renewField    = "renew"
)

const spanText = "An id is remembered for a span at least, and for up to a seventh longer, if no " +
	"more than `capacity` new ids come within a span. If more come, the newest `capacity` ids " +
	"are remembered, and the metric `bloom_reach_seconds` falls below the span."

func spanSpec() *service.ConfigField {
	return service.NewDurationField(spanField).
		Description(spanText)
}

func renewSpec() *service.ConfigField {
	return service.NewBoolField(renewField).
		Description("Whether an id that comes again is remembered for another span from then on. " +
			"Some repetitions then count towards `capacity`: eight times the number of different " +
			"ids in a span is always enough. The memory is 11 to 17 % larger, in Redis 13 to " +
			"21 %. By default an id that comes again and again passes once a span.").
		Default(false)
}

func fprSpec() *service.ConfigField {
	return service.NewFloatField(fprField).
		Description("The largest fraction of new ids that are reported as present. A message " +
			"with such an id is lost. With a `span` the filter keeps this rate however many ids " +
			"come. Without a span the filter grows and keeps the rate. For a tenth of the rate " +
			"an id takes 5 or 6 bits more with a span, and 7 or 8 bits more without one.").
		Default(1e-9).
		LintRule(`root = if this <= 0 || this >= 1 { [ "fpr must be above 0 and below 1" ] }`)
}

func memorySpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Summary("Remembers ids in the bits of a Bloom filter in memory.").
		Description("Made for the `dedupe` processor. With a `span` the memory is fixed and ids "+
			"are forgotten after the span. Without a span the filter grows and keeps every id. "+
			"Values and ttls are not kept, and keys cannot be deleted.").
		Fields(
			service.NewIntField(capacityField).
				Description("The largest number of new ids within a span, however unevenly they "+
					"come. Required with a `span`. Without a span it is the expected number of "+
					"ids, and 0 means that the number is unknown.").
				Default(0).
				LintRule(`root = if this < 0 { [ "capacity must not be negative" ] }`),
			fprSpec(),
			spanSpec().Default("0s").
				Description(spanText+" `0s` means forever."),
			renewSpec(),
			service.NewBloblangField("time").
				Description("A mapping from an id to the time of its message, as a number of "+
					"seconds since 1970 or a text such as `2024-05-17T10:00:00Z`. Spans then go "+
					"back from the newest time so far. So messages that waited during an outage "+
					"count by their own times. A time up to a minute in the future counts as now. "+
					"A message with a later time, or with none, counts as the newest. Nothing is "+
					"forgotten before the first time. Without the field, spans go back from the "+
					"machine's clock.").
				Example(`root = this.split("@").index(1)`).
				Optional(),
			service.NewStringField("path").
				Description("The file that keeps the ids over restarts, for one cache: a second "+
					"cache with the same path does not start. The file is loaded when the cache "+
					"is opened, and saved every `save_every` and at the end. It is an error if "+
					"the file is damaged, or was made for another capacity, fpr, span or renew. "+
					"Then bloom-connect does not start, and neither does another program that "+
					"opens its caches at the start. Without a path, ids are lost when the process "+
					"ends.").
				Default(""),
			service.NewDurationField("save_every").
				Description("How often the file at `path` is saved. After a crash, ids that were "+
					"added since the last save are new again.").
				Default("1m"),
		)
}

// filter is a window.Filter or a growing.Filter.
type filter interface {
	bloom.Set
	Stats() bloom.Stats
	Info() bloom.Info
	UpdateInfo(func(*bloom.Info))
	SaveFile(path string) error
}

type memory struct {
	filter
	path   string
	unlock func() error // unlocks the file at path
	times  *times       // the clock of a window; nil means the machine's clock
}

// times is a clock that shows the newest time of a message so far.
type times struct {
	mapping *bloblang.Executor // maps an id to the time of its message
	newest  atomic.Int64       // nanoseconds since 1970; 0 before the first message with a time
	log     *service.Logger
	warned  sync.Once
}

// skew is how far the clock of a message's sender may be ahead.
const skew = time.Minute

// see advances the clock to the time of id's message, but not beyond the machine's time. An id
// without a time, or with a time more than skew ahead, leaves the clock alone: if it moved the
// clock to the machine's time, the ids of delayed messages would be forgotten.
func (t *times) see(id string) {
	v, err := t.mapping.Query(id)
	var stamp time.Time
	if err == nil {
		stamp, err = bloblang.ValueAsTimestamp(v)
	}
	now := time.Now()
	if err == nil && stamp.After(now.Add(skew)) {
		err = fmt.Errorf("%v is in the future", stamp)
	}
	if err != nil {
		t.warned.Do(func() {
			t.log.Warnf("bloom: time: id %q has none, and other ids may lack one, too: %v", id, err)
		})
		return
	}
	if stamp.After(now) {
		stamp = now
	}
	if stamp.Unix() < 0 { // before 1970; UnixNano would overflow before 1678
		return
	}
	for {
		newest := t.newest.Load()
		if stamp.UnixNano() <= newest || t.newest.CompareAndSwap(newest, stamp.UnixNano()) {
			return
		}
	}
}

// newestName is the name in Info.Meta for the newest time, in RFC 3339 format. Without this time, a
// loaded window would forget nothing until a message with a time arrives.
const newestName = "newest"

func (t *times) load(f filter) {
	facts, _ := url.ParseQuery(f.Info().Meta)
	if stamp, err := time.Parse(time.RFC3339Nano, facts.Get(newestName)); err == nil {
		t.newest.Store(stamp.UnixNano())
	}
}

func (t *times) store(f filter) {
	newest := t.newest.Load()
	if newest == 0 {
		return
	}
	f.UpdateInfo(func(i *bloom.Info) {
		facts, _ := url.ParseQuery(i.Meta)
		facts.Set(newestName, time.Unix(0, newest).UTC().Format(time.RFC3339Nano))
		i.Meta = facts.Encode()
	})
}

// now returns the newest time of a message. If no message had a time, it returns the zero Time, and
// nothing is forgotten.
func (t *times) now() time.Time {
	if newest := t.newest.Load(); newest != 0 {
		return time.Unix(0, newest)
	}
	return time.Time{}
}

// fields are the values of the fields that both caches have.
type fields struct {
	capacity uint64
	fpr      float64
	span     time.Duration
	renew    bool
}

// readFields returns the fields in conf. It returns an error if the capacity or the span is
// negative, or if a span has no capacity.
func readFields(conf *service.ParsedConfig) (f fields, err error) {
	capacity, err1 := conf.FieldInt(capacityField)
	fpr, err2 := conf.FieldFloat(fprField)
	span, err3 := conf.FieldDuration(spanField)
	renew, err4 := conf.FieldBool(renewField)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return f, err
	}
	switch {
	case capacity < 0:
		return f, fmt.Errorf("%s: %d is negative", capacityField, capacity)
	case span < 0:
		return f, fmt.Errorf("%s: %v is negative", spanField, span)
	case span > 0 && capacity == 0:
		return f, fmt.Errorf("%s: it is required with a span", capacityField)
	}
	return fields{uint64(capacity), fpr, span, renew}, nil
}

// ofField puts the name of a field before err, if err is about that field.
func ofField(err error) error {
	var bad *bloom.ParamError
	if errors.As(err, &bad) {
		switch bad.Param {
		case "n", "N":
			return fmt.Errorf("%s: %w", capacityField, err)
		case "p", "P":
			return fmt.Errorf("%s: %w", fprField, err)
		case "Span":
			return fmt.Errorf("%s: %w", spanField, err)
		}
	}
	return err
}

// newMemoryCache makes a cache that goes by t, or by the times of messages if conf has a mapping.
func newMemoryCache(
	conf *service.ParsedConfig, res *service.Resources, t clock,
) (*cache, error) {
	f, err := readFields(conf)
	if err != nil {
		return nil, err
	}
	path, err1 := conf.FieldString("path")
	every, err2 := conf.FieldDuration("save_every")
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	var m memory
	if conf.Contains("time") {
		mapping, err := conf.FieldBloblang("time")
		if err != nil {
			return nil, fmt.Errorf("time: %w", err)
		}
		m.times = &times{mapping: mapping, log: res.Logger()}
		t.now = m.times.now
	}
	switch {
	case f.span == 0 && (f.renew || m.times != nil):
		return nil, fmt.Errorf("span: it is required with renew or time")
	case every <= 0:
		return nil, fmt.Errorf("save_every: %v is not positive", every)
	}
	if m.path, m.unlock, err = hold(path); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	m.filter, err = openFilter(m.path, window.Config{
		N: f.capacity, P: f.fpr, Span: f.span, Renew: f.renew, Now: t.now,
	})
	if err != nil {
		_ = m.unlock()
		var file *fs.PathError
		isUnfit := errors.Is(err, bloom.ErrFormat) || errors.Is(err, bloom.ErrMismatch)
		if isUnfit || errors.As(err, &file) {
			return nil, fmt.Errorf("path: %w", err)
		}
		return nil, ofField(err)
	}
	if m.times != nil {
		m.times.load(m.filter)
	}
	return newCache(m, f.span, every, t, res), nil
}

// hold locks the file at path against other caches and against the bloom command, until unlock is
// called. It does not wait for the lock. If path is empty, or if the file system has no locks, it
// locks nothing. target is the path that [file.Lock] returns.
func hold(path string) (target string, unlock func() error, err error) {
	unlock = func() error { return nil }
	if path == "" {
		return "", unlock, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	target, locked, err := file.Lock(ctx, path)
	switch {
	case err == nil:
		return target, locked, nil
	case errors.Is(err, errors.ErrUnsupported): // some network file systems have no locks
		return target, unlock, nil
	case errors.Is(err, context.Canceled):
		err = fmt.Errorf("%s is in use by another cache or program", target)
	}
	return "", nil, err
}

func openFilter(path string, c window.Config) (filter, error) {
	switch {
	case c.Span > 0 && path == "":
		return checked(window.New(c))
	case c.Span > 0:
		return checked(window.LoadOrNew(path, c))
	case path == "":
		return checked(growing.New(c.N, c.P))
	}
	return checked(growing.LoadOrNew(path, c.N, c.P))
}

// checked returns a nil filter after an error, because f may be a nil pointer.
func checked[F filter](f F, err error) (filter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (m memory) addID(_ context.Context, id string) (bool, error) {
	if m.times != nil {
		m.times.see(id)
	}
	return m.AddHash(bloom.SumString(id)), nil
}

func (m memory) contains(_ context.Context, id string) (bool, error) {
	if m.times != nil {
		m.times.see(id)
	}
	return m.ContainsHash(bloom.SumString(id)), nil
}

func (m memory) figures(context.Context) (s bloom.Stats, reach time.Duration, err error) {
	if w, ok := m.filter.(*window.Filter); ok {
		reach = w.Reach()
	}
	return m.Stats(), reach, nil
}

func (m memory) save() error {
	if m.path == "" {
		return nil
	}
	if m.times != nil {
		m.times.store(m.filter)
	}
	return m.SaveFile(m.path)
}

func (m memory) close() error { return errors.Join(m.save(), m.unlock()) }
