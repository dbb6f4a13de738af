package nocopy

import (
	"encoding/json"
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/require"
)

type mark = Mark

type filter struct {
	mark
	secret int
}

func (f *filter) MarshalText() ([]byte, error) { return []byte("text"), nil }

func TestByValue(t *testing.T) {
	type byPointer struct{ F *filter }
	type byValue struct{ F filter }
	for name, marshal := range map[string]func(any) ([]byte, error){"json": json.Marshal, "xml": xml.Marshal} {
		got, err := marshal(byPointer{&filter{secret: 1}})
		require.NoError(t, err, name)
		require.Contains(t, string(got), "text", name)
		got, err = marshal(&byValue{}) // its field has an address
		require.NoError(t, err, name)
		require.Contains(t, string(got), "text", name)
		_, err = marshal(*new(byValue))
		require.ErrorContains(t, err, "HoldAPointer", name)
	}
}
