package splitblock

import (
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/form"
)

// Params returns the parameters of the frame. The last one, which is always 0, makes the head 32
// bytes long, so that in a mapped file each block lies in one cache line.
func (b *Blocks) Params() []uint64 { return []uint64{uint64(len(b.blocks)), uint64(b.Lines), 0} }

// CheckParams is the form.Check for the frames of Blocks.
func CheckParams(params []uint64) (words uint64, err error) {
	blocks, lines := params[0], params[1]
	switch {
	case blocks < 1 || blocks > Max:
		return 0, fmt.Errorf("block count %d is outside [1, %d]", blocks, uint64(Max))
	case lines < 1 || lines > MaxLines:
		return 0, fmt.Errorf("lines = %d is outside [1, %d]", lines, MaxLines)
	case params[2] != 0:
		return 0, fmt.Errorf("reserved parameter %d is not zero", params[2])
	}
	return blocks * each, nil
}

// Size returns the length of the binary form in bytes, or 0 for zero Blocks.
func (b *Blocks) Size(info form.Info) int64 {
	if b.Lines == 0 {
		return 0
	}
	return form.Blocked.Size(len(b.Words), info)
}

func (b *Blocks) Write(w io.Writer, info form.Info) (int64, error) {
	if b.Lines == 0 {
		return 0, form.NoForm("blocked")
	}
	return form.Blocked.Write(w, b.Params(), b.Words, info)
}

// Read reads one binary form from r, and nothing after it.
func Read(r io.Reader) (Blocks, form.Info, int64, error) {
	params, words, info, n, err := form.Blocked.Read(r, CheckParams)
	if err != nil {
		return Blocks{}, form.Info{}, n, err
	}
	return Of(words, int(params[1])), info, n, nil
}
