package bloomredis

import (
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
	g := new(bloom.Filter)
	if _, err := g.ReadFrom(&download{ctx: ctx, f: f}); err != nil {
		return nil, err
	}
	return g, nil
}

// download reads the string under the key.
type download struct {
	ctx  context.Context
	f    *Filter
	at   int64 // where rest ends in the string
	rest string
}

func (d *download) Read(p []byte) (int, error) {
	if d.rest == "" {
		want := min(piece, d.f.size()-d.at)
		if want == 0 {
			return 0, io.EOF
		}
		cmd := redis.NewStringCmd(d.ctx, "GETRANGE", d.f.key, d.at, d.at+want-1)
		if err := d.f.do(d.ctx, cmd); err != nil {
			return 0, err
		}
		d.rest = cmd.Val()
		if d.at == 0 && (len(d.rest) < headerSize || d.rest[:headerSize] != d.f.header) {
			return 0, d.f.mismatch(d.rest[:min(headerSize, len(d.rest))], -1)
		}
		if int64(len(d.rest)) != want {
			return 0, d.f.error(fmt.Errorf("%w: ended in a download", bloom.ErrFormat))
		}
		d.at += want
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
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
	if found := reply.(string); found != "OK" {
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
	at := u.at
	set := redis.NewIntCmd(u.ctx, "SETRANGE", u.key, at, u.buf)
	if err := u.f.do(u.ctx, set); err != nil {
		return err
	}
	if at == 0 {
		if err := u.f.do(u.ctx, redis.NewBoolCmd(u.ctx, "EXPIRE", u.key, int(uploadTime.Seconds()))); err != nil {
			return err
		}
	}
	u.at += int64(len(u.buf))
	u.buf = nil
	return nil
}
