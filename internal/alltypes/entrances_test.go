package alltypes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/unkind"
)

// entrance is a way into a type, for the bytes of a file.
type entrance struct {
	name string
	// enter returns what was made of data: a Filter, a View or a Reader.
	enter func(t *testing.T, data []byte) (any, error)
	// head is set if the entrance reads no more than the head and the trailer, so that it need not
	// notice damage between them.
	head bool
	// stream is set if the entrance leaves what follows a form of Guava's.
	stream bool
}

func entrances(typ Type) (all []entrance) {
	add := func(e entrance) { all = append(all, e) }
	add(entrance{name: "UnmarshalBinary", enter: func(_ *testing.T, data []byte) (any, error) {
		f := typ.Decoder(clock().UnixNano())
		return f, f.UnmarshalBinary(data)
	}})
	for name := range unkind.Readers(nil) {
		add(entrance{name: "ReadFrom " + name, stream: true,
			enter: func(_ *testing.T, data []byte) (any, error) {
				f := typ.Decoder(clock().UnixNano())
				_, err := f.ReadFrom(unkind.Readers(data)[name])
				return f, err
			}})
	}
	file := func(t *testing.T, data []byte) string {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	if typ.Load != nil {
		add(entrance{name: "LoadFile", enter: func(t *testing.T, data []byte) (any, error) {
			f, err := typ.Load(file(t, data))
			return f, err
		}})
	}
	verified := func(v View, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		if err := v.Verify(); err != nil {
			return nil, err
		}
		return v, nil
	}
	if typ.Open != nil {
		add(entrance{name: "OpenFile", enter: func(t *testing.T, data []byte) (any, error) {
			v, err := typ.Open(file(t, data))
			if err == nil {
				t.Cleanup(func() { v.Close() })
			}
			return verified(v, err)
		}})
		add(entrance{name: "NewView", enter: func(_ *testing.T, data []byte) (any, error) {
			v, err := typ.NewView(data)
			return verified(v, err)
		}})
	}
	if typ.NewReader != nil {
		for name := range unkind.ReaderAts(nil) {
			add(entrance{name: "NewReader " + name, head: true,
				enter: func(_ *testing.T, data []byte) (any, error) {
					r, err := typ.NewReader(unkind.ReaderAts(data)[name], int64(len(data)))
					return r, err
				}})
		}
	}
	return all
}

// newer returns data as a later version would write it: the trailer has another version, and is
// longer.
func newer(data []byte) []byte {
	data = slices.Clone(data)
	data[len(data)-5]++
	return data
}

// TestEntrances: every way into a type, however unkind the reader, accepts the same bytes and makes
// the same answers and the same Info of them. What it refuses, all refuse, and all agree on whether
// a newer version wrote it.
func TestEntrances(t *testing.T) {
	for _, typ := range All {
		f := full(typ)
		whole := saved(t, f)
		longer := slices.Concat(whole[:len(whole)-16], make([]byte, 8), whole[len(whole)-16:])
		inputs := map[string]struct {
			data    []byte
			good    bool
			version bool
			head    bool // the damage is in the head or the trailer
			long    bool // damaged after a form of Guava's
		}{
			"whole":                   {data: whole, good: true},
			"newer":                   {data: newer(whole), version: true, head: true, long: true},
			"newer and longer":        {data: newer(longer), version: true, head: true, long: true},
			"no bytes":                {data: nil, head: true},
			"cut by one":              {data: whole[:len(whole)-1], head: true, long: true},
			"cut to two":              {data: whole[:2], head: true},
			"a byte more":             {data: append(slices.Clone(whole), 0), head: true, long: true},
			"the checksum is another": {data: flipped(whole, len(whole)-1), long: true},
			"the info is another":     {data: flipped(whole, len(whole)-40), head: true, long: true},
		}
		for name, in := range inputs {
			for _, e := range entrances(typ) {
				t.Run(typ.Name+"/"+name+"/"+e.name, func(t *testing.T) {
					got, err := e.enter(t, in.data)
					frameStream := e.stream && !typ.Guava && name == "a byte more"
					unseen := e.stream && typ.Guava && in.long || e.head && !in.head || frameStream
					if in.good || unseen {
						require.NoError(t, err)
					}
					if !in.good {
						if !unseen {
							require.ErrorIs(t, err, bloom.ErrFormat)
							// A stream does not know where a trailer ends that its head does not announce.
							told := !e.stream || name != "newer and longer"
							require.Equal(t, in.version && told, errors.Is(err, bloom.ErrVersion), "%v", err)
						}
						return
					}
					if guavasStream := e.stream && typ.Guava; !guavasStream {
						require.Equal(t, largest, got.(interface{ Info() bloom.Info }).Info())
					}
					if typ.Package() == "window" && e.name == "LoadFile" {
						return // by the system's clock, all keys are forgotten
					}
					for i := range 300 {
						key := fmt.Sprint("key ", i)
						want, _ := Has(f, key)
						answer, err := Has(got, key)
						require.NoError(t, err)
						require.Equal(t, want, answer, key)
					}
				})
			}
		}
	}
}

func flipped(data []byte, i int) []byte {
	data = slices.Clone(data)
	data[i] ^= 1
	return data
}

// TestReadersThatFail: an error of the store is returned as it is, and is no statement about the
// form; the receiver stays as it was. An error after a form is not an error of the form.
func TestReadersThatFail(t *testing.T) {
	for _, typ := range All {
		data := bloom.Must(full(typ).MarshalBinary())
		for _, n := range []int{0, 1, 7, len(data) / 2, len(data) - 1} {
			for name, r := range unkind.FailingReaders(data[:n]) {
				f := full(typ)
				before := saved(t, f)
				_, err := f.ReadFrom(r)
				require.ErrorIs(t, err, unkind.ErrStore, "%s: %d bytes, %s", typ.Name, n, name)
				require.NotErrorIs(t, err, bloom.ErrFormat, "%s: %d bytes, %s", typ.Name, n, name)
				require.True(t, bytes.Equal(before, saved(t, f)), "%s: %d bytes, %s", typ.Name, n, name)
			}
		}
		for name, r := range unkind.FailingReaders(data) {
			f := typ.Decoder(clock().UnixNano())
			n, err := f.ReadFrom(r)
			require.NoError(t, err, "%s: %s", typ.Name, name)
			require.EqualValues(t, len(data), n, "%s: %s", typ.Name, name)
		}
	}
}

// TestRequestsThatFail: whichever request fails, NewReader or a look-up returns that error, which
// is no statement about the form, and never a certain answer.
func TestRequestsThatFail(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewReader == nil {
			continue
		}
		f := full(typ)
		if b, ok := f.(interface{ SetName(int, string) }); ok {
			b.SetName(1, "name")
		}
		data := saved(t, f)
		made := 0
		for n := 1; made == 0 || n < made+6; n++ {
			for name, at := range unkind.FailingReaderAts(data, n) {
				r, err := typ.NewReader(at, int64(len(data)))
				if err != nil {
					require.ErrorIs(t, err, unkind.ErrStore, "%s: request %d, %s", typ.Name, n, name)
					require.NotErrorIs(t, err, bloom.ErrFormat)
					continue
				}
				made = cmp.Or(made, n)
				var failed error
				for i := 0; i < 8 && failed == nil; i++ {
					var found bool
					found, failed = Has(r, "key 1")
					if failed == nil {
						require.True(t, found)
					} else if _, isBank := f.(interface{ Append() int }); !isBank {
						require.True(t, found, "with an error, nothing is certain")
					}
				}
				require.ErrorIs(t, failed, unkind.ErrStore, "%s: request %d, %s", typ.Name, n, name)
				require.NotErrorIs(t, failed, bloom.ErrFormat)
			}
			for name, at := range unkind.FailingReaderAts(data, n) {
				r, err := typ.NewReader(at, int64(len(data)))
				if named, ok := r.(interface{ Name(int) (string, error) }); ok && err == nil {
					text, err := named.Name(1)
					if err == nil {
						require.Equal(t, "name", text)
						continue
					}
					require.ErrorIs(t, err, unkind.ErrStore, "request %d, %s", n, name)
					require.NotErrorIs(t, err, bloom.ErrFormat)
				}
			}
		}
	}
}

// TestWritersThatFail: WriteTo returns the writer's error, or io.ErrShortWrite, wherever it stops,
// and the number of bytes that the writer took.
func TestWritersThatFail(t *testing.T) {
	for _, typ := range All {
		f := full(typ)
		size := len(bloom.Must(f.MarshalBinary()))
		for _, n := range []int{0, 1, 5, size / 2, size - 1} {
			for name, w := range unkind.Writers(n) {
				took := &counter{w: w}
				written, err := f.WriteTo(took)
				require.Error(t, err, "%s: %d bytes, %s", typ.Name, n, name)
				if name == "a short write" {
					require.ErrorIs(t, err, io.ErrShortWrite, "%s: %d bytes", typ.Name, n)
				} else {
					require.ErrorIs(t, err, unkind.ErrStore, "%s: %d bytes, %s", typ.Name, n, name)
				}
				require.Equal(t, took.n, written, "%s: %d bytes, %s", typ.Name, n, name)
			}
		}
	}
}

// counter counts the bytes that w took.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// TestFilesThatAreReplaced: after a file was replaced in any way, LoadFile returns the new filter.
func TestFilesThatAreReplaced(t *testing.T) {
	for _, typ := range Forms() {
		f, g, larger := full(typ), full(typ), typ.New(1000)
		Add(g, "of the second")
		g.UpdateInfo(func(i *bloom.Info) { i.Comment = "of the second" })
		Add(larger, "of the second")
		for _, next := range []Filter{g, larger} {
			for _, way := range filtertest.Replacements(t) {
				path := filepath.Join(t.TempDir(), "f")
				way.Begin(t, path, saved(t, f))
				require.Equal(t, f.Info(), bloom.Must(typ.Load(path)).Info())
				way.Replace(t, path, saved(t, next))
				loaded := bloom.Must(typ.Load(path))
				require.Equal(t, next.Info(), loaded.Info(), "%s: %s", typ.Name, way.Name)
				has, _ := Has(loaded, "of the second")
				require.True(t, has || typ.Forgets, "%s: %s", typ.Name, way.Name)
			}
		}
	}
}

// TestLoadBesideSave: a file that is saved with other sizes all the time loads always.
func TestLoadBesideSave(t *testing.T) {
	for _, typ := range Forms() {
		path := filepath.Join(t.TempDir(), "f")
		a, b := full(typ), typ.New(1000)
		require.NoError(t, a.SaveFile(path))
		ended := make(chan struct{})
		filtertest.Together(func() {
			defer close(ended)
			for range 20 {
				require.NoError(t, a.SaveFile(path))
				require.NoError(t, b.SaveFile(path))
			}
		}, func() {
			for done := false; !done; {
				select {
				case <-ended:
					done = true
				default:
				}
				_, err := typ.Load(path)
				require.NoError(t, err, typ.Name)
				if typ.Open != nil {
					v, err := typ.Open(path)
					require.NoError(t, err, typ.Name)
					require.NoError(t, v.Close())
				}
			}
		})
	}
}
