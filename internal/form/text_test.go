package form_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/form"
)

type failing struct{ error }

func (f failing) MarshalBinary() ([]byte, error) { return []byte("half"), f.error }

// TestAppendTextFails: without a binary form, AppendText appends nothing and returns the error.
func TestAppendTextFails(t *testing.T) {
	down := errors.New("down")
	text, err := form.AppendText([]byte("before"), failing{down})
	require.Equal(t, down, err)
	require.Equal(t, "before", string(text))
}
