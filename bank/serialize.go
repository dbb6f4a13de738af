package bank

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("bank")

// layout describes a binary form, which is a frame; see package form. The frame has four
// parameters: the number of words in a member; k; the number of members; and the number of bytes
// for names. The words are:
//
//	zeros, which align the pages of full segments to 4 KiB
//	for each segment its pages; each has rows of whole words, and a checksum in the last 4 bytes
//	the table of names; for each member it has the end of its name, in 8 bytes, and a
//	        checksum, in 4 bytes
//	the names, and zeros up to a multiple of 8 bytes
//
// If no member has a name, the table and the names are omitted. The place of a row can be computed,
// and every page and every name can be read and checked on its own.
type layout struct {
	shape
	members int
	names   int // number of bytes in the table of names and in the names
}

const entryBytes = 12 // in the table of names

// parse is a form.Check that sets l.
func (l *layout) parse(params []uint64) (total uint64, err error) {
	size, k := params[0], params[1]
	members, names := params[2], params[3]
	full, rest := members/segmentMembers, members%segmentMembers
	switch {
	case size < 1 || size > form.MaxWords:
		return 0, fmt.Errorf("word count %d of a member is outside [1, %d]", size, form.MaxWords)
	case k < 1 || k > form.MaxK:
		return 0, fmt.Errorf("k = %d is outside [1, %d]", k, form.MaxK)
	}
	// A segment has at most 2^46 words, because of the bound on size. So the sum below overflows
	// only if tooMany is already true. A full segment has more words than members, so tooMany also
	// limits the number of members.
	over, total := bits.Mul64(full, 64*size*pageWords)
	tooMany := over > 0 || total > form.MaxFrameWords
	if rest > 0 {
		g := gridFor(int(rest))
		total += (64 * size >> g.shift) * uint64(g.page)
	}
	if tooMany || total > form.MaxFrameWords {
		return 0, fmt.Errorf("%d members of %d words exceed %d words",
			members, size, uint64(form.MaxFrameWords))
	}
	noTable := members == 0 || names < members*entryBytes
	if names > 0 && (noTable || names > form.MaxFrameWords) {
		return 0, fmt.Errorf("%d bytes of names cannot belong to %d members", names, members)
	}
	*l = layout{shapeOf(int(size), int(k)), int(members), int(names)}
	return uint64(l.padding()) + total + (names+7)/8, nil
}

// padding, segment and table count in words. Word 0 is the first word after the frame's head.

// padding returns the word at which the pages begin.
func (l *layout) padding() int {
	if l.members < segmentMembers {
		return 0
	}
	return -(form.Bank.HeadSize() / 8) & (pageWords - 1)
}

func (l *layout) segment(s int) (start int, g grid, members int) {
	members = min(l.members-s*segmentMembers, segmentMembers)
	return l.padding() + s*64*l.size*pageWords, gridFor(members), members
}

func (l *layout) segments() int { return (l.members + segmentMembers - 1) / segmentMembers }

// table returns the word at which the table of names begins.
func (l *layout) table() int {
	if l.members == 0 {
		return l.padding()
	}
	start, g, _ := l.segment(l.segments() - 1)
	return start + g.words(l.bits())
}

// sum returns a checksum of data and of numbers, which identify the place of data, so that
// misplaced data is noticed.
func sum(data []byte, numbers ...uint64) uint32 {
	var start [24]byte
	for i, x := range numbers {
		binary.LittleEndian.PutUint64(start[8*i:], x)
	}
	var sum form.Sum
	sum.Write(start[:8*len(numbers)])
	sum.Write(data)
	return uint32(sum)
}

func pageSum(page []byte, s, p int) uint32 {
	return sum(page[:len(page)-checkBytes], uint64(s), uint64(p))
}

// A source returns n bytes of the frame's words, from the given offset in bytes. The bytes are
// valid until the next call.
type source func(offset, n int) ([]byte, error)

// readPage reads and checks page p of segment s.
func (l *layout) readPage(read source, s, p int) ([]byte, error) {
	start, g, members := l.segment(s)
	page, err := read(8*(start+p*g.page), 8*g.page)
	if err != nil {
		return nil, err
	}
	end := len(page) - checkBytes
	got, want := binary.LittleEndian.Uint32(page[end:]), pageSum(page, s, p)
	if got != want {
		return nil, form.Errorf("bank", "checksum of page %d of segment %d is %08x, should be %08x",
			p, s, got, want)
	}
	for row := range 1 << g.shift {
		after := 8 * g.stride * (row + 1) // where the next row begins
		if row == 1<<g.shift-1 {
			after = end
		}
		for i, b := range page[8*g.stride*row+members/8 : after] {
			if i == 0 {
				b >>= members % 8
			}
			if b != 0 {
				return nil, form.Errorf("bank", "page %d of segment %d has bits beyond its %d members",
					p, s, members)
			}
		}
	}
	return page, nil
}

func (l *layout) readRow(read source, s int, r uint64) ([]byte, error) {
	_, g, _ := l.segment(s)
	page, err := l.readPage(read, s, int(r>>g.shift))
	if err != nil {
		return nil, err
	}
	word := g.row(r & (1<<g.shift - 1))
	return page[8*word:][:8*g.stride], nil
}

// start is the offset in the names at which the name of member i begins.
func nameSum(name []byte, i, start int) uint32 {
	return sum(name, uint64(i), uint64(start), uint64(start+len(name)))
}

// entry returns the start and the end of member i's name in the names, and the name's checksum. A
// name starts where the previous one ends, so entry also reads the previous entry, if any.
func (l *layout) entry(read source, i int) (start, end int, sum uint32, err error) {
	before := min(i, 1)
	data, err := read(8*l.table()+entryBytes*(i-before), entryBytes*(1+before))
	if err != nil {
		return 0, 0, 0, err
	}
	var low uint64
	if before > 0 {
		low, data = binary.LittleEndian.Uint64(data), data[entryBytes:]
	}
	high := binary.LittleEndian.Uint64(data)
	if low > high || high-low > maxName || high > uint64(l.names-entryBytes*l.members) {
		return 0, 0, 0, form.Errorf("bank", "a name cannot have the place [%d, %d)", low, high)
	}
	return int(low), int(high), binary.LittleEndian.Uint32(data[8:]), nil
}

func (l *layout) readName(read source, i int) (string, error) {
	if l.names == 0 {
		return "", nil
	}
	start, end, sum, err := l.entry(read, i)
	if err != nil {
		return "", err
	}
	name, err := read(8*l.table()+entryBytes*l.members+start, end-start)
	if err != nil {
		return "", err
	}
	if want := nameSum(name, i, start); sum != want {
		return "", form.Errorf("bank", "checksum of name %d is %08x, should be %08x", i, sum, want)
	}
	return string(name), nil
}

// readAll reads and checks all words of a frame, and returns the names.
func (l *layout) readAll(read source) (names []string, err error) {
	if err := readZeros(read, 0, 8*l.padding()); err != nil {
		return nil, err
	}
	for s := range l.segments() {
		_, g, _ := l.segment(s)
		for p := range g.pages(l.bits()) {
			if _, err := l.readPage(read, s, p); err != nil {
				return nil, err
			}
		}
	}
	if l.names == 0 {
		return nil, nil
	}
	names = make([]string, l.members)
	end := entryBytes * l.members
	for i := range names {
		if names[i], err = l.readName(read, i); err != nil {
			return nil, err
		}
		end += len(names[i])
	}
	if end != l.names {
		return nil, form.Errorf("bank", "names end at %d, not at %d", end, l.names)
	}
	end += 8 * l.table()
	return names, readZeros(read, end, 8*l.words()-end)
}

func readZeros(read source, offset, n int) error {
	data, err := read(offset, n)
	if err != nil {
		return err
	}
	for _, b := range data {
		if b != 0 {
			return form.Errorf("bank", "the %d bytes between two parts are not all zero", n)
		}
	}
	return nil
}

// encoder produces the words of a Bank's frame as bytes, in pieces. A piece is a page, an entry of
// the table of names, a name, or zeros. Other goroutines may write to the Bank at the same time.
type encoder struct {
	layout   layout
	segments []segment
	names    []string

	piece   []byte // the rest of the current piece
	segment int    // segment of the next page
	page    int    // number of the next page in its segment
	item    int    // number of the next piece after the pages: first all entries, then all names
	encoded int    // where the name of the next entry starts
	buf     [pageBytes]byte
}

func (s *state) encoder() *encoder {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &encoder{layout: s.layout(), names: slices.Clone(s.names)}
	_, e.segments = s.current()
	if e.layout.names > 0 {
		e.names = append(e.names, make([]string, e.layout.members-len(e.names))...)
	}
	e.piece = make([]byte, 8*e.layout.padding())
	return e
}

// The caller of layout must hold s.mu.
func (s *state) layout() layout {
	l := layout{shape: s.shape, members: int(s.n.Load())}
	for _, name := range s.names {
		l.names += len(name)
	}
	if l.names > 0 {
		l.names += entryBytes * l.members
	}
	return l
}

func (l *layout) params() []uint64 {
	return []uint64{uint64(l.size), uint64(l.k), uint64(l.members), uint64(l.names)}
}

func (l *layout) words() int { return l.table() + (l.names+7)/8 }

// form.WriteFunc calls fill for all chunks in order.
func (e *encoder) fill(dst []byte, _ int) {
	for len(dst) > 0 {
		if len(e.piece) == 0 {
			e.advance()
		}
		n := copy(dst, e.piece)
		dst, e.piece = dst[n:], e.piece[n:]
	}
}

func (e *encoder) advance() {
	if e.segment < e.layout.segments() {
		e.putPage()
		return
	}
	members := e.layout.members
	i := e.item
	e.item++
	switch {
	case i < members:
		name := e.names[i]
		e.piece = binary.LittleEndian.AppendUint64(e.buf[:0], uint64(e.encoded+len(name)))
		e.piece = binary.LittleEndian.AppendUint32(e.piece, nameSum([]byte(name), i, e.encoded))
		e.encoded += len(name)
	case i < 2*members:
		e.piece = []byte(e.names[i-members])
	default:
		e.piece = make([]byte, 7)
	}
}

// putPage omits members that were appended after the encoding began.
func (e *encoder) putPage() {
	s, p := e.segment, e.page
	_, g, members := e.layout.segment(s)
	e.page++
	if e.page == g.pages(e.layout.bits()) {
		e.segment, e.page = s+1, 0
	}
	seg := &e.segments[s]
	page := e.buf[:8*g.page]
	clear(page[8*(g.page-1):])
	for i := range 1 << g.shift {
		row := page[8*g.stride*i:][:8*g.stride]
		words := seg.words[seg.row(uint64(p<<g.shift+i)):][:g.stride]
		form.PutWords(row, words, ^uint64(0), form.LittleEndian)
		last := row[8*(g.stride-1):]
		unused := -members & 63
		binary.LittleEndian.PutUint64(last, binary.LittleEndian.Uint64(last)<<unused>>unused)
	}
	binary.LittleEndian.PutUint32(page[len(page)-checkBytes:], pageSum(page, s, p))
	e.piece = page
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Bank.
func (b bank) SizeBytes() int64 {
	s := b.state
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.layout()
	return form.Bank.Size(l.words(), b.info.Get())
}

// WriteTo implements io.WriterTo. It does not block other methods. It writes every member that was
// appended before the call.
func (b bank) WriteTo(w io.Writer) (int64, error) {
	if b.state == nil {
		return 0, errNoForm
	}
	e := b.state.encoder()
	return form.Bank.WriteFunc(w, e.layout.params(), e.layout.words(), b.info.Get(), e.fill)
}

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (b bank) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, b.SizeBytes(), b)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (b bank) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in package bloom.
func (b *Bank) UnmarshalBinary(data []byte) error {
	var l layout
	_, array, info, err := form.Bank.Unmarshal(data, l.parse)
	if err != nil {
		return err
	}
	return b.decode(l, array, info)
}

// ReadFrom implements io.ReaderFrom.
func (b *Bank) ReadFrom(r io.Reader) (int64, error) {
	var l layout
	_, array, info, n, err := form.Bank.Read(r, l.parse)
	if err != nil {
		return n, err
	}
	return n, b.decode(l, array, info)
}

// decode retains array.
func (b *Bank) decode(l layout, array []uint64, info form.Info) error {
	var buf []byte
	names, err := l.readAll(func(start, n int) ([]byte, error) {
		buf = form.AppendWords(buf[:0], array[start/8:(start+n+7)/8], form.LittleEndian)
		return buf[start%8:][:n], nil
	})
	if err != nil {
		return err
	}
	segments := make([]segment, l.segments())
	for s := range segments {
		start, g, _ := l.segment(s)
		end := start + g.words(l.bits())
		segments[s] = segment{grid: g, words: array[start:end:end]}
		for last := start + g.page - 1; last < end; last += g.page {
			array[last] &= 1<<(64-8*checkBytes) - 1
		}
	}
	s := &state{shape: l.shape, names: names}
	s.segments.Store(&segments)
	s.n.Store(int64(l.members))
	b.bank = bank{s, form.Keep(info)}
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (b bank) MarshalText() ([]byte, error) { return form.AppendText(nil, b) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bank) UnmarshalText(text []byte) error {
	return form.UnmarshalText("bank", text, b, func() { b.bank = bank{} })
}

// SaveFile saves b to the file at path; see "Files" in package bloom. Other methods do not wait
// while it writes.
//
// SaveFile writes the whole Bank. Split a Bank that grows forever into several files, such as one a
// day; see the example of [OpenFile]. Then only the last one changes, and a look-up asks all of
// them.
func (b *Bank) SaveFile(path string) error {
	return storage.SaveFile(form.Bank, path, b.SizeBytes(), b.info.Get(), b)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Bank, error) { return storage.LoadFile(form.Bank, path, new(Bank)) }

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in package
// bloom. The saved Bank must have the same M and K as New(n, p).
func LoadOrNew(path string, n uint64, p float64) (*Bank, error) {
	fresh, err := New(n, p)
	return loadOr(path, fresh, err)
}

// LoadOrNewSize is like [LoadOrNew], but calls NewSize(m, k) instead of New.
func LoadOrNewSize(path string, m uint64, k int) (*Bank, error) {
	fresh, err := NewSize(m, k)
	return loadOr(path, fresh, err)
}

// fresh and err must be the results of a constructor.
func loadOr(path string, fresh *Bank, err error) (*Bank, error) {
	if err != nil {
		return nil, err
	}
	create := func() (*Bank, error) { return fresh, nil }
	return storage.LoadOr(path, LoadFile, create, func(b *Bank) error {
		switch {
		case b.M() != fresh.M():
			return form.Mismatch("bank", "m", b.M(), fresh.M())
		case b.K() != fresh.K():
			return form.Mismatch("bank", "k", b.K(), fresh.K())
		}
		return nil
	})
}
