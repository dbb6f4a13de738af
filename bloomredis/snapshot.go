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

// Snapshot downloads the filter, with its Info. The copy has every key whose Add had returned
// before the call, and may have bits of keys that are being added.
func (f *Filter) Snapshot(ctx context.Context) (*bloom.Filter, error) {
	return f.snapshot(ctx, f.opened())
}

// snapshot downloads the filter with an id, or whichever is there if that is empty.
func (f *Filter) snapshot(ctx context.Context, id string) (*bloom.Filter, error) {
	g, d := new(bloom.Filter), &download{ctx: ctx, f: f, id: id}
	if _, err := g.ReadFrom(d); err != nil {
		return nil, cmp.Or(d.err, err)
	}
	g.SetInfo(d.info)
	return g, nil
}

// download reads the string under the key.
type download struct {
	ctx  context.Context
	f    *Filter
	id   string
	info bloom.Info
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
	is, err := d.f.readWhole(d.ctx, d.id, cmd)
	if err != nil {
		return err
	}
	i, err := d.f.parseIdentity(is.identity)
	if err != nil {
		return err
	}
	d.id, d.info = i.id, i.Info // all pieces are of one filter
	d.rest = cmd.Val()
	if int64(len(d.rest)) != want {
		return d.f.errorf("%d bytes in reply, want %d", len(d.rest), want)
	}
	d.at += want
	return nil
}
