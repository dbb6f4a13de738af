package lines

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/linestest"
)

// cuts returns its bytes in pieces of random sizes, as pipes do.
type cuts struct {
	rnd  *rand.Rand
	data []byte
	size int // the largest piece
}

func (c *cuts) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), c.rnd.IntN(c.size+1))], c.data)
	c.data = c.data[n:]
	if len(c.data) == 0 && (n == 0 || c.rnd.IntN(2) == 0) {
		return n, io.EOF
	}
	return n, nil
}

func (c *cuts) Close() error { return nil }

// configOf returns a Config that reads as rule does.
func configOf(rule linestest.Rule) *Config {
	return &Config{
		Delim: rule.Delim,
		Key: Key{
			Place:     Place{Field: rule.Field, JSON: rule.JSON},
			Separator: rule.Separator,
			FoldCase:  rule.FoldCase,
			Hex:       rule.Hex,
			KeepCR:    rule.KeepCR,
		},
		SkipBad: rule.SkipBad,
		Blank:   rule.Blank,
	}
}

// packed returns the bytes of a file with a text, which may be compressed.
func packed(t *testing.T, rnd *rand.Rand, text string) string {
	cut := rnd.IntN(len(text) + 1)
	switch rnd.IntN(16) {
	case 0:
		return gzipped(t, text[:cut]) + gzipped(t, text[cut:])
	case 1:
		return zstded(t, text[:cut]) + skippable(byte(rnd.IntN(16)), "x") + zstded(t, text[cut:])
	}
	return text
}

// TestModel: of any files, with any flags and however they arrive, Each delivers what a program of
// a few lines makes of their whole texts.
func TestModel(t *testing.T) {
	require.GreaterOrEqual(t, linestest.ReadSize, pieceSize)
	require.GreaterOrEqual(t, linestest.HashedSize, hashChunk)
	rounds := uint64(1000)
	switch {
	case os.Getenv("BLOOM_LONG") != "":
		rounds = 50_000
	case testing.Short():
		rounds = 200
	}
	for seed := range rounds {
		modelRound(t, seed)
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func modelRound(t *testing.T, seed uint64) {
	defer time.AfterFunc(limit, func() { panic(fmt.Sprint("seed ", seed, " hangs")) }).Stop()
	rnd := rand.New(rand.NewPCG(seed, 1))
	rule := linestest.RandomRule(rnd)
	cfg := configOf(rule)
	var chosen func(key string) bool
	if rnd.IntN(3) == 0 {
		dropped := rnd.Uint64N(4) // with 0, the empty key, too
		cfg.Select = func(h bloom.Hash) bool {
			h1, _ := h.Words()
			return h1%4 != dropped
		}
		chosen = func(key string) bool { return cfg.Select(bloom.SumString(key)) }
	}
	var texts []string
	var size int64
	files := map[string]string{}
	for range 1 + rnd.IntN(3) {
		name := string(rune('a' + len(texts)))
		text := rule.Text(rnd)
		cfg.Names = append(cfg.Names, name)
		texts = append(texts, text)
		files[name] = packed(t, rnd, text)
		size += int64(len(files[name]))
	}
	want := rule.Read(cfg.Names, texts, chosen)

	piece := []int{1, 3, 20, pieceSize}[rnd.IntN(4)]
	if size > 10_000 {
		piece = pieceSize
	}
	var out bytes.Buffer
	cfg.Out = &out
	r := newReader(cfg)
	r.openFile = func(name string) (io.ReadCloser, error) {
		return &cuts{rand.New(rand.NewPCG(seed, 2)), []byte(files[name]), piece}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.start(ctx)
	var got []linestest.Line
	var kept string
	err := r.Each(ctx, nil, nil, func(b *Batch) error {
		end := 0
		if len(b.Ends) > 0 {
			end = b.Ends[len(b.Ends)-1]
		}
		if !b.bad {
			assert.Len(t, b.Data, end)
		}
		var keep []int
		for i, h := range b.Hashes {
			key := string(b.Key(i))
			line := string(b.Line(i))
			got = append(got, linestest.Line{File: b.File, Text: line, Key: key})
			if h != bloom.SumString(key) {
				t.Errorf("%q has the digest of another key than %q", line, key)
			}
			if rnd.IntN(2) == 0 {
				keep = append(keep, i)
				kept += line
			}
		}
		b.Keep(keep)
		return nil
	})
	cancel()
	for b := range r.queue { // after an error, batches are left
		<-b.ready
		r.free <- b
	}

	if want.Err == "" {
		require.NoError(t, err, "%.999q", texts)
		assert.Equal(t, size, cfg.Read.Load())
		assert.Equal(t, want.Parted, cfg.Parted)
	} else {
		require.Error(t, err, "%.999q", texts)
		assert.Regexp(t, "^"+want.Err, err)
	}
	assert.Equal(t, want.Lines, got, "%.999q", texts)
	assert.Equal(t, kept, out.String())
	assert.Equal(t, want.Bad, cfg.Bad)
	assert.Equal(t, want.Blanks, cfg.Blanks)
	assert.Equal(t, want.Keys, cfg.Keys)
	if want.FirstBad == "" {
		assert.NoError(t, cfg.FirstBad)
	} else {
		assert.Regexp(t, "^"+want.FirstBad, cfg.FirstBad)
	}
	for _, text := range texts {
		digest := cfg.Digests()
		all, sep := rule.Split(text)
		for _, line := range all {
			key, ok := rule.Key(line, sep)
			h, found := digest([]byte(line))
			assert.Equal(t, ok, found)
			if ok && h != bloom.SumString(key) {
				t.Errorf("%q has the digest of another key than %q", line, key)
			}
		}
	}
}
