package blocked

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// TestViews: a View answers as the Filter of the same bytes does, for any alignment of the bytes.
func TestViews(t *testing.T) {
	for lines := 1; lines <= splitblock.MaxLines; lines++ {
		f := bloom.Must(NewSize(1000*256, lines))
		keys := filtertest.Digests(1, 5000)
		f.AddBatch(nil, keys)
		probes := append(keys, filtertest.Digests(2, 5000)...)
		want := filtertest.Found(f, probes)
		data := make([]byte, 0, f.SizeBytes()+8)
		for shift := range 8 {
			data = bloom.Must(f.AppendBinary(data[:shift]))
			v := bloom.Must(NewView(data[shift:]))
			require.Equal(t, want, filtertest.Found(v, probes))
			for i, h := range probes {
				filtertest.Equal(t, want[i], v.ContainsHash(h))
			}
			require.Equal(t, f.Stats(), v.Stats())
			require.Equal(t, fmt.Sprintf("blocked.View(m=256000, lines=%d)", lines), v.String())
		}
	}
}

// TestFileUnread: OpenFile does not read the whole file. The file has 64 GiB and no blocks on disk,
// so that reading it would take minutes.
func TestFileUnread(t *testing.T) {
	if splitblock.Max < 1<<31 {
		t.Skip("larger than the address space")
	}
	path := filepath.Join(t.TempDir(), "filter")
	const n = 1<<31 + 1
	form := bloom.Must(form.Blocked.Append(nil, []uint64{n, 2, 0}, nil, form.Info{}))
	sparse, err := os.Create(path)
	require.NoError(t, err)
	bloom.Must(sparse.Write(form[:32]))
	bloom.Must(sparse.WriteAt(form[32:], 32+32*n))
	require.NoError(t, sparse.Close())
	var file *View
	taken := filtertest.Allocated(func() { file, err = OpenFile(path) })
	if err != nil {
		require.NotErrorIs(t, err, bloom.ErrFormat)
		t.Skip(err) // a system, or an emulator, may not map that much
	}
	require.Less(t, taken, uint64(64<<10))
	defer file.Close()
	require.False(t, file.ContainsString("key"))
	require.Equal(t, fmt.Sprintf("blocked.View(m=%d, lines=2)", uint64(256*n)), file.String())
}
