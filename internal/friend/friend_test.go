package friend

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNobodyElse: a type that a user can write is no friend.
func TestNobodyElse(t *testing.T) {
	require.False(t, reflect.TypeOf(struct{}{}).AssignableTo(reflect.TypeOf(Growing{})))
}
