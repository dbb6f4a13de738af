package bloom

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// The parameters of a Window's frame. Its words are the blocks', one after the
// other, as they are in generation windowGen. The bounds are what NewWindow
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
func (w *Window) AppendBinary(b []byte) ([]byte, error) {
	if w.k == 0 {
		return b, errNoForm
	}
	a := appender{slices.Grow(b, frameSize(windowParams, len(w.blocks)*w.blockWords()))}
	_, err := w.WriteTo(&a)
	return a.b, err
}

// MarshalBinary returns w's binary form; see AppendBinary.
func (w *Window) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// WriteTo writes w's binary form to out through a small buffer; see
// AppendBinary. Other goroutines wait for no more than a block to be copied.
func (w *Window) WriteTo(out io.Writer) (int64, error) {
	if w.k == 0 {
		return 0, errNoForm
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
	return writeFrameFunc(out, kindWindow, params[:], n*len(w.blocks), func(out []byte, from int) {
		for len(out) > 0 {
			b := &w.blocks[from/n]
			live := w.lockAt(b, g)
			words := b.words[from%n:]
			words = words[:min(len(words), len(out)/8)]
			putWords(out, words, live)
			b.Unlock()
			out = out[8*len(words):]
			from += len(words)
		}
	})
}

// UnmarshalBinary makes w the Window whose binary form data is, to the last
// byte. The time between is counted: what was encoded an hour ago has aged by
// an hour, by w's clock, which is the Now that w was made with, or else
// time.Now. On error, which wraps ErrFormat, w is unchanged. It does not retain
// data, and must have w to itself.
func (w *Window) UnmarshalBinary(data []byte) error {
	var params [windowParams]uint64
	words, err := unmarshalFrame(data, kindWindow, params[:], func() (uint64, error) { return checkWindowParams(&params) })
	if err != nil {
		return err
	}
	w.restore(&params, words)
	return nil
}

// ReadFrom makes w the Window whose binary form r yields next, as
// UnmarshalBinary does, and reads no byte more. It allocates as data arrives. On
// error w is unchanged; the error is r's own or, if r ends too early or holds
// anything else, wraps ErrFormat.
func (w *Window) ReadFrom(r io.Reader) (int64, error) {
	var params [windowParams]uint64
	words, n, err := readFrame(r, kindWindow, params[:], func() (uint64, error) { return checkWindowParams(&params) })
	if err != nil {
		return n, err
	}
	w.restore(&params, words)
	return n, nil
}

// checkWindowParams returns how many words there should be.
func checkWindowParams(p *[windowParams]uint64) (uint64, error) {
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
	case blocks < 1 || blocks > maxFrameWords/(lanes/perWord):
		return 0, fmt.Errorf("block count %d", blocks)
	case p[windowEpochNano] >= uint64(time.Second):
		return 0, fmt.Errorf("epoch with %d ns", p[windowEpochNano])
	case p[windowGen] > math.MaxInt64:
		return 0, fmt.Errorf("generation = %d", p[windowGen])
	}
	return blocks * (lanes / perWord), nil
}

func (w *Window) restore(p *[windowParams]uint64, words []uint64) {
	w.span, w.gens, w.k = p[windowSpan], p[windowGens], int(p[windowK])
	w.laneBits, w.lanes = laneBits(w.gens), p[windowLanes]
	w.setWords(words, p[windowGen])
	w.clock.Lock() // tick may be on its way
	defer w.clock.Unlock()
	w.epoch = time.Unix(int64(p[windowEpoch]), int64(p[windowEpochNano]))
	w.fresh.Store(false)
	w.due = time.Time{}
}
