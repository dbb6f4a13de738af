package readers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/magic"
)

// TestReadersRefuseWhatIsNotLines: the programs refuse what the command refuses, and gzip and zstd.
func TestReadersRefuseWhatIsNotLines(t *testing.T) {
	f := bloom.Must(bloom.New(100, 1e-9))
	f.AddString("é")
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, f.SaveFile(path))
	var heads, headsNode []filtertest.Head
	var asked, askedNode []question
	all := filtertest.Heads(t)
	for i, head := range all {
		if i%2 == 0 {
			continue // the next head is of the same row
		}
		q := question{path, []byte(head.Bytes + "\né\n")}
		heads = append(heads, head)
		asked = append(asked, q)
		if i+1 == len(all) || all[i+1].Name != head.Name { // node starts for each question
			headsNode = append(headsNode, head)
			askedNode = append(askedNode, q)
		}
	}
	for reader, ask := range map[string]func() []answer{
		"python3": func() []answer { return askPython(t, asked) },
		"node":    func() []answer { return askNode(t, askedNode) },
	} {
		if isMissing(t, reader) {
			continue
		}
		answers := ask()
		for i, got := range answers {
			head := heads[i]
			if reader == "node" {
				head = headsNode[i]
			}
			assert.Empty(t, got.Out, "%s, %s", reader, head.Name)
			assert.True(t, got.Failed, "%s, %s", reader, head.Name)
			assert.Contains(t, got.Message, "standard input: "+head.Refusal, "%s, %q", reader, head.Bytes)
		}
	}
	// A row that one of them lacks, or has at another place, is not only missed by the test above.
	for _, file := range []string{"bloom.py", "bloom.mjs"} {
		assert.Contains(t, string(bloom.Must(os.ReadFile(file))), "\n"+magic.Table, file)
	}
}
