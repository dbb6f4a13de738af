package window

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/words"
)

var errZeroForm = errors.New("window: the zero value has no binary form")

// The parameters of a Window's frame. Its words are the blocks', one after the
// other, as they are in generation windowGen. The bounds are what New
// makes; where there are several blocks, they are large beside a windowBlock.
const (
	windowSpan = iota
	windowGens
	windowK
	windowBlocks
	windowLanes
	windowEpoch     // seconds since 1970, two's complement
	windowEpochNano // and nanoseconds
	windowGen
	windowParams
)

// AppendBinary appends w's binary form, which carries a checksum, to b. A key
// whose Add returned before the call is in it. It returns an error only for
// the zero Window, which has none.
func (w *Filter) AppendBinary(b []byte) ([]byte, error) {
	if w.k == 0 {
		return b, errZeroForm
	}
	a := frame.Appender{Bytes: slices.Grow(b, int(frame.Size(windowParams, len(w.blocks)*w.blockWords())))}
	_, err := w.WriteTo(&a)
	return a.Bytes, err
}

// MarshalBinary returns w's binary form; see AppendBinary.
func (w *Filter) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// WriteTo writes w's binary form to out through a small buffer; see
// AppendBinary. Other goroutines wait for no more than a block to be copied.
func (w *Filter) WriteTo(out io.Writer) (int64, error) {
	if w.k == 0 {
		return 0, errZeroForm
	}
	g := w.generation()
	w.clock.Lock()
	epoch := w.epoch
	w.clock.Unlock()
	params := [windowParams]uint64{
		windowSpan:      w.span,
		windowGens:      w.gens,
		windowK:         uint64(w.k),
		windowBlocks:    uint64(len(w.blocks)),
		windowLanes:     w.lanes,
		windowEpoch:     uint64(epoch.Unix()),
		windowEpochNano: uint64(epoch.Nanosecond()),
		windowGen:       g,
	}
	n := w.blockWords()
	return frame.Window.WriteFunc(out, params[:], n*len(w.blocks), func(out []byte, from int) {
		for len(out) > 0 {
			b := &w.blocks[from/n]
			live := w.lockAt(b, g)
			part := b.words[from%n:]
			part = part[:min(len(part), len(out)/8)]
			words.Put(out, part, live, words.LittleEndian)
			b.Unlock()
			out = out[8*len(part):]
			from += len(part)
		}
	})
}

// UnmarshalBinary makes w the Window whose binary form data is, to the last
// byte. The time between is counted: what was encoded an hour ago has aged by
// an hour, by w's clock, which is the Now that w was made with, or else
// time.Now. On error, which wraps bloom.ErrFormat, w is unchanged. It does not retain
// data, and must have w to itself.
func (w *Filter) UnmarshalBinary(data []byte) error {
	params, array, err := frame.Window.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	w.restore(params, array)
	return nil
}

// ReadFrom makes w the Window whose binary form r yields next, as
// UnmarshalBinary does, and reads no byte more. It allocates as data arrives. On
// error w is unchanged; the error is r's own or, if r ends too early or holds
// anything else, wraps bloom.ErrFormat.
func (w *Filter) ReadFrom(r io.Reader) (int64, error) {
	params, array, n, err := frame.Window.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	w.restore(params, array)
	return n, nil
}

// checkParams returns how many words there should be.
func checkParams(p []uint64) (uint64, error) {
	if p[windowGens] > maxGenerations || p[windowSpan] > math.MaxInt64 {
		return 0, fmt.Errorf("span of %d ns, %d generations", p[windowSpan], p[windowGens])
	}
	if err := checkWindow(int64(p[windowSpan]), int64(p[windowGens])); err != nil {
		return 0, err
	}
	perWord := uint64(64) >> laneBits(p[windowGens])
	k, blocks, lanes := p[windowK], p[windowBlocks], p[windowLanes]
	switch {
	case k < 2 || k > maxWindowK || k%2 != 0:
		return 0, fmt.Errorf("k = %d", k)
	case lanes < minWindowLanes && blocks != 1 || lanes > 2*minWindowLanes || lanes == 0 || lanes%perWord != 0:
		return 0, fmt.Errorf("%d blocks of %d positions", blocks, lanes)
	case blocks < 1 || blocks > frame.MaxWords/(lanes/perWord):
		return 0, fmt.Errorf("block count %d", blocks)
	case p[windowEpochNano] >= uint64(time.Second):
		return 0, fmt.Errorf("epoch with %d ns", p[windowEpochNano])
	case p[windowGen] > math.MaxInt64:
		return 0, fmt.Errorf("generation = %d", p[windowGen])
	}
	return blocks * (lanes / perWord), nil
}

func (w *Filter) restore(p, array []uint64) {
	w.span, w.gens, w.k = p[windowSpan], p[windowGens], int(p[windowK])
	w.laneBits, w.lanes = laneBits(w.gens), p[windowLanes]
	w.setWords(array, p[windowGen])
	w.clock.Lock() // tick may be on its way
	defer w.clock.Unlock()
	w.epoch = time.Unix(int64(p[windowEpoch]), int64(p[windowEpochNano]))
	w.fresh.Store(false)
	w.due = time.Time{}
}

// SaveFile writes w's binary form to a file at path, for LoadFile. Whatever happens
// meanwhile, a crash included, path holds what it held before or all of w. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (w *Filter) SaveFile(path string) error {
	if w.k == 0 {
		return errZeroForm
	}
	return frame.Window.SaveFile(path, w)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error,
// which wraps ErrFormat, if the file has changed since. The filter's clock is
// time.Now.
func LoadFile(path string) (*Filter, error) {
	w := new(Filter)
	if err := frame.Window.LoadFile(path, w); err != nil {
		return nil, err
	}
	return w, nil
}
