package readers

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// patches adds patches, and files that are to be refused in the place of a patch. A patch is to be
// refused in the place of a filter.
func (m *maker) patches() {
	from := func(name string) *bloom.Filter {
		f := new(bloom.Filter)
		require.NoError(m.t, f.UnmarshalBinary(m.files[name]))
		return f
	}
	add := func(name, old string, data []byte) {
		f := from(old)
		require.NoError(m.t, f.Patch(data), name)
		answers := make([]byte, len(m.v.Keys))
		for i, key := range m.v.Keys {
			answers[i] = digit(f.ContainsString(key))
		}
		m.files[name] = data
		m.v.Patches = append(m.v.Patches, patch{name, old, infoOf(f.Info()), string(answers)})
		m.v.Refused = append(m.v.Refused, name)
	}
	refuse := func(name, old string, data []byte, mismatch bool) {
		require.Error(m.t, from(old).Patch(data), name)
		m.files[name] = data
		m.v.RefusedPatches = append(m.v.RefusedPatches, refusedPatch{name, old, mismatch})
	}

	// Of both strategies: few keys are new, all are, none is, and keys are gone.
	for _, old := range []string{"guava-0", "guava-1"} {
		file := old + ".bloom"
		f := from(file)
		f.AddString("0")
		f.AddString("new")
		add("patch-"+old+"-few", file, bloom.Must(bloom.Diff(from(file), f)))
		m.fill(f, func(int) bool { return true })
		add("patch-"+old+"-many", file, bloom.Must(bloom.Diff(from(file), f)))
		f.Reset()
		m.fill(f, func(i int) bool { return i%6 == 1 })
		f.UpdateInfo(func(i *bloom.Info) {
			i.Comment = "fewer"
			i.Meta = "day=2"
		})
		add("patch-"+old+"-fewer", file, bloom.Must(bloom.Diff(from(file), f)))
	}
	const old = "guava-1.bloom"
	renamed := from(old)
	renamed.UpdateInfo(func(i *bloom.Info) { i.Comment = "the same keys" })
	add("patch-none", old, bloom.Must(bloom.Diff(from(old), renamed)))

	// All bits differ, and their stream is as long as the filter. The other filter has the largest k.
	inverted := wordsOf(from(old))
	for i := range inverted {
		inverted[i] = ^inverted[i]
	}
	add("patch-all", old, bloom.Must(bloom.Diff(from(old),
		bloom.Must(bloom.NewWords(inverted, from(old).K())))))
	const many = "guava-k255.bloom"
	f := from(many)
	f.AddString("new")
	add("patch-k255", many, bloom.Must(bloom.Diff(from(many), f)))

	// Each rice is right whose stream has at most w words.
	words := wordsOf(from(old))
	proof := form.WordsSum(words)
	changed := []uint64{0, 1, 63, 64, 130, 64*uint64(len(words)) - 1}
	kind := form.KindOf(m.files["patch-none"])
	params := func(stream []uint64, rice uint64) []uint64 {
		return []uint64{1, uint64(from(old).K()), uint64(len(words)), uint64(len(changed)), rice,
			uint64(len(stream)), uint64(proof)}
	}
	made := func(params, stream []uint64) []byte {
		return bloom.Must(kind.Append(nil, params, stream, form.Info{N: 180, P: 0.1}))
	}
	for _, rice := range []uint64{0, 3, 7, 37} {
		stream := riceOf(changed, rice)
		add("patch-rice-"+string(rune('a'+rice%26)), old, made(params(stream, rice), stream))
	}

	const rice = 5
	stream := riceOf(changed, rice)
	refuse("refused-patch-other-filter", "guava-empty.bloom", made(params(stream, rice), stream), true)
	refuse("refused-patch-other-strategy", "guava-0.bloom", made(params(stream, rice), stream), true)
	refuse("refused-patch-applied", "guava-0.bloom", m.files["patch-guava-1-few"], true)
	refuse("refused-patch-is-a-filter", old, m.files[old], false)
	refuse("refused-patch-nothing", old, nil, false)
	for name, change := range map[string]func(p []uint64){
		"strategy":      func(p []uint64) { p[0] = 2 },
		"k-0":           func(p []uint64) { p[1] = 0 },
		"k-256":         func(p []uint64) { p[1] = 256 },
		"words-0":       func(p []uint64) { p[2] = 0 },
		"words-many":    func(p []uint64) { p[2] = 1 << 31 },
		"changed-many":  func(p []uint64) { p[3] = 64*p[2] + 1 },
		"changed-few":   func(p []uint64) { p[3]-- },
		"changed-more":  func(p []uint64) { p[3]++ },
		"rice-38":       func(p []uint64) { p[4] = 38 },
		"rice-other":    func(p []uint64) { p[4] = 0 },
		"proof-33-bits": func(p []uint64) { p[6] |= 1 << 32 },
	} {
		p := params(stream, rice)
		change(p)
		refuse("refused-patch-"+name, old, made(p, stream), false)
	}
	p := params(stream, rice)
	p[6] ^= 1
	refuse("refused-patch-proof", old, made(p, stream), true)
	p = params(stream, rice)
	p[1]--
	refuse("refused-patch-other-k", old, made(p, stream), true)
	for name, stream := range map[string][]uint64{
		"cut":        stream[:len(stream)-1],
		"longer":     append(slices.Clone(stream), 0),
		"one-behind": append(slices.Clone(stream[:len(stream)-1]), stream[len(stream)-1]|1<<63),
		"beyond":     riceOf(append(slices.Clone(changed[:len(changed)-1]), 64*uint64(len(words))), rice),
		"many-words": append(slices.Clone(stream), make([]uint64, len(words))...),
		"no-words":   nil,
	} {
		refuse("refused-patch-stream-"+name, old, made(params(stream, rice), stream), false)
	}
	whole := made(params(stream, rice), stream)
	for name, at := range map[string]int{
		"word": kind.HeadSize(), "parameter": 16, "checksum": len(whole) - 1,
	} {
		data := slices.Clone(whole)
		data[at] ^= 1
		refuse("refused-patch-damaged-"+name, old, data, false)
	}
	refuse("refused-patch-cut", old, whole[:len(whole)-1], false)
	refuse("refused-patch-behind", old, append(slices.Clone(whole), 0), false)
	slices.SortFunc(m.v.RefusedPatches, func(a, b refusedPatch) int {
		return cmp.Compare(a.File, b.File)
	})
}

// wordsOf returns the words of f.
func wordsOf(f *bloom.Filter) (words []uint64) {
	data := bloom.Must(f.MarshalBinary())
	for at := 6; at < len(data); at += 8 {
		words = append(words, binary.BigEndian.Uint64(data[at:]))
	}
	return words
}

// riceOf returns the stream of the gaps between the bits in changed.
func riceOf(changed []uint64, rice uint64) (words []uint64) {
	at, next := uint64(0), uint64(0)
	put := func(bit uint64) {
		for len(words) <= int(at/64) {
			words = append(words, 0)
		}
		words[at/64] |= bits.RotateLeft64(bit, int(at%64))
		at++
	}
	for _, index := range changed {
		gap := index - next
		next = index + 1
		for range gap >> rice {
			put(0)
		}
		put(1)
		for i := range rice {
			put(gap >> i & 1)
		}
	}
	return words
}
