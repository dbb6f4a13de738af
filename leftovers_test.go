package bloom_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// figures returns what the methods of x without parameters say of it.
func figures(x any) map[string]string {
	figures := map[string]string{}
	v := reflect.ValueOf(x)
	for i := range v.NumMethod() {
		method := v.Method(i)
		if t := method.Type(); t.NumIn() > 0 || t.NumOut() != 1 || t.Out(0).Kind() == reflect.Pointer || t.Out(0).Kind() == reflect.Interface {
			continue
		}
		name := v.Type().Method(i).Name
		if name == "Config" { // whose Now stays
			figures[name] = fmt.Sprint(method.Call(nil)[0].Field(0), method.Call(nil)[0].Field(1))
			continue
		}
		figures[name] = fmt.Sprint(method.Call(nil)[0])
	}
	return figures
}

// uncollected stops garbage collection until t ends where a call of a method by reflection
// cannot be collected beside: reflect keeps the method's address in a variable on the heap,
// and on WebAssembly the collector takes it for a bad pointer. (As go.dev/issue/80472, which
// was itabInit's; this is methodReceiver's.)
func uncollected(t *testing.T) {
	if runtime.GOARCH == "wasm" {
		percent := debug.SetGCPercent(-1)
		t.Cleanup(func() { debug.SetGCPercent(percent) })
		runtime.GC() // ends one that has begun
	}
}

// TestEmptied: a filled filter that was decoded from the empty text says of itself what a
// zero value says.
func TestEmptied(t *testing.T) {
	uncollected(t)
	for _, typ := range types {
		t.Run(typ.name, func(t *testing.T) {
			f := typ.make()
			for i := range 1000 {
				f.AddHash(bloom.SumUint64(uint64(i)))
			}
			if f, ok := f.(interface{ SetInfo(bloom.Info) }); ok {
				f.SetInfo(bloom.Info{N: 1, P: 0.5, Hash: "hash", Comment: "comment"})
			}
			require.NoError(t, f.UnmarshalText(nil))
			require.Equal(t, figures(typ.zero()), figures(f))
			require.False(t, f.ContainsHash(bloom.SumUint64(1)))
			require.Panics(t, func() { f.AddHash(bloom.SumUint64(1)) })
		})
	}
}

// TestClosed: a closed File knows nothing of the filter whose memory it has given back.
func TestClosed(t *testing.T) {
	uncollected(t)
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, bloom.Must(bloom.New(1000, 0.01)).SaveFile(path))
	file := bloom.Must(bloom.OpenFile(path))
	require.NoError(t, file.Close())
	require.NoError(t, bloom.Must(blocked.New(1000, 0.01)).SaveFile(path))
	blockedFile := bloom.Must(blocked.OpenFile(path))
	require.NoError(t, blockedFile.Close())
	for _, file := range []any{file, blockedFile} {
		v, zero := reflect.ValueOf(file), reflect.New(reflect.TypeOf(file).Elem())
		for i := range v.NumMethod() {
			name := v.Type().Method(i).Name
			call := func(v reflect.Value) (result string) {
				defer func() {
					if p := recover(); p != nil {
						result = "panics"
					}
				}()
				var in []reflect.Value
				for j := range v.Method(i).Type().NumIn() {
					in = append(in, reflect.Zero(v.Method(i).Type().In(j)))
				}
				if v.Method(i).Type().IsVariadic() {
					return ""
				}
				for _, out := range v.Method(i).Call(in) {
					result += fmt.Sprint(out) + " "
				}
				return result
			}
			require.Equal(t, call(zero), call(v), "%T.%s", file, name)
		}
	}
}

// TestNothingStaysOpen: no descriptor and no map is left of a file that was closed, loaded,
// or refused.
func TestNothingStaysOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close files
	dir := t.TempDir()
	open := func() (open []string) {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		for _, e := range entries {
			if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(to, dir) {
				open = append(open, "descriptor of "+to)
			}
		}
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		for line := range strings.Lines(string(maps)) {
			if strings.Contains(line, dir) {
				open = append(open, line)
			}
		}
		return open
	}
	for _, typ := range types {
		path := filepath.Join(dir, strings.ReplaceAll(typ.name, ".", "-"))
		f := typ.make()
		require.NoError(t, f.SaveFile(path))
		good := bloom.Must(os.ReadFile(path))
		require.Empty(t, open(), "%s: saved", typ.name)
		for damaged, data := range [][]byte{good, good[:len(good)-1], append(good[:len(good):len(good)], 0), append(good[:len(good)-3:len(good)-3], 1, 2, 3), good[:5], {}} {
			require.NoError(t, os.WriteFile(path, data, 0o600))
			_, err := typ.load(path)
			require.Equal(t, damaged > 0, err != nil, typ.name)
			require.Empty(t, open(), "%s: loaded, with damage %d", typ.name, damaged)
			for _, openFile := range []func() (interface{ Close() error }, error){
				func() (interface{ Close() error }, error) { return bloom.OpenFile(path) },
				func() (interface{ Close() error }, error) { return blocked.OpenFile(path) },
			} {
				if file, err := openFile(); err == nil {
					require.NoError(t, file.Close())
				}
				require.Empty(t, open(), "%s: opened, with damage %d", typ.name, damaged)
			}
		}
	}
}
