package bloomredis

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

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
	want := min(piece, d.f.size()-d.at)
	if want == 0 {
		return io.EOF
	}
	cmd := redis.NewStringCmd(d.ctx, "GETRANGE", d.f.key, d.at, d.at+want-1)
	if err := d.f.do(d.ctx, cmd); err != nil {
		return err
	}
	d.rest = cmd.Val()
	if d.at == 0 && (len(d.rest) < headerSize || d.rest[:headerSize] != d.f.header) {
		return d.f.mismatch(d.rest[:min(headerSize, len(d.rest))], -1)
	}
	if int64(len(d.rest)) != want {
		return d.f.error(fmt.Errorf("%w: it became shorter during the download", bloom.ErrFormat))
	}
	d.at += want
	return nil
}

// Merge adds everything that g contains, in one step, and loses nothing that
// others add meanwhile. It returns an error unless the two agree in m, k and
// strategy. Nothing may write to g meanwhile. When it returns an error, g may
// have been merged or not.
//
// Redis has the filter three times in memory for a moment, and every replica
// reads all of it again: a few keys are better added by AddBatch.
func (f *Filter) Merge(ctx context.Context, g *bloom.Filter) error {
	if header := headerOf(g); header != f.header {
		return f.error(fmt.Errorf("cannot merge %s into %s", describe(header, -1), describe(f.header, -1)))
	}
	upload, err := beside(f.key, fmt.Sprintf("merge-%x", nonce()))
	if err != nil {
		return err
	}
	u := &uploader{ctx: ctx, f: f, key: upload}
	if _, err := g.WriteTo(u); err != nil {
		return err
	}
	if err := u.flush(); err != nil {
		return err
	}
	reply, err := f.run(ctx, mergeScript, []string{upload}, f.header, f.size(), nonce())
	if err != nil {
		return err
	}
	if reply != "OK" {
		found, _ := reply.(string)
		return f.mismatch(found, -1)
	}
	return nil
}

// uploader writes a string that Redis forgets in time if nobody comes back for it.
type uploader struct {
	ctx context.Context
	f   *Filter
	key string
	at  int64
	buf []byte
}

const uploadTime = 10 * time.Minute

func (u *uploader) Write(p []byte) (int, error) {
	u.buf = append(u.buf, p...)
	if len(u.buf) >= piece {
		if err := u.flush(); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (u *uploader) flush() error {
	if len(u.buf) == 0 {
		return nil
	}
	var cmd redis.Cmder
	if u.at == 0 {
		cmd = redis.NewStatusCmd(u.ctx, "SET", u.key, u.buf, "EX", int(uploadTime.Seconds()))
	} else {
		cmd = redis.NewIntCmd(u.ctx, "SETRANGE", u.key, u.at, u.buf)
	}
	if err := u.f.do(u.ctx, cmd); err != nil {
		return err
	}
	u.at += int64(len(u.buf))
	u.buf = nil // the command may still have it
	return nil
}
