package blocked_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestIndivisible(t *testing.T) {
	promises.TestIndivisible(t, func() *blocked.Filter { return bloom.Must(blocked.NewSize(1<<17, 2)) }, blocked.NewSyncFrom)
}
