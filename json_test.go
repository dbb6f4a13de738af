package bloom_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/replica"
	"github.com/seed79a3ff49/bloom/window"
)

// jsonValues has a value of each type that JSON can hold.
func jsonValues(t *testing.T) []any {
	small := bloom.Must(bloom.New(5, 0.1))
	small.SetInfo(bloom.Info{Hash: "SumString", Comment: "<&>\u2028", Meta: "field=2"})
	sync := bloom.NewSyncFrom(small)
	block := bloom.Must(blocked.New(5, 0.1))
	blockSync := blocked.NewSyncFrom(block)
	counters := bloom.Must(counting.New(5, 0.1))
	ages := bloom.Must(flower.New(flower.Config{Slots: 64, Ways: 2, Bits: 8}))
	layers := bloom.Must(growing.New(5, 0.1))
	days := bloom.Must(window.New(window.Config{
		N: 5, P: 0.1, Span: time.Hour, Now: func() time.Time { return time.Unix(1e9, 0) },
	}))
	for _, set := range []bloom.Set{small, sync, block, blockSync, counters, ages, layers, days} {
		set.AddHash(bloom.SumString("a"))
	}
	tags := bloom.Must(cuckoo.New(5, 0.1))
	tags.InsertString("a")
	tagsSync := cuckoo.NewSyncFrom(tags)
	many := bloom.Must(bank.New(5, 0.1))
	many.AddString(many.Append(), "a")
	var theirs foreign.BitsAndBlooms
	const data = `{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA=="}`
	require.NoError(t, json.Unmarshal([]byte(data), &theirs))
	return []any{
		small, sync, block, blockSync, counters, ages, layers, days, tags, tagsSync, many, &theirs,
		bloom.SumString("a"), small.Info(), small.Stats(), bloom.Stats{}, bloom.Mitz64,
		(*bloom.Filter)(nil),
		replica.Status{Version: "1", Refreshed: time.Unix(1e9, 0).UTC(), Err: errors.New("an error")},
		map[string]*bloom.Filter{"b": small, "a": nil},
		struct {
			F bloom.Hash `json:"hash,omitempty"`
			S *bloom.SyncFilter
		}{S: sync},
	}
}

// TestJSON: every version of Go writes the same JSON of each type. From Go 1.27 on, encoding/json
// is another implementation.
func TestJSON(t *testing.T) {
	var got strings.Builder
	for _, value := range jsonValues(t) {
		data, err := json.Marshal(value)
		require.NoError(t, err, "%T", value)
		got.Write(append(data, '\n'))
	}
	const path = "testdata/json.txt"
	if *freeze {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o666))
	}
	require.Equal(t, string(bloom.Must(os.ReadFile(path))), got.String())
}
