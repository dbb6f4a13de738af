package bloomredis

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// uploadTime is how long Redis keeps an upload after its last part.
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
	pieces := bufio.NewWriterSize(u, piece)
	if _, err := g.WriteTo(pieces); err != nil {
		return cmp.Or(u.err, err)
	}
	if err := pieces.Flush(); err != nil {
		return err
	}
	_, err = f.change(ctx, mergeScript, append(f.keys(), key), nonce())
	return err
}

// upload writes a string of a key of its own, one piece after the other. The
// client may send a piece twice, and the network may bring it late.
type upload struct {
	ctx context.Context
	f   *Filter
	key string
	at  int64
	err error // without what WriteTo puts before it
}

func (u *upload) Write(p []byte) (int, error) {
	// The command may have its piece for longer than this call takes.
	c := &call{keys: []string{u.key}, args: []any{u.at, bytes.Clone(p), uploadTime.Milliseconds()}}
	if u.err = u.f.run(u.ctx, appendScript, c); u.err != nil {
		return 0, u.err
	}
	u.at += int64(len(p))
	return len(p), nil
}
