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

// uploadTime is how long Redis keeps an upload after its last piece.
const uploadTime = 10 * time.Minute

// Merge adds all keys of g in one step. Keys that others add during the call are not lost. Both
// filters must have the same M, K and Strategy, and the same Hash in their Infos if both have one.
// Otherwise the error wraps [bloom.ErrMismatch]. If only g's Info has a Hash, the filter's Info
// gets that Hash. Nothing may write to g while Merge runs. If Merge returns an error, g may have
// been merged or not, and the upload expires within ten minutes.
//
// For a moment Redis has the filter in memory three times, and every replica reads the whole filter
// again, so AddBatch is better for a few keys.
func (f *Filter) Merge(ctx context.Context, g *bloom.Filter) error {
	if g == nil {
		return f.errorf("%w: one is nil", bloom.ErrMismatch)
	}
	params := header{g.Strategy(), g.K(), g.M() / 64}
	if params != f.params {
		return f.errorf("%w: cannot merge a filter of %v into one of %v",
			bloom.ErrMismatch, params, f.params)
	}
	if hash := g.Info().Hash; hash != "" {
		err := f.UpdateInfo(ctx, func(i *bloom.Info) { i.Hash = hash })
		if err != nil {
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

// upload writes a filter to a key that expires. The client may send a piece twice, and the network
// may deliver it late.
type upload struct {
	ctx    context.Context
	f      *Filter
	key    string
	offset int64
	err    error // the error of Write, without the prefix that WriteTo adds
}

func (u *upload) Write(p []byte) (int, error) {
	// The client may still read the piece after this call has returned.
	piece := bytes.Clone(p)
	c := &call{keys: []string{u.key}, args: []any{u.offset, piece, uploadTime.Milliseconds()}}
	if u.err = u.f.run(u.ctx, appendScript, c); u.err != nil {
		return 0, u.err
	}
	u.offset += int64(len(p))
	return len(p), nil
}
