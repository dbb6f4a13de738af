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
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/replica"
)

// jsonValues has a value of each type that JSON can hold.
func jsonValues(t *testing.T) []any {
	small := bloom.Must(bloom.New(5, 0.1))
	small.UpdateInfo(func(i *bloom.Info) {
		i.Hash = "SumString"
		i.Comment = "<&>\u2028"
		i.Meta = "field=2"
	})
	sync := bloom.NewSyncFrom(small)
	small.AddString("a")
	sync.AddString("a")
	values := []any{small, sync}
	for _, typ := range alltypes.All {
		f := typ.New(5)
		alltypes.Add(f, "a")
		values = append(values, f)
	}
	var theirs foreign.BitsAndBlooms
	const data = `{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA=="}`
	require.NoError(t, json.Unmarshal([]byte(data), &theirs))
	return append(values, &theirs,
		bloom.SumString("a"), small.Info(), small.Stats(), bloom.Stats{}, bloom.Mitz64,
		(*bloom.Filter)(nil),
		replica.Status{Version: "1", Refreshed: time.Unix(1e9, 0).UTC(), Err: errors.New("an error")},
		map[string]*bloom.Filter{"b": small, "a": nil},
		struct {
			F bloom.Hash `json:"hash,omitempty"`
			S *bloom.SyncFilter
		}{S: sync},
	)
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
