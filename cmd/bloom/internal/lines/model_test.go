package lines

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/fold"
)

// naive is the model of a file's lines: what a short program makes of its whole text.
type naive struct {
	cfg *Config
	sep byte
}

// split returns the lines of a text, without what ends them.
func (m *naive) split(text string) []string {
	text = strings.TrimPrefix(text, mark)
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, string(m.cfg.Delim)), string(m.cfg.Delim))
	m.sep = ','
	if strings.Contains(lines[0], "\t") {
		m.sep = '\t'
	}
	if m.cfg.Key.Separator != "" {
		m.sep = m.cfg.Key.Separator[0]
	}
	return lines
}

// csvField is a field, with or without quotes, and the comma or the end after it.
var csvField = regexp.MustCompile(`(?s)\A(?:"((?:[^"]|"")*)"|((?:[^",][^,]*)?))(,|\z)`)

// key returns the key of a line, if it has one.
func (m *naive) key(line string) (key string, ok bool) {
	k := m.cfg.Key
	if !k.KeepCR && m.cfg.Delim == '\n' {
		line = strings.TrimSuffix(line, "\r")
	}
	key = line
	switch {
	case k.JSON != "":
		value, ok := oracle([]byte(line), k.JSON)
		twice := strings.Contains(line, `1,"`+k.JSON+`":`) // of the texts of randomText
		if !ok || twice {
			return "", false
		}
		key = string(value)
	case k.Field > 0 && m.sep != ',':
		fields := strings.Split(line, string(m.sep))
		if len(fields) < k.Field {
			return "", false
		}
		key = fields[k.Field-1]
	case k.Field > 0:
		more := ","
		for range k.Field {
			found := csvField.FindStringSubmatch(line)
			if more == "" || found == nil {
				return "", false
			}
			line = line[len(found[0]):]
			key = strings.ReplaceAll(found[1], `""`, `"`) + found[2]
			more = found[3]
		}
	}
	switch {
	case k.Hex:
		b, err := hex.DecodeString(strings.TrimSpace(key))
		return string(b), err == nil
	case k.FoldCase:
		return string(fold.Append(nil, []byte(key))), true
	}
	return key, true
}

// wanted is what Each delivers of a line.
type wanted struct {
	file      int
	line, key string
}

// read is the model of Each: it sets the Counts of cfg and returns the lines that are delivered.
// The error begins like that of Each.
func (m *naive) read(texts []string) (all []wanted, says string) {
	for i, text := range texts {
		for n, line := range m.split(text) {
			key, ok := m.key(line)
			h := bloom.SumString(key)
			m.cfg.Parted = m.cfg.Parted || m.cfg.Key.Field == 1 && strings.Contains(line, string(m.sep))
			says := fmt.Sprintf("%s: line %d: ", m.cfg.Names[i], n+1)
			switch {
			case !ok && !m.cfg.SkipBad:
				return all, says
			case !ok:
				if m.cfg.Bad == 0 {
					m.cfg.FirstBad = fmt.Errorf("%s", says)
				}
				m.cfg.Bad++
				continue
			case key == "":
				m.cfg.Blanks++
			}
			if key == "" && !m.cfg.Blank {
				continue
			}
			m.cfg.Keys++
			if m.cfg.Select == nil || m.cfg.Select(h) {
				all = append(all, wanted{i, line + string(m.cfg.Delim), key})
			}
		}
	}
	return all, ""
}

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

// randomConfig returns a Config with random flags.
func randomConfig(rnd *rand.Rand) *Config {
	half := func() bool { return rnd.IntN(2) == 0 }
	cfg := &Config{Delim: '\n', SkipBad: rnd.IntN(4) > 0, Blank: half()}
	switch rnd.IntN(6) {
	case 0:
	case 1:
		cfg.Key.JSON = "u"
	default:
		cfg.Key.Field = 1 + rnd.IntN(3)
		cfg.Key.Separator = []string{"", "", "", ":", ",", "\t", `"`}[rnd.IntN(7)]
	}
	if rnd.IntN(3) == 0 {
		cfg.Delim = 0
	}
	cfg.Key.Hex = rnd.IntN(4) == 0
	cfg.Key.FoldCase = half()
	cfg.Key.KeepCR = half()
	if rnd.IntN(3) == 0 {
		cfg.Select = func(h bloom.Hash) bool {
			h1, _ := h.Words()
			return h1%4 > 0
		}
	}
	return cfg
}

// randomText returns a text with the bytes that matter to cfg, or nothing.
func randomText(rnd *rand.Rand, cfg *Config) string {
	end := string(cfg.Delim)
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	token := func() string {
		return one("a", "B", "é", "\u212a", "\xff", " ", ",", ",", "\t", ":", "\r", "\r"+end, "\n",
			"\x00", end, end, `"`, `""`, `"a,B"`, `"a""b",`, mark, "4f", "C0", "\\")
	}
	if cfg.Key.Hex && rnd.IntN(3) > 0 {
		token = func() string { return one("4f", "4F", "C0", " 4f", ",", "\t", "\r", end) }
	}
	if cfg.Key.JSON != "" && rnd.IntN(4) > 0 {
		token = func() string {
			value := one(`"a"`, `"B\"\u0061"`, `""`, "1.10", `[1,"u"]`, `{"u":2}`, "\"\xff\"", `"4f"`)
			object := one(`{"u":`, `{"v":1, "u":`, `{"v":`) + value + one("}", "}", "} ", "} x", "")
			return one(object, object, object, `{"u":1,"u":1}`, "\r", "") + end
		}
	}
	text := one("", "", "", mark, mark+mark, mark[:2])
	tokens := rnd.IntN(60)
	switch rnd.IntN(80) {
	case 0: // a line that is longer than a read
		text += strings.Repeat(token(), pieceSize/2) + token()
	case 1, 2: // more lines than are hashed together
		tokens = rnd.IntN(20 * hashChunk)
	}
	for range tokens {
		text += token()
	}
	return text
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
	rounds := uint64(1000)
	switch {
	case os.Getenv("BLOOM_LONG") != "":
		rounds = 50_000
	case testing.Short():
		rounds = 300
	}
	for seed := range rounds {
		modelRound(t, seed)
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func modelRound(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	cfg := randomConfig(rnd)
	var texts []string
	var size int64
	files := map[string]string{}
	for range 1 + rnd.IntN(3) {
		name := string(rune('a' + len(texts)))
		text := randomText(rnd, cfg)
		cfg.Names = append(cfg.Names, name)
		texts = append(texts, text)
		files[name] = packed(t, rnd, text)
		size += int64(len(files[name]))
	}
	model := &naive{cfg: cfg.Again()}
	want, says := model.read(texts)

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
	var got []wanted
	var kept string
	err := r.Each(ctx, nil, nil, func(b *Batch) error {
		var keep []int
		for i, h := range b.Hashes {
			key := string(b.Key(i))
			line := string(b.Line(i))
			got = append(got, wanted{b.File, line, key})
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

	if says == "" {
		require.NoError(t, err, "%.999q", texts)
		assert.Equal(t, size, cfg.Read.Load())
		assert.Equal(t, model.cfg.Parted, cfg.Parted)
	} else {
		require.Error(t, err, "%.999q", texts)
		assert.Regexp(t, "^"+says, err)
	}
	assert.Equal(t, want, got, "%.999q", texts)
	assert.Equal(t, kept, out.String())
	assert.Equal(t, model.cfg.Bad, cfg.Bad)
	assert.Equal(t, model.cfg.Blanks, cfg.Blanks)
	assert.Equal(t, model.cfg.Keys, cfg.Keys)
	if model.cfg.FirstBad != nil {
		assert.ErrorContains(t, cfg.FirstBad, model.cfg.FirstBad.Error())
	}
	for _, text := range texts {
		digest := cfg.Digests()
		for _, line := range model.split(text) {
			key, ok := model.key(line)
			h, found := digest([]byte(line))
			assert.Equal(t, ok, found)
			if ok {
				if h != bloom.SumString(key) {
					t.Errorf("%q has the digest of another key than %q", line, key)
				}
			}
		}
	}
}
