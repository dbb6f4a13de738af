package alltypes

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
)

// largest is an Info each of whose fields has its greatest length or value.
var largest = bloom.Info{
	N:       math.MaxUint64,
	P:       math.Nextafter(1, 0),
	Hash:    strings.Repeat("h", 255),
	Comment: strings.Repeat("ö", 2048),
	Meta:    "m=" + strings.Repeat("x", 4094),
}

// full returns a filter with some keys and the largest Info.
func full(typ Type) Filter {
	f := typ.New(100)
	for i := range 20 {
		Add(f, fmt.Sprint("key ", i))
	}
	f.UpdateInfo(func(i *bloom.Info) { *i = largest })
	return f
}

// saved returns the bytes of f's file, in which every field of f counts.
func saved(t *testing.T, f interface{ SaveFile(string) error }) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, f.SaveFile(path))
	return bloom.Must(os.ReadFile(path))
}

// change changes f in every field that can be changed.
func change(f Filter) {
	for i := range 10 {
		Add(f, fmt.Sprint("other ", i))
	}
	if b, ok := f.(*bank.Bank); ok {
		b.AddString(0, "other")
		b.SetName(1, "other")
		b.Clear(2)
	}
	other := bloom.Info{N: 7, P: 0.5, Hash: "other", Comment: "other", Meta: "other=1"}
	f.UpdateInfo(func(i *bloom.Info) { *i = other })
}

// method calls a method of f that takes args and returns a value, and perhaps an error.
func method(f any, name string, args ...any) any {
	var in []reflect.Value
	for _, arg := range args {
		in = append(in, reflect.ValueOf(arg))
	}
	out := reflect.ValueOf(f).MethodByName(name).Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		panic(out[1].Interface())
	}
	return out[0].Interface()
}

func has(f any, name string) bool { return reflect.ValueOf(f).MethodByName(name).IsValid() }

// copied is a way to make a filter from another one.
type copied struct {
	way    string
	copy   func() Filter
	folded bool // the copy has another Info
	other  bool // the copy has another form
}

// copies returns every way to make a filter from f, which is one of typ.
func copies(typ Type, f Filter) (ways []copied) {
	add := func(way string, copy func() Filter) {
		ways = append(ways, copied{way: way, copy: copy})
	}
	decoded := func(decode func(g Filter) error) func() Filter {
		return func() Filter {
			g := typ.Decoder(clock().UnixNano())
			if err := decode(g); err != nil {
				panic(err)
			}
			g.UpdateInfo(func(i *bloom.Info) { *i = f.Info() }) // Guava's form has no Info
			return g
		}
	}
	add("UnmarshalBinary", decoded(func(g Filter) error {
		data := bloom.Must(f.MarshalBinary())
		defer clear(data)
		return g.UnmarshalBinary(data)
	}))
	add("UnmarshalText", decoded(func(g Filter) error {
		text := bloom.Must(f.MarshalText())
		defer clear(text)
		return g.UnmarshalText(text)
	}))
	add("AppendBinary", decoded(func(g Filter) error {
		return g.UnmarshalBinary(bloom.Must(f.AppendBinary([]byte("before")))[len("before"):])
	}))
	add("ReadFrom", decoded(func(g Filter) error {
		var out bytes.Buffer
		bloom.Must(f.WriteTo(&out))
		_, err := g.ReadFrom(&out)
		return err
	}))
	if has(f, "Clone") {
		add("Clone", func() Filter { return method(f, "Clone").(Filter) })
	}
	if typ.SyncOf != nil {
		add("NewSyncFrom", func() Filter { return typ.SyncOf(f) })
		add("Snapshot", func() Filter { return typ.Snapshot(typ.SyncOf(f)) })
	}
	if typ.Sync {
		add("Snapshot", func() Filter { return method(f, "Snapshot").(Filter) })
	}
	if has(f, "Fold") {
		ways = append(ways, copied{way: "Fold", folded: true,
			copy: func() Filter { return method(f, "Fold", 1).(Filter) }})
	}
	if has(f, "Bloom") {
		ways = append(ways, copied{way: "Bloom", other: true,
			copy: func() Filter { return method(f, "Bloom").(Filter) }})
	}
	if b, ok := f.(*bank.Bank); ok {
		ways = append(ways, copied{way: "Bank.Filter", other: true,
			copy: func() Filter { return b.Filter(3) }})
	}
	return ways
}

// TestCopies: a copy has the keys and the Info of its original. A change of either one does not
// change the other.
func TestCopies(t *testing.T) {
	for _, typ := range All {
		f := full(typ)
		before := saved(t, f)
		for _, c := range copies(typ, f) {
			t.Run(typ.Name+"/"+c.way, func(t *testing.T) {
				g, h := c.copy(), c.copy()
				made := saved(t, g)
				if !c.folded && !c.other {
					require.True(t, bytes.Equal(before, made), "the copy")
				}
				change(g)
				require.False(t, bytes.Equal(made, saved(t, g)), "the copy, when it has changed")
				require.True(t, bytes.Equal(before, saved(t, f)), "the original, when a copy has changed")
				g.Reset()
				require.True(t, bytes.Equal(before, saved(t, f)), "the original, when a copy was reset")
				require.True(t, bytes.Equal(made, saved(t, h)), "the second copy")

				f := full(typ) // of its own, which can be changed
				for _, own := range copies(typ, f) {
					if own.way == c.way {
						g = own.copy()
					}
				}
				change(f)
				f.Reset()
				require.True(t, bytes.Equal(made, saved(t, g)), "the copy, when the original has changed")
			})
		}
	}
}

// TestCopiesOfWords: what is made of words or bytes does not retain them.
func TestCopiesOfWords(t *testing.T) {
	words := make([]uint64, 10)
	f := bloom.Must(bloom.NewWords(words, 3))
	words[0] = math.MaxUint64
	require.Zero(t, f.OnesCount())
	f.AddString("key")
	require.Equal(t, make([]uint64, 9), words[1:])

	g := bloom.Must(blocked.NewSize(1024, 1))
	bitset := g.Bitset()
	h := bloom.Must(blocked.NewBitset(bitset))
	for i := range bitset {
		bitset[i] = 0xff
	}
	require.True(t, g.Equal(h))
	require.Zero(t, g.Stats().OnesCount)

	member := bloom.Must(bloom.New(100, 0.01))
	b := bloom.Must(bank.New(100, 0.01))
	i := bloom.Must(b.AppendFilter(member))
	member.AddString("later")
	require.False(t, b.ContainsHash(i, bloom.SumString("later")))
	b.AddString(i, "of the bank")
	require.False(t, member.ContainsString("of the bank"))
	v := bloom.Must(bank.NewView(bloom.Must(b.MarshalBinary())))
	v.Filter(i).AddString("of the copy")
	require.False(t, v.ContainsHash(i, bloom.SumString("of the copy")))
}

// TestCopiesOfZero: a copy of a zero value with an Info has that Info, too, and is no less zero.
func TestCopiesOfZero(t *testing.T) {
	for _, typ := range All {
		for _, way := range []string{"Clone", "Snapshot"} {
			f := typ.Zero()
			if !has(f, way) {
				continue
			}
			f.UpdateInfo(func(i *bloom.Info) { i.Comment = "of zero" })
			g := method(f, way).(Filter)
			require.Equal(t, f.Info(), g.Info(), "%s.%s", typ.Name, way)
			require.Contains(t, g.String(), "(zero)")
			g.UpdateInfo(func(i *bloom.Info) { i.Comment = "of the copy" })
			require.Equal(t, "of zero", f.Info().Comment, "%s.%s", typ.Name, way)
		}
	}
	// A new filter has an Info that Bloom takes over, and so has the zero value.
	var c counting.Filter
	c.UpdateInfo(func(i *bloom.Info) { i.Comment = "of zero" })
	require.Equal(t, c.Info(), c.Bloom().Info())
}

// TestRetainsNothing: no method of a filter retains a slice of bytes or of digests that it gets. What
// its caller writes there afterwards changes no filter and no answer.
func TestRetainsNothing(t *testing.T) {
	for _, typ := range All {
		tried := 0
		methods := reflect.TypeOf(typ.New(1))
		for i := range methods.NumMethod() {
			name := methods.Method(i).Name
			f, g := full(typ), full(typ)
			args, slices := slicesFor(typ, f, name)
			if len(slices) == 0 || name == "AppendBinary" {
				continue
			}
			tried++
			reflect.ValueOf(f).MethodByName(name).Call(args)
			for _, slice := range slices {
				for i := range slice.Len() {
					slice.Index(i).SetZero()
				}
			}
			kept, _ := slicesFor(typ, g, name)
			reflect.ValueOf(g).MethodByName(name).Call(kept)
			for _, h := range []Filter{f, g} {
				Add(h, "later")
			}
			require.True(t, bytes.Equal(saved(t, g), saved(t, f)), "%s.%s", typ.Name, name)
			keys := []string{"key 1", "later", "", "other"}
			require.Equal(t, Answers(g, keys), Answers(f, keys), "%s.%s", typ.Name, name)
		}
		require.Greater(t, tried, 2, typ.Name)
	}
}

// slicesFor returns arguments for a method of f that takes slices of bytes or of digests, and these
// slices.
func slicesFor(typ Type, f Filter, name string) (args, slices []reflect.Value) {
	m := reflect.ValueOf(f).MethodByName(name).Type()
	for i := range m.NumIn() {
		arg := reflect.Zero(m.In(i))
		switch m.In(i) {
		case reflect.TypeFor[[]bool]():
			arg = reflect.ValueOf(make([]bool, 3))
		case reflect.TypeFor[[]bloom.Hash]():
			hs := []bloom.Hash{bloom.SumString("key 1"), bloom.SumString("a"), bloom.SumString("b")}
			arg = reflect.ValueOf(hs)
			slices = append(slices, arg)
		case reflect.TypeFor[[]byte]():
			arg = reflect.ValueOf([]byte("key 1"))
			switch name {
			case "UnmarshalBinary":
				arg = reflect.ValueOf(bloom.Must(full(typ).MarshalBinary()))
			case "UnmarshalText":
				arg = reflect.ValueOf(bloom.Must(full(typ).MarshalText()))
			case "Patch":
				before := bloom.Must(bloom.New(100, 0.01))
				for i := range 20 {
					before.AddString(fmt.Sprint("key ", i))
				}
				after := before.Clone()
				after.AddString("of the patch")
				arg = reflect.ValueOf(bloom.Must(bloom.Diff(before, after)))
			}
			slices = append(slices, arg)
		}
		args = append(args, arg)
	}
	return args, slices
}

// refusal is a call that returns an error.
type refusal struct {
	call string
	do   func(f Filter) error
}

// refusals returns every call of typ that must return an error.
func refusals(t *testing.T, typ Type) (all []refusal) {
	add := func(call string, do func(f Filter) error) { all = append(all, refusal{call, do}) }
	good := bloom.Must(full(typ).MarshalBinary())
	file := saved(t, full(typ))
	text := bloom.Must(full(typ).MarshalText())
	damaged := map[string][]byte{
		"none":         {},
		"cut":          good[:len(good)-1],
		"a byte more":  append(slices.Clone(good), 0),
		"another file": append(slices.Clone(file[:len(file)-1]), file[len(file)-1]^1),
		"a short head": good[:3],
	}
	for _, other := range Forms() {
		if other.Package() != typ.Package() {
			damaged["of "+other.Name] = bloom.Must(other.New(100).MarshalBinary())
		}
	}
	for name, data := range damaged {
		add("UnmarshalBinary "+name, func(f Filter) error { return f.UnmarshalBinary(data) })
		streamable := typ.Guava && (name == "a byte more" || name == "another file")
		if !streamable && name != "a byte more" { // ReadFrom leaves what follows
			add("ReadFrom "+name, func(f Filter) error {
				_, err := f.ReadFrom(bytes.NewReader(data))
				return err
			})
		}
	}
	add("UnmarshalText cut", func(f Filter) error { return f.UnmarshalText(text[:len(text)-3]) })
	add("UnmarshalText !", func(f Filter) error { return f.UnmarshalText([]byte("!!!!")) })
	add("SaveFile nowhere", func(f Filter) error {
		return f.SaveFile(filepath.Join(t.TempDir(), "missing", "f"))
	})
	add("WriteTo that fails", func(f Filter) error {
		_, err := f.WriteTo(failing{})
		return err
	})
	other := func(n uint64, hash string) Filter {
		g := typ.New(n)
		if typ.Sync {
			g = method(g, "Snapshot").(Filter)
		}
		Add(g, "of the other")
		info := bloom.Info{N: 3, P: 0.25, Hash: hash, Comment: "other", Meta: "other=1"}
		g.UpdateInfo(func(i *bloom.Info) { *i = info })
		return g
	}
	for _, name := range []string{"Merge", "Intersect"} {
		if !has(typ.New(100), name) {
			continue
		}
		join := func(f, g Filter) error {
			err, _ := reflect.ValueOf(f).MethodByName(name).Call(
				[]reflect.Value{reflect.ValueOf(g)})[0].Interface().(error)
			return err
		}
		// A filter of another size has no Hash here, or another one, or the same one.
		for _, hash := range []string{"", "another", largest.Hash} {
			add(name+" of another size", func(f Filter) error { return join(f, other(1000, hash)) })
		}
		add(name+" of another hash", func(f Filter) error { return join(f, other(100, "another")) })
		add(name+" of nil", func(f Filter) error {
			in := reflect.ValueOf(f).MethodByName(name).Type().In(0)
			return join(f, reflect.Zero(in).Interface().(Filter))
		})
		add(name+" of zero", func(f Filter) error {
			in := reflect.ValueOf(f).MethodByName(name).Type().In(0)
			return join(f, reflect.New(in.Elem()).Interface().(Filter))
		})
	}
	if has(typ.New(100), "Fold") {
		add("Fold by 0", func(f Filter) error {
			return reflect.ValueOf(f).MethodByName("Fold").Call(
				[]reflect.Value{reflect.ValueOf(0)})[1].Interface().(error)
		})
	}
	if typ.Package() == "bloom" {
		a, b := bloom.Must(bloom.New(100, 0.01)), bloom.Must(bloom.New(100, 0.01))
		b.AddString("b")
		b.UpdateInfo(func(i *bloom.Info) {
			i.Comment = "of the patch"
			i.Hash = "another"
		})
		larger := bloom.Must(bloom.New(1000, 0.01))
		for name, data := range map[string][]byte{
			"of another filter": bloom.Must(bloom.Diff(b, a)),
			"of another size":   bloom.Must(bloom.Diff(larger, larger)),
			"cut":               bloom.Must(bloom.Diff(a, b))[:20],
		} {
			add("Patch "+name, func(f Filter) error {
				return f.(interface{ Patch([]byte) error }).Patch(data)
			})
		}
	}
	if typ.Package() == "bank" {
		for _, hash := range []string{"", "another", largest.Hash} {
			add("AppendFilter of another size", func(f Filter) error {
				g := bloom.Must(bloom.New(70, 0.001))
				g.UpdateInfo(func(i *bloom.Info) {
					i.Hash = hash
					i.Comment = "other"
				})
				_, err := f.(*bank.Bank).AppendFilter(g)
				return err
			})
		}
		add("AppendFilter of another hash", func(f Filter) error {
			g := bloom.Must(bloom.New(100, 0.01))
			g.UpdateInfo(func(i *bloom.Info) {
				i.Hash = "another"
				i.Comment = "other"
			})
			_, err := f.(*bank.Bank).AppendFilter(g)
			return err
		})
		add("AppendFilter of zero", func(f Filter) error {
			_, err := f.(*bank.Bank).AppendFilter(new(bloom.Filter))
			return err
		})
	}
	return all
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestRefused: a call that returns an error changes neither keys nor Info, and a zero value stays
// zero.
func TestRefused(t *testing.T) {
	for _, typ := range All {
		for _, r := range refusals(t, typ) {
			t.Run(typ.Name+"/"+r.call, func(t *testing.T) {
				// Without a Hash, a filter could take over that of the other one.
				bare := typ.New(100)
				Add(bare, "key")
				for _, f := range []Filter{full(typ), bare} {
					if f == bare && strings.HasSuffix(r.call, "another hash") {
						continue // it fits then
					}
					before, stats := saved(t, f), f.Stats()
					require.Error(t, r.do(f))
					require.True(t, bytes.Equal(before, saved(t, f)))
					require.Equal(t, stats, f.Stats())
				}
				if strings.HasPrefix(r.call, "Unmarshal") || strings.HasPrefix(r.call, "Read") {
					zero := typ.Zero()
					require.Error(t, r.do(zero))
					require.Equal(t, typ.Zero(), zero)
				}
			})
		}
	}
}

// TestFalseChangesNothing: an insertion or removal that returns false changes nothing.
func TestFalseChangesNothing(t *testing.T) {
	for _, typ := range All {
		f := full(typ)
		c, ok := f.(interface {
			RemoveString(string) bool
			Remove([]byte) bool
			RemoveHash(bloom.Hash) bool
		})
		if !ok {
			continue
		}
		before := saved(t, f)
		for i := range 300 {
			key := fmt.Sprint("absent ", i)
			if found, _ := Has(f, key); found {
				continue
			}
			require.False(t, c.RemoveString(key))
			require.False(t, c.Remove([]byte(key)))
			require.False(t, c.RemoveHash(bloom.SumString(key)))
		}
		require.True(t, bytes.Equal(before, saved(t, f)), typ.Name)
	}
	for _, f := range []interface {
		Filter
		InsertString(string) bool
	}{bloom.Must(cuckoo.New(10, 0.1)), bloom.Must(cuckoo.NewSync(10, 0.1))} {
		refused := 0
		for i := 0; refused < 10; i++ {
			before := saved(t, f)
			if !f.InsertString(fmt.Sprint(i)) {
				refused++
				require.True(t, bytes.Equal(before, saved(t, f)), "%T", f)
			}
		}
	}
}

// TestLargestInfo: every form that has an Info keeps the largest one. One byte more is refused, by
// name.
func TestLargestInfo(t *testing.T) {
	for _, typ := range All {
		f := full(typ)
		file := saved(t, f)
		forms := map[string][]byte{"file": file}
		if !typ.Guava {
			forms["binary"] = bloom.Must(f.MarshalBinary())
		}
		for name, data := range forms {
			g, read := typ.Decoder(0), typ.Decoder(0)
			require.NoError(t, g.UnmarshalBinary(data), name)
			require.Equal(t, largest, g.Info(), "%s %s", typ.Name, name)
			if !typ.Guava {
				bloom.Must(read.ReadFrom(bytes.NewReader(data)))
				require.Equal(t, largest, read.Info(), "%s %s", typ.Name, name)
			}
			if typ.NewView != nil {
				require.Equal(t, largest, bloom.Must(typ.NewView(data)).Info(), typ.Name)
			}
			if typ.NewReader != nil {
				r := bloom.Must(typ.NewReader(bytes.NewReader(data), int64(len(data))))
				require.Equal(t, largest, r.Info(), typ.Name)
			}
		}
		for field, i := range map[string]bloom.Info{
			"Hash":    {Hash: largest.Hash + "h"},
			"Comment": {Comment: largest.Comment + "h"},
			"Meta":    {Meta: largest.Meta + "h"},
			"P":       {P: math.Inf(1)},
		} {
			g := full(typ)
			g.UpdateInfo(func(about *bloom.Info) { *about = i })
			require.ErrorContains(t, g.SaveFile(filepath.Join(t.TempDir(), "f")), "Info."+field)
		}
	}
}

// TestTwins: each method that a Filter and its SyncFilter have returns the same in each step of a
// random walk, and leaves the same bytes.
func TestTwins(t *testing.T) {
	for _, typ := range Forms() {
		if typ.SyncOf == nil {
			continue
		}
		t.Run(typ.Package(), func(t *testing.T) {
			w := walk{typ: typ, rnd: rand.New(rand.NewPCG(7, 7))}
			a := typ.New(100)
			b := typ.SyncOf(a)
			methods := twinMethods(a, b)
			called := map[string]bool{}
			for step := range 2000 {
				name := methods[w.rnd.IntN(len(methods))]
				rare := name == "Reset" || name == "UnmarshalBinary"
				if rare && w.rnd.IntN(20) > 0 {
					continue
				}
				called[name] = true
				w.next(a)
				want, got := w.call(a, name), strings.ReplaceAll(w.call(b, name), "Sync", "")
				require.Equal(t, want, got, "step %d: %s", step, name)
				require.Equal(t, a.Info(), b.Info(), "step %d: %s", step, name)
				require.Equal(t, a.Stats(), b.Stats(), "step %d: %s", step, name)
				zero := a.Stats().M == 0 // which has no form
				require.True(t, zero || bytes.Equal(bloom.Must(a.MarshalBinary()),
					bloom.Must(b.MarshalBinary())), "step %d: %s", step, name)
			}
			for _, name := range methods {
				require.True(t, called[name], name)
			}
		})
	}
}

// twinMethods returns the methods that both have, except those of files and streams, which the
// other tables test.
func twinMethods(a, b Filter) (names []string) {
	for i := range reflect.TypeOf(a).NumMethod() {
		name := reflect.TypeOf(a).Method(i).Name
		switch name {
		case "SaveFile", "WriteTo", "ReadFrom", "UnmarshalText":
		default:
			if has(b, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// walk has the arguments of the next call.
type walk struct {
	typ   Type
	rnd   *rand.Rand
	key   string
	hs    []bloom.Hash
	info  bloom.Info
	other Filter
	form  []byte
	patch []byte
}

// next chooses arguments for calls of f. Half of them fit f.
func (w *walk) next(f Filter) {
	w.key = fmt.Sprint("key ", w.rnd.IntN(200))
	w.hs = []bloom.Hash{bloom.SumString(w.key), bloom.SumUint64(w.rnd.Uint64N(50))}
	w.hs = append(w.hs, w.hs[0])
	w.info = w.randomInfo()
	w.other = w.typ.New([]uint64{100, 1000}[w.rnd.IntN(2)])
	Add(w.other, w.key)
	w.other.UpdateInfo(func(i *bloom.Info) { *i = w.randomInfo() })
	w.form = bloom.Must(w.other.MarshalBinary())
	if w.rnd.IntN(2) == 0 {
		w.form = w.form[1:]
	}
	if f, ok := f.(*bloom.Filter); ok && f.K() > 0 {
		before := f.Clone()
		if w.rnd.IntN(2) == 0 {
			before.AddString("of the patch alone")
		}
		after := bloom.Must(bloom.NewWords(make([]uint64, f.M()/64), f.K()))
		if w.rnd.IntN(2) == 0 {
			after = before.Clone()
		}
		after.AddString(w.key)
		after.UpdateInfo(func(i *bloom.Info) { *i = w.randomInfo() })
		w.patch = bloom.Must(bloom.Diff(before, after))
	}
}

// randomInfo returns an Info, some of whose fields are zero.
func (w *walk) randomInfo() (i bloom.Info) {
	fields := w.rnd.Uint64()
	if fields&1 != 0 {
		i.N = w.rnd.Uint64N(9)
	}
	if fields&2 != 0 {
		i.P = w.rnd.Float64()
	}
	if fields&4 != 0 {
		i.Hash = "one"
	}
	if fields&8 != 0 {
		i.Comment = w.key
	}
	if fields&16 != 0 {
		i.Meta = "a=1"
	}
	return i
}

// call calls a method of f, and returns its results and the answers of a batch as a text.
func (w *walk) call(f Filter, name string) string {
	m := reflect.ValueOf(f).MethodByName(name)
	var in []reflect.Value
	room := make([]bool, len(w.hs))
	for i := range m.Type().NumIn() {
		var arg any
		switch m.Type().In(i) {
		case reflect.TypeFor[[]byte]():
			arg = slices.Clone(map[string][]byte{"Patch": w.patch, "UnmarshalBinary": w.form}[name])
			if arg.([]byte) == nil {
				arg = []byte(w.key)
			}
		case reflect.TypeFor[string]():
			arg = w.key
		case reflect.TypeFor[bloom.Hash]():
			arg = w.hs[0]
		case reflect.TypeFor[[]bloom.Hash]():
			arg = w.hs
		case reflect.TypeFor[[]bool]():
			arg = room
		case reflect.TypeFor[bloom.Info]():
			arg = w.info
		case reflect.TypeFor[func(*bloom.Info)]():
			arg = func(i *bloom.Info) { *i = w.info }
		default:
			arg = w.other
		}
		in = append(in, reflect.ValueOf(arg))
	}
	var results []any
	for _, out := range m.Call(in) {
		results = append(results, out.Interface())
	}
	return fmt.Sprint(append(results, room)...)
}

// TestReadersOfAForm: a View and a Reader of a file, and of a form in memory wherever it begins,
// answer as the filter.
func TestReadersOfAForm(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewView == nil {
			continue
		}
		f := full(typ)
		file := saved(t, f)
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		described := func(as string) string { return strings.Replace(f.String(), typ.Name, as, 1) }
		views := []View{bloom.Must(typ.Open(path))}
		for shift := range 9 {
			views = append(views, bloom.Must(typ.NewView(shifted(file, shift))))
		}
		for _, v := range views {
			require.Equal(t, f.Stats(), v.Stats(), typ.Name)
			require.Equal(t, f.Info(), v.Info(), typ.Name)
			require.Equal(t, described(typ.Package()+".View"), v.String())
			require.Equal(t, v.String(), v.LogValue().String())
			require.NoError(t, v.Verify(), typ.Name)
			sameKeys(t, f, v)
			require.NoError(t, v.Close())
		}
		if typ.NewReader == nil {
			continue
		}
		for _, data := range [][]byte{file, bloom.Must(f.MarshalBinary())} {
			r := bloom.Must(typ.NewReader(bytes.NewReader(data), int64(len(data))))
			if len(data) == len(file) { // Guava's form has no Info
				require.Equal(t, f.Info(), r.Info(), typ.Name)
			}
			require.Equal(t, described(typ.Package()+".Reader"), r.String())
			require.Equal(t, r.String(), r.LogValue().String())
			sameKeys(t, f, r)
		}
	}
}

// shifted returns a copy of data that begins shift bytes behind a multiple of 8.
func shifted(data []byte, shift int) []byte {
	return append(make([]byte, shift, shift+len(data)), data...)[shift:]
}

// TestClosedViews: a View that is closed or zero panics in every method that reads the form. It
// says of no key that it is absent.
func TestClosedViews(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewView == nil {
			continue
		}
		file := saved(t, full(typ))
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		views := []View{bloom.Must(typ.Open(path)), bloom.Must(typ.NewView(file)),
			bloom.Must(typ.NewView(shifted(file, 1)))}
		for _, v := range views {
			found, _ := Has(v, "key 1")
			require.True(t, found, "%s: before Close", typ.Name)
			require.NoError(t, v.Close())
		}
		views = append(views, reflect.New(reflect.TypeOf(views[0]).Elem()).Interface().(View))
		for _, v := range views {
			closed := typ.Package() + ".View(closed)"
			require.Equal(t, closed, v.String())
			require.Equal(t, closed, v.LogValue().String())
			require.NoError(t, v.Close(), "closing again")
			value := reflect.ValueOf(v)
			for i := range value.NumMethod() {
				name := value.Type().Method(i).Name
				if slices.Contains([]string{"Close", "LogValue", "String"}, name) {
					continue
				}
				refusal := typ.Package() + ": use of a View that is closed or zero"
				require.PanicsWithValue(t, refusal, func() { callWith(value.Method(i)) }, name)
			}
		}
	}
}

// TestBatchesOfViews: a batch of look-ups in a View panics if it has too little room for answers,
// wherever the form lies in memory. In a View that is closed, so does a batch of no keys.
func TestBatchesOfViews(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewView == nil {
			continue
		}
		file := saved(t, full(typ))
		for shift := range 2 {
			v := bloom.Must(typ.NewView(shifted(file, shift)))
			b, ok := v.(interface {
				ContainsBatch([]bool, []bloom.Hash)
			})
			if !ok {
				continue
			}
			short := typ.Package() + ": batch of 2 keys with room for 1 results"
			require.PanicsWithValue(t, short, func() {
				b.ContainsBatch(make([]bool, 1, 2), make([]bloom.Hash, 2))
			})
			require.NoError(t, v.Close())
			closed := typ.Package() + ": use of a View that is closed or zero"
			require.PanicsWithValue(t, closed, func() { b.ContainsBatch(nil, nil) })
		}
	}
}

// callWith calls a method with a key, two digests, room for three answers, a list of one member,
// and zeros.
func callWith(m reflect.Value) (results []reflect.Value, room []bool) {
	room = make([]bool, 3)
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		switch typ := m.Type().In(i); typ {
		case reflect.TypeFor[[]bloom.Hash]():
			in = append(in, reflect.ValueOf(make([]bloom.Hash, 2)))
		case reflect.TypeFor[[]bool]():
			in = append(in, reflect.ValueOf(room))
		case reflect.TypeFor[[]int]():
			in = append(in, reflect.ValueOf([]int{7}))
		default:
			in = append(in, reflect.Zero(typ))
		}
	}
	return m.Call(in), room
}

// movable is a file that may change.
type movable struct{ io.ReaderAt }

// TestReadersWithoutAnswer: a zero Reader, and one whose file has become shorter, returns an error
// from every look-up, and says of no key that it is absent.
func TestReadersWithoutAnswer(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewReader == nil {
			continue
		}
		file := saved(t, full(typ))
		store := &movable{bytes.NewReader(file)}
		cut := bloom.Must(typ.NewReader(store, int64(len(file))))
		store.ReaderAt = bytes.NewReader(file[:10])
		for _, r := range []Reader{cut, typ.ZeroReader()} {
			value, lookUps := reflect.ValueOf(r), 0
			for i := range value.NumMethod() {
				m, name := value.Method(i), typ.Package()+" "+value.Type().Method(i).Name
				n := m.Type().NumOut()
				if m.Type().Out(n-1) != reflect.TypeFor[error]() || strings.HasSuffix(name, "Name") {
					continue
				}
				lookUps++
				results, room := callWith(m)
				err, _ := results[n-1].Interface().(error)
				if r == cut {
					require.ErrorIs(t, err, bloom.ErrFormat, name)
				} else {
					require.ErrorContains(t, err, typ.Package()+": use of a zero Reader", name)
				}
				switch {
				case strings.HasSuffix(name, "ContainsBatch"):
					require.Equal(t, []bool{true, true, false}, room, name)
				case m.Type().Out(0) == reflect.TypeFor[bool]():
					require.True(t, results[0].Bool(), name)
				default:
					require.Equal(t, []int{7}, results[0].Interface(), name)
				}
			}
			require.Greater(t, lookUps, 1, typ.Name)
			if b, ok := r.(interface {
				ContainsBatch([]bool, []bloom.Hash) error
			}); ok {
				require.Panics(t, func() { _ = b.ContainsBatch(nil, make([]bloom.Hash, 1)) }, typ.Name)
			}
		}
	}
}

// TestReadersOfOtherSizes: NewReader refuses each size that the file does not have.
func TestReadersOfOtherSizes(t *testing.T) {
	for _, typ := range Forms() {
		if typ.NewReader == nil {
			continue
		}
		f := typ.New(10)
		Add(f, "key")
		file := saved(t, f)
		for size := -1; size <= len(file)+1; size++ {
			_, err := typ.NewReader(bytes.NewReader(file), int64(size))
			if size == len(file) || typ.Guava && size == len(bloom.Must(f.MarshalBinary())) {
				require.NoError(t, err, "%s: size %d", typ.Name, size)
			} else {
				require.ErrorIs(t, err, bloom.ErrFormat, "%s: size %d", typ.Name, size)
			}
		}
	}
}

// sameKeys requires that f, and a View or Reader of it, give the same answers about every method's
// keys.
func sameKeys(t *testing.T, f Filter, r any) {
	t.Helper()
	for i := range 300 {
		key := fmt.Sprint("key ", i)
		if i == 299 {
			key = ""
		}
		want, _ := Has(f, key)
		got, err := Has(r, key)
		require.NoError(t, err)
		require.Equal(t, want, got, "%T: %s", r, key)
		switch r := r.(type) {
		case interface {
			Contains([]byte) bool
			ContainsHash(bloom.Hash) bool
		}:
			require.Equal(t, want, r.Contains([]byte(key)))
			require.Equal(t, want, r.ContainsHash(bloom.SumString(key)))
		case interface {
			Contains([]byte) (bool, error)
			ContainsHash(bloom.Hash) (bool, error)
		}:
			require.Equal(t, want, bloom.Must(r.Contains([]byte(key))))
			require.Equal(t, want, bloom.Must(r.ContainsHash(bloom.SumString(key))))
		}
	}
	if b, ok := f.(*bank.Bank); ok {
		for i := range 300 {
			hs := []bloom.Hash{bloom.SumString(fmt.Sprint("key ", i)), bloom.SumString("key 1")}
			switch r := r.(type) {
			case *bank.View:
				require.Equal(t, b.WhichAll(nil, hs), r.WhichAll(nil, hs))
			case *bank.Reader:
				got, err := r.WhichAll(nil, hs)
				require.NoError(t, err)
				require.Equal(t, b.WhichAll(nil, hs), got)
			}
		}
		return
	}
	hs := make([]bloom.Hash, 300)
	for i := range hs {
		hs[i] = bloom.SumString(fmt.Sprint("key ", i))
	}
	want, got := make([]bool, len(hs)), make([]bool, len(hs))
	f.(interface {
		ContainsBatch([]bool, []bloom.Hash)
	}).ContainsBatch(want, hs)
	switch r := r.(type) {
	case interface {
		ContainsBatch([]bool, []bloom.Hash)
	}:
		r.ContainsBatch(got, hs)
	case interface {
		ContainsBatch([]bool, []bloom.Hash) error
	}:
		require.NoError(t, r.ContainsBatch(got, hs))
	}
	require.Equal(t, want, got, "%T", r)
}
