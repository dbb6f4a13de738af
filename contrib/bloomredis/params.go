package bloomredis

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/seed79a3ff49/bloom"
)

// outside returns a ParamError of this package. bound and args are formatted as by fmt.Sprintf.
func outside(param string, value any, bound string, args ...any) *bloom.ParamError {
	return &bloom.ParamError{
		Package: "bloomredis", Param: param, Value: value, Bound: fmt.Sprintf(bound, args...),
	}
}

// own turns a ParamError of another package into one of this package. It drops the advice, which is
// for users of the other package.
func own(err error) error {
	var bad *bloom.ParamError
	if !errors.As(err, &bad) {
		return err
	}
	return outside(bad.Param, bad.Value, "%s", bad.Bound)
}

// mostBits is the number of bits of the largest filter in a Redis string.
const mostBits = (maxSize - headerSize) / 8 * 64

func paramsFor(n uint64, p float64) (header, error) {
	m, k, err := bloom.Size(n, p)
	if err == nil && m <= mostBits {
		return header{bloom.Mitz64, k, m / 64}, nil
	}
	var bad *bloom.ParamError
	if errors.As(err, &bad) && bad.Param != "n" {
		return header{}, own(err)
	}
	bad = outside("n", n, "outside [1, %d] for a Redis string at a rate of %v", roomFor(p), p)
	if n > 0 {
		bad.Advice = "use OpenSharded"
	}
	return header{}, bad
}

// roomFor returns the largest number of keys for a filter in one string.
func roomFor(p float64) uint64 {
	tooMany := func(n int) bool { return bloom.OptimalM(uint64(n), p) > mostBits }
	return uint64(sort.Search(math.MaxInt, tooMany)) - 1
}

// shardParams returns the parameters of each shard, and the number of keys for which each is made.
func (c ShardedConfig) shardParams() (params header, n uint64, err error) {
	if c.Shards < 1 || c.Shards > maxShards {
		return params, 0, outside("Shards", c.Shards, "outside [1, %d]", maxShards)
	}
	shards := uint64(c.Shards)
	n = c.N/shards + min(c.N%shards, 1)
	params, err = paramsFor(n, c.P)
	var bad *bloom.ParamError
	if errors.As(err, &bad) && bad.Param == "n" {
		err = outside("N", c.N, "outside [1, %d] for %d shards at a rate of %v",
			shards*roomFor(c.P), shards, c.P)
	} else if bad != nil {
		err = outside("P", c.P, "%s", bad.Bound)
	}
	return params, n, err
}
