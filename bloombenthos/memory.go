package bloombenthos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

func init() {
	service.MustRegisterCache("bloom", memorySpec(), func(conf *service.ParsedConfig, res *service.Resources) (service.Cache, error) {
		return openOnce(res, func() (*cache, error) { return newMemoryCache(conf, res, nil) })
	})
}

// Fields that both caches have.
const (
	capacityField = "capacity"
	fprField      = "fpr"
	spanField     = "span"
)

func fprSpec() *service.ConfigField {
	return service.NewFloatField(fprField).
		Description("The fraction of ids that are reported as present though they were never added, when the filter holds its capacity. A message with such an id is lost. Each factor of ten takes some 5 bits an id.").
		Default(1e-9).
		LintRule(`root = if this <= 0 || this >= 1 { [ "fpr must be above 0 and below 1" ] }`)
}

func memorySpec() *service.ConfigSpec {
	return service.NewConfigSpec().
		Summary("Remembers ids in the bits of a Bloom filter in memory.").
		Description("Made for the `dedupe` processor. With a `span` the memory is fixed and ids are forgotten after the span; without one the filter grows and keeps every id. Values and ttls are not kept, and keys cannot be deleted.").
		Fields(
			service.NewIntField(capacityField).
				Description("The largest number of different ids within a span. Required with a `span`. Without one it is the expected number of ids, and 0 means that nobody knows.").
				Default(0).
				LintRule(`root = if this < 0 { [ "capacity must not be negative" ] }`),
			fprSpec(),
			service.NewDurationField(spanField).
				Description("How long an id is remembered, at least. Up to a fifteenth more. `0s` means for ever.").
				Default("0s"),
			service.NewStringField("path").
				Description("The file that keeps the ids over restarts. It is loaded when the cache is opened, and saved every `save_every` and at the end. A file that is damaged, or that was made for another capacity, fpr or span, is an error: bloom-connect then does not start, and other programs do not if they open their caches at the start, as it does. Without a path, ids are lost with the process.").
				Default(""),
			service.NewDurationField("save_every").
				Description("How often the file at `path` is saved. After a crash, ids that were added since the last save are new again.").
				Default("1m"),
		)
}

// filter is what window.Filter and growing.Filter have in common.
type filter interface {
	bloom.Set
	Stats() bloom.Stats
	SaveFile(path string) error
}

// memory is a set in memory.
type memory struct {
	filter
	path string
}

// newMemoryCache makes a cache. A test's now is the clock of a window.
func newMemoryCache(conf *service.ParsedConfig, res *service.Resources, now func() time.Time) (*cache, error) {
	capacity, err1 := conf.FieldInt(capacityField)
	fpr, err2 := conf.FieldFloat(fprField)
	span, err3 := conf.FieldDuration(spanField)
	path, err4 := conf.FieldString("path")
	every, err5 := conf.FieldDuration("save_every")
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return nil, err
	}
	switch {
	case capacity < 0:
		return nil, fmt.Errorf("capacity: %d is negative", capacity)
	case span > 0 && capacity == 0:
		return nil, fmt.Errorf("capacity: with a span it must be given")
	case !(fpr > 0 && fpr < 1):
		return nil, fmt.Errorf("fpr: %v is not above 0 and below 1", fpr)
	case span < 0:
		return nil, fmt.Errorf("span: %v is negative", span)
	case every <= 0:
		return nil, fmt.Errorf("save_every: %v is not positive", every)
	}
	f, err := openFilter(path, uint64(capacity), fpr, span, now)
	if err != nil {
		var file *fs.PathError
		if errors.Is(err, bloom.ErrFormat) || errors.Is(err, bloom.ErrMismatch) || errors.As(err, &file) {
			return nil, fmt.Errorf("path: %w", err)
		}
		return nil, fmt.Errorf("%s, %s, %s: %w", capacityField, fprField, spanField, err)
	}
	return newCache(memory{f, path}, every, res), nil
}

// openFilter makes a filter, or loads it from path.
func openFilter(path string, capacity uint64, fpr float64, span time.Duration, now func() time.Time) (filter, error) {
	c := window.Config{N: capacity, P: fpr, Span: span, Now: now}
	switch {
	case span > 0 && path == "":
		return checked(window.New(c))
	case span > 0:
		return checked(window.LoadOrNew(path, c))
	case path == "":
		return checked(growing.New(capacity, fpr))
	}
	return checked(growing.LoadOrNew(path, capacity, fpr))
}

// checked makes no filter of a nil pointer.
func checked[F filter](f F, err error) (filter, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (m memory) add(_ context.Context, id string) (bool, error) {
	return m.AddHash(bloom.SumString(id)), nil
}

func (m memory) contains(_ context.Context, id string) (bool, error) {
	return m.ContainsHash(bloom.SumString(id)), nil
}

func (m memory) stats(context.Context) (bloom.Stats, error) { return m.Stats(), nil }

func (m memory) save() error {
	if m.path == "" {
		return nil
	}
	return m.SaveFile(m.path)
}

func (m memory) close() error { return m.save() }
