package bloomredis

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// uploadTime is how long Redis keeps an upload that nobody goes on with.
const uploadTime = 10 * time.Minute

// Merge adds everything that g contains, in one step, and loses nothing that
// others add at the same time. It returns an error that wraps [bloom.ErrMismatch]
// unless the two agree in m, k and strategy, and in Info's Hash where both name one. The filter
// takes over g's Hash if it has none. Nothing may write to g while Merge runs.
// When Merge returns an error, g may have been merged or not, and what was
// uploaded expires within ten minutes.
//
// Redis has the filter three times in memory for a moment, and every replica
// reads all of it again: a few keys are better added by AddBatch.
func (f *Filter) Merge(ctx context.Context, g *bloom.Filter) error {
	if g == nil {
		return f.errorf("%w: one is nil", bloom.ErrMismatch)
	}
	params := header{g.Strategy(), g.K(), g.M() / 64}
	if params != f.params {
		return f.errorf("%w: cannot merge a filter of %v into one of %v", bloom.ErrMismatch, params, f.params)
	}
	if hash := g.Info().Hash; hash != "" {
		if err := f.SetInfo(ctx, bloom.Info{Hash: hash}); err != nil {
			return err
		}
	}
	key, err := f.beside(fmt.Sprintf("merge-%x", nonce()))
	if err != nil {
		return err
	}
	u := &upload{ctx: ctx, f: f, key: key}
	if _, err := g.WriteTo(u); err != nil {
		return cmp.Or(u.err, err)
	}
	if err := u.flush(); err != nil {
		return err
	}
	_, err = f.change(ctx, mergeScript, append(f.keys(), key), nonce())
	return err
}

// change runs a script that changes the filter, and returns what the script answers.
func (f *Filter) change(ctx context.Context, s script, keys []string, args ...any) (string, error) {
	id := f.opened()
	c := &call{keys: keys, args: append([]any{f.params.bytes(), f.params.size(), id}, args...)}
	if err := f.run(ctx, s, c); err != nil {
		return "", err
	}
	return f.answer(c.reply, id)
}

// upload writes a string of a key of its own, one piece after the other. The
// client may send a piece twice, and the network may bring it late.
type upload struct {
	ctx context.Context
	f   *Filter
	key string
	at  int64
	buf []byte
	err error // without what WriteTo puts before it
}

func (u *upload) Write(p []byte) (int, error) {
	u.buf = append(u.buf, p...)
	if len(u.buf) >= piece {
		if u.err = u.flush(); u.err != nil {
			return 0, u.err
		}
	}
	return len(p), nil
}

func (u *upload) flush() error {
	if len(u.buf) == 0 {
		return nil
	}
	piece := &call{keys: []string{u.key}, args: []any{u.at, u.buf, uploadTime.Milliseconds()}}
	if err := u.f.run(u.ctx, appendScript, piece); err != nil {
		return err
	}
	u.at += int64(len(u.buf))
	u.buf = nil // the command may still have it
	return nil
}
