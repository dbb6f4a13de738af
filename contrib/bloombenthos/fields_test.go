package bloombenthos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// manualClock is a clock that stands still until a test moves it.
type manualClock struct {
	time  time.Time
	every time.Duration
	due   time.Time // of the next tick
	tick  chan bool
	idle  chan bool // receives a value when the cache waits for a tick
}

func (m *manualClock) clock() clock {
	return clock{func() time.Time { return m.time }, m.ticks}
}

func (m *manualClock) ticks(ctx context.Context, every time.Duration) (next func() bool) {
	m.every, m.due = every, m.time.Add(every)
	m.tick, m.idle = make(chan bool), make(chan bool)
	return func() bool {
		select {
		case m.idle <- true:
		case <-ctx.Done():
			return false
		}
		select {
		case <-m.tick:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// move moves the clock by d. It calls ticked after the cache has dealt with a tick.
func (m *manualClock) move(t *testing.T, d time.Duration, ticked func()) {
	target := m.time.Add(d)
	for !m.due.After(target) {
		m.time, m.due = m.due, m.due.Add(m.every)
		m.tick <- true
		receive(t, m.idle)
		ticked()
	}
	m.time = target
}

// messages is a slog.Handler that keeps the messages.
type messages struct {
	slog.Handler
	said *[]string
}

func (messages) Enabled(context.Context, slog.Level) bool { return true }

func (m messages) Handle(_ context.Context, r slog.Record) error {
	*m.said = append(*m.said, r.Message)
	return nil
}

// fieldsModel says what a cache bloom of given fields does. It has a filter that is made with the
// fields' values.
type fieldsModel struct {
	config  window.Config
	hasTime bool
	every   time.Duration
	fields  string // in YAML
	path    string // "" for none
	dir     string // of files of the model

	filter filter
	newest time.Time // of the messages
	saved  []byte    // the file at path; nil if there is none
	short  bool      // whether the log says that ids are forgotten early
	warned bool      // whether the log says that an id has no time
	log    []string  // the beginning of each message
}

func newFieldsModel(t *testing.T, r *rand.Rand, m *manualClock) *fieldsModel {
	f := &fieldsModel{every: time.Minute, dir: t.TempDir(), config: window.Config{
		N: r.Uint64N(3) * 30, P: math.Pow(10, -5-4*r.Float64()),
		Span: time.Duration(r.IntN(3)) * time.Hour, Now: func() time.Time { return m.time },
	}}
	if f.config.Span > 0 {
		f.config.N += 10
		f.config.Renew = r.IntN(2) == 0
		f.hasTime = r.IntN(2) == 0
	}
	f.fields = fmt.Sprintf("capacity: %d, fpr: %v, span: %v, renew: %v",
		f.config.N, f.config.P, f.config.Span, f.config.Renew)
	if f.hasTime {
		f.fields += `, time: 'root = this.split("@").index(1)'`
		f.config.Now = func() time.Time { return f.newest }
	}
	if r.IntN(4) > 0 {
		f.every = time.Duration(1+r.IntN(60)) * time.Minute
		f.fields += fmt.Sprintf(", save_every: %v", f.every)
	}
	if r.IntN(3) > 0 {
		f.path = filepath.Join(t.TempDir(), "ids", "file")
		require.NoError(t, os.Mkdir(filepath.Dir(f.path), 0o777))
		f.fields += ", path: " + f.path
	}
	return f
}

// open begins with the file.
func (f *fieldsModel) open(t *testing.T) {
	path := filepath.Join(f.dir, "open")
	require.NoError(t, os.RemoveAll(path))
	f.newest = time.Time{}
	if f.saved != nil {
		require.NoError(t, os.WriteFile(path, f.saved, 0o666))
	}
	if f.config.Span > 0 {
		f.filter = bloom.Must(window.LoadOrNew(path, f.config))
	} else {
		f.filter = bloom.Must(growing.LoadOrNew(path, f.config.N, f.config.P))
	}
	if _, newest, found := strings.Cut(f.filter.Info().Meta, "newest="); found {
		newest = strings.ReplaceAll(newest, "%3A", ":")
		f.newest = bloom.Must(time.Parse(time.RFC3339Nano, newest))
	}
	f.short, f.warned = false, false
	f.show()
}

func (f *fieldsModel) show() {
	w, ok := f.filter.(*window.Filter)
	if !ok {
		return
	}
	reach := w.Reach()
	if short := reach < f.config.Span; short != f.short {
		f.short = short
		said := fmt.Sprintf("bloom: the ids of the last %v are remembered again", f.config.Span)
		if short {
			said = fmt.Sprintf("bloom: more ids came than capacity: those of the last %v are "+
				"remembered, not of %v", reach.Round(time.Second), f.config.Span)
		}
		f.log = append(f.log, said)
	}
}

// save saves the ids, unless the file cannot be written.
func (f *fieldsModel) save(t *testing.T, writes bool) {
	if f.path == "" {
		return
	}
	if !f.newest.IsZero() {
		f.filter.UpdateInfo(func(i *bloom.Info) {
			newest := f.newest.UTC().Format(time.RFC3339Nano)
			i.Meta = "newest=" + strings.ReplaceAll(newest, ":", "%3A")
		})
	}
	if !writes {
		f.log = append(f.log, "bloom: the ids are not on disk: ")
		return
	}
	path := filepath.Join(f.dir, "saved")
	require.NoError(t, f.filter.SaveFile(path))
	f.saved = bloom.Must(os.ReadFile(path))
}

// see advances the clock of the messages.
func (f *fieldsModel) see(id string) {
	if !f.hasTime {
		return
	}
	_, stamp, found := strings.Cut(id, "@")
	if !found && !f.warned {
		f.warned = true
		f.log = append(f.log,
			fmt.Sprintf("bloom: time: id %q has none, and other ids may lack one, too: ", id))
	}
	if found {
		if at := bloom.Must(time.Parse(time.RFC3339Nano, stamp)); at.After(f.newest) {
			f.newest = at
		}
	}
}

// TestFieldsModel: a cache bloom gives the answers of its model to random calls, while the
// machine's time and that of the messages move, and says the same in the log. At each time the file
// is as the last save left it, which was a multiple of save_every after the start. If the file
// cannot be saved, it stays as it was, and the next save has all ids. A process that begins anew
// has what is in the file.
func TestFieldsModel(t *testing.T) {
	ctx := context.Background()
	events := map[string]int{}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 11))
		machine := &manualClock{time: past}
		model := newFieldsModel(t, r, machine)
		var said []string
		logger := service.NewLoggerFromSlog(slog.New(messages{said: &said}))
		res := service.MockResources(service.MockResourcesOptUseLogger(logger))
		var c *cache
		open := func() {
			parsed := bloom.Must(memorySpec().ParseYAML("{"+model.fields+"}", nil))
			c = bloom.Must(newMemoryCache(parsed, res, machine.clock()))
			receive(t, machine.idle)
			require.Equal(t, model.every, machine.every, "save_every: {%s}", model.fields)
			model.open(t)
		}
		open()
		dir := filepath.Dir(model.path)
		isAway := false // the directory of the file
		var ids []string
		for event := range 120 {
			about := fmt.Sprintf("seed %d, event %d, {%s}", seed, event, model.fields)
			if r.IntN(2) == 0 || len(ids) == 0 { // a new id, some of them without a time
				id := fmt.Sprintf("%d@%s", len(ids), machine.time.Format(time.RFC3339Nano))
				if r.IntN(10) == 0 {
					id = fmt.Sprint(len(ids))
				}
				ids = append(ids, id)
			}
			// The newest ids come most often.
			id := ids[len(ids)-1-min(r.IntN(len(ids)), r.IntN(len(ids)))]
			h := bloom.SumString(id)
			away := func(leave bool) {
				if leave != isAway {
					names := []string{dir, dir + " away"}
					if isAway {
						names[0], names[1] = names[1], names[0]
					}
					require.NoError(t, os.Rename(names[0], names[1]), about)
					isAway = leave
				}
			}
			switch kind := r.IntN(24); {
			case kind == 0:
				events["restart"]++
				away(false)
				require.NoError(t, c.Close(ctx), about)
				model.save(t, true)
				open()
			case kind == 1:
				events["crash"]++
				away(false)
				require.NoError(t, c.Close(ctx), about)
				if model.saved != nil {
					require.NoError(t, os.WriteFile(model.path, model.saved, 0o666), about)
				} else if model.path != "" {
					require.NoError(t, os.Remove(model.path), about)
				}
				open()
			case kind == 2 && model.path != "" && runtime.GOOS != "windows":
				events["away"]++
				away(!isAway)
			case kind < 7:
				d := time.Duration(r.Int64N(int64(3 * model.every / 2)))
				machine.move(t, d, func() {
					events["tick"]++
					model.show()
					model.save(t, !isAway)
					if isAway {
						events["failure"]++
					}
				})
			case kind < 14:
				model.see(id)
				isNew := model.filter.AddHash(h)
				err := c.Add(ctx, id, nil, nil)
				require.Equal(t, !isNew, errors.Is(err, service.ErrKeyAlreadyExists), about)
				require.Equal(t, isNew, err == nil, about)
			case kind < 16:
				model.see(id)
				model.filter.AddHash(h)
				require.NoError(t, c.Set(ctx, id, nil, nil), about)
			default:
				model.see(id)
				found := model.filter.ContainsHash(h)
				_, err := c.Get(ctx, id)
				require.Equal(t, !found, errors.Is(err, service.ErrKeyNotFound), about)
				require.Equal(t, found, err == nil, about)
			}
			stats, reach, err := c.set.figures(ctx)
			require.NoError(t, err, about)
			require.Equal(t, model.filter.Stats(), stats, about)
			if w, ok := model.filter.(*window.Filter); ok {
				require.Equal(t, w.Reach(), reach, about)
			}
			require.Len(t, said, len(model.log), "%s: %q, want %q", about, said, model.log)
			for i, beginning := range model.log {
				require.True(t, strings.HasPrefix(said[i], beginning),
					"%s: %q, want %q", about, said[i], beginning)
			}
			if model.path == "" {
				continue
			}
			path := model.path
			if isAway {
				path = filepath.Join(dir+" away", filepath.Base(path))
			}
			file, err := os.ReadFile(path)
			if model.saved == nil {
				require.ErrorIs(t, err, os.ErrNotExist, about)
				continue
			}
			require.NoError(t, err, about)
			require.True(t, string(model.saved) == string(file), "%s: another file", about)
		}
		if isAway {
			require.NoError(t, os.Rename(dir+" away", dir))
		}
		require.NoError(t, c.Close(ctx))
	}
	for _, kind := range []string{"restart", "crash", "away", "tick", "failure"} {
		assert.Greater(t, events[kind], 10, "%s: %v", kind, events)
	}
}

// TestFieldErrors: a field out of range is an error with these words, and the value beside it is
// allowed. A cache that does not open leaves no file, and the next one opens.
func TestFieldErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	for _, test := range []struct{ fields, says string }{
		{"capacity: -1", "capacity: -1 is negative"},
		{"capacity: 0", ""},
		{"capacity: 0, span: 1h", "capacity: it is required with a span"},
		{"capacity: 1, span: 1h", ""},
		{"capacity: 1, span: -1ns", "span: -1ns is negative"},
		{"capacity: 1, span: 0s", ""},
		{"capacity: 1, span: 7ms", ""},
		{"save_every: 0s", "save_every: 0s is not positive"},
		{"save_every: -1s", "save_every: -1s is not positive"},
		{"save_every: 1ns", ""},
		{"renew: true", "span: it is required with renew or time"},
		{"time: 'root = this'", "span: it is required with renew or time"},
		{"capacity: 1, span: 1h, renew: true, time: 'root = this'", ""},
	} {
		fields := fmt.Sprintf("{%s, path: %s}", test.fields, path)
		parsed, err := memorySpec().ParseYAML(fields, nil)
		require.NoError(t, err, fields)
		c, err := newMemoryCache(parsed, service.MockResources(), clock{})
		if test.says != "" {
			require.EqualError(t, err, test.says, fields)
			require.Empty(t, bloom.Must(os.ReadDir(filepath.Dir(path))), fields)
			continue
		}
		require.NoError(t, err, fields)
		require.NoError(t, c.Close(t.Context()), fields)
		require.NoError(t, os.Remove(path), fields)
	}
	for fields, says := range map[string]string{
		"capacity: 1, span: 0s":   "span: it is required",
		"capacity: 0, span: 1h":   "capacity: it is required with a span",
		"capacity: -1, span: 1h":  "capacity: -1 is negative",
		"capacity: 1, span: -1ns": "span: -1ns is negative",
	} {
		fields = "{url: 'redis://127.0.0.1:1', key: a, " + fields + "}"
		parsed, err := redisSpec().ParseYAML(fields, nil)
		require.NoError(t, err, fields)
		_, err = newRedisCache(parsed, service.MockResources())
		require.EqualError(t, err, says, fields)
	}
}
