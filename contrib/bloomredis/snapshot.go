package bloomredis

import (
	"bufio"
	"cmp"
	"context"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// piece is the largest number of bytes of a filter in one command or reply. Redis serves other
// clients between commands.
const piece = 1 << 20

// Snapshot downloads the filter, with its Info. The copy has every key that was added before the
// call, unless the filter is reset during the call, and may have bits of keys that are being added.
func (f *Filter) Snapshot(ctx context.Context) (*bloom.Filter, error) {
	return f.snapshot(ctx, f.opened())
}

// snapshot downloads the filter with this id, or with any id if id is empty.
func (f *Filter) snapshot(ctx context.Context, id string) (*bloom.Filter, error) {
	g, d := new(bloom.Filter), &download{ctx: ctx, f: f, id: id}
	if _, err := g.ReadFrom(bufio.NewReaderSize(d, piece)); err != nil {
		return nil, cmp.Or(d.err, err)
	}
	g.UpdateInfo(func(i *bloom.Info) { *i = d.info })
	return g, nil
}

type download struct {
	ctx    context.Context
	f      *Filter
	id     string
	info   bloom.Info
	offset int64
	err    error // the error of Read, without the prefix that ReadFrom adds
}

func (d *download) Read(p []byte) (n int, err error) {
	want := min(int64(len(p)), piece, d.f.params.size()-d.offset)
	if want == 0 {
		return 0, io.EOF
	}
	cmd := redis.NewStringCmd(d.ctx, "GETRANGE", d.f.key, d.offset, d.offset+want-1)
	var i identity
	if i, d.err = d.f.readWhole(d.ctx, d.id, cmd); d.err != nil {
		return 0, d.err
	}
	if n = copy(p, cmd.Val()); int64(n) != want {
		d.err = d.f.errorf("%d bytes in reply, want %d", n, want)
	}
	d.id, d.info = i.id, i.Info // the next pieces must come from the same filter
	d.offset += want
	return n, d.err
}
