package readers

import (
	"bytes"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/fold"
)

// TestReadersFoldCase: the programs make the same key of each character as the command with
// --fold-case.
func TestReadersFoldCase(t *testing.T) {
	var in bytes.Buffer
	var want strings.Builder
	for first := rune(0); first < 0x20000; first += 64 {
		line := []byte("x")
		for r := first; r < first+64; r++ {
			if r != '\n' && utf8.ValidRune(r) {
				line = utf8.AppendRune(line, r)
			}
		}
		line = append(line, "\xff"...)
		in.Write(append(line, '\n'))
		want.WriteString(hex.EncodeToString(fold.Append(nil, line)) + "\n")
	}
	f := bloom.Must(bloom.New(1, 0.01))
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString, case folded by Unicode " + fold.Version })
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, f.SaveFile(path))
	for _, reader := range [][]string{
		{"python3", "-c", `import bloom, sys
f = bloom.load(sys.argv[1])
for line in sys.stdin.buffer: print(f.key(line[:-1]).hex())`, path},
		{"node", "--input-type=module", "-e", `import {read} from "./bloom.mjs"
import {readFileSync} from "node:fs"
const f = read(new Uint8Array(readFileSync(process.argv[1]))), lines = new Uint8Array(readFileSync(0)), out = []
for (let at = 0, end; at < lines.length; at = end + 1) {
	end = lines.indexOf(10, at)
	out.push(Buffer.from(f.key(lines.subarray(at, end))).toString("hex") + "\n")
}
console.log(out.join("").trimEnd())`, "--", path},
	} {
		if isMissing(t, reader[0]) {
			continue
		}
		cmd := exec.Command(reader[0], reader[1:]...)
		cmd.Stdin = bytes.NewReader(in.Bytes())
		var messages bytes.Buffer
		cmd.Stderr = &messages
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", reader[0], &messages)
		wants, got := strings.Split(want.String(), "\n"), strings.Split(string(out), "\n")
		require.Len(t, got, len(wants), reader[0])
		for i := range wants {
			filtertest.Equal(t, wants[i], got[i], "%s: line %d", reader[0], i)
		}
	}
}
