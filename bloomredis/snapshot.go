package bloomredis

import (
	"cmp"
	"context"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// piece is how many bytes of a filter travel at a time, so that Redis serves
// others in between.
const piece = 1 << 20

// Snapshot downloads the filter. The copy has every key whose Add had returned
// before the call, and may have bits of keys that are being added.
func (f *Filter) Snapshot(ctx context.Context) (*bloom.Filter, error) {
	g, d := new(bloom.Filter), &download{ctx: ctx, f: f}
	if _, err := g.ReadFrom(d); err != nil {
		return nil, cmp.Or(d.err, err)
	}
	return g, nil
}

// download reads the string under the key.
type download struct {
	ctx  context.Context
	f    *Filter
	at   int64 // where rest ends in the string
	rest string
	err  error // without what ReadFrom puts before it
}

func (d *download) Read(p []byte) (int, error) {
	if d.rest == "" {
		if d.err = d.next(); d.err != nil {
			return 0, d.err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *download) next() error {
	want := min(piece, d.f.params.size()-d.at)
	if want == 0 {
		return io.EOF
	}
	cmd := redis.NewStringCmd(d.ctx, "GETRANGE", d.f.key, d.at, d.at+want-1)
	if err := d.f.readWhole(d.ctx, cmd); err != nil {
		return err
	}
	d.rest = cmd.Val()
	if int64(len(d.rest)) != want {
		return d.f.errorf("%d bytes in reply, want %d", len(d.rest), want)
	}
	d.at += want
	return nil
}
