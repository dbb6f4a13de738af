package readers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/window"
)

// digestQuestion asks for digests in a file, which need not be those of a key. Their halves are
// decimal, because JavaScript's numbers have 53 bits.
type digestQuestion struct {
	File    string
	Digests [][2]string
	Want    string // an answer is a digit
	inNode  bool   // bloom.mjs reads the form
}

// askDigests asks both readers.
func askDigests(t *testing.T, asked []digestQuestion) {
	var inNode []digestQuestion
	for _, q := range asked {
		if q.inNode {
			inNode = append(inNode, q)
		}
	}
	for _, reader := range []struct {
		args  []string
		asked []digestQuestion
	}{
		{[]string{"python3", "-c", `
import json, sys
sys.dont_write_bytecode = True
import bloom
for q in json.load(sys.stdin):
    f = bloom.load(q["File"], check=False)
    f.now = lambda: ` + strconv.FormatInt(epoch, 10) + `
    print("".join(str(int(f.contains_digest(int(a), int(b)))) for a, b in q["Digests"]))
`}, asked},
		{[]string{"node", "--input-type=module", "-e", `
import {load} from "./bloom.mjs"
import {readFileSync} from "node:fs"
for (const q of JSON.parse(readFileSync(0, "utf8"))) {
	const f = load(q.File, {check: false})
	console.log(q.Digests.map(([a, b]) => Number(f.containsHash([BigInt(a), BigInt(b)]))).join(""))
}
`}, inNode},
	} {
		if isMissing(t, reader.args[0]) {
			continue
		}
		cmd := exec.Command(reader.args[0], reader.args[1:]...)
		cmd.Stdin = bytes.NewReader(bloom.Must(json.Marshal(reader.asked)))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "%s: %s", reader.args[0], &stderr)
		answers := bytes.Fields(out)
		require.Len(t, answers, len(reader.asked), reader.args[0])
		for i, q := range reader.asked {
			for j, digest := range q.Digests {
				require.Equal(t, q.Want[j], answers[i][j], "%s: %s in %s", reader.args[0], digest,
					filepath.Base(q.File))
			}
		}
	}
}

func decimal(h bloom.Hash) [2]string {
	h1, h2 := h.Words()
	return [2]string{strconv.FormatUint(h1, 10), strconv.FormatUint(h2, 10)}
}

// TestReadersTakeAnyDigest: the readers find digests at the edges of the arithmetic of each form.
func TestReadersTakeAnyDigest(t *testing.T) {
	const step = 0x9e3779b97f4a7c15 // of package blocked
	var digests []bloom.Hash
	edges := []uint64{
		0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<62 - 1, 1 << 63, 1<<64 - 1,
		0x5555555500000000, 0xffffffff00000000, 1<<64 - step, 1<<63 - 1,
	}
	for _, a := range edges {
		for _, b := range edges {
			digests = append(digests, bloom.NewHash(a, b))
		}
	}
	now := func() time.Time { return time.Unix(0, epoch) }
	dir := t.TempDir()
	var asked []digestQuestion
	round := 0
	add := func(name string, f interface {
		SaveFile(string) error
		ContainsHash(bloom.Hash) bool
	}, add func(bloom.Hash), inNode bool) {
		name += "-" + strconv.Itoa(round)
		q := digestQuestion{File: filepath.Join(dir, name), inNode: inNode}
		for i, h := range digests { // some with each first half, and some with each second half
			if i/len(edges)%3 == round && i%len(edges)%2 == 0 {
				add(h)
			}
		}
		for _, h := range digests {
			q.Digests = append(q.Digests, decimal(h))
			q.Want += map[bool]string{true: "1", false: "0"}[f.ContainsHash(h)]
		}
		require.Contains(t, q.Want, "0", name)
		require.NoError(t, f.SaveFile(q.File))
		asked = append(asked, q)
	}
	type set interface {
		bloom.Set
		SaveFile(string) error
	}
	addSet := func(name string, f set, inNode bool) {
		add(name, f, func(h bloom.Hash) { f.AddHash(h) }, inNode)
	}
	for round = range 3 {
		addSet("guava-0", bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 60, 0.01)), true)
		addSet("guava-1", bloom.Must(bloom.NewWithStrategy(bloom.Mitz64, 60, 0.01)), true)
		for lines := 1; lines <= 4; lines++ {
			name := "blocked-" + strconv.Itoa(lines)
			addSet(name, bloom.Must(blocked.NewSize(256*3, lines)), true)
			addSet(name+"-more", bloom.Must(blocked.NewSize(256*13, lines)), true)
		}
		addSet("growing", bloom.Must(growing.New(100, 0.01)), false)
		addSet("counting", bloom.Must(counting.New(60, 0.01)), false)
		for _, n := range []uint64{60, 5000} {
			c := bloom.Must(cuckoo.New(n, 0.01))
			name := "cuckoo-" + strconv.FormatUint(n, 10)
			add(name, c, func(h bloom.Hash) { c.InsertHash(h) }, false)
		}
		for _, n := range []uint64{60, 50_000} { // of one page, and of several
			w := bloom.Must(window.New(window.Config{N: n, P: 0.01, Span: time.Hour, Now: now}))
			addSet("window-"+strconv.FormatUint(n, 10), w, false)
		}
		for _, bits := range []int{8, 16, 32} {
			f := bloom.Must(flower.New(flower.Config{Slots: 500, Ways: 3, Bits: bits}))
			addSet("flower-"+strconv.Itoa(bits), f, false)
		}
	}
	askDigests(t, asked)
}

// onesReader has only ones, except for the head and the trailer of a blocked filter. It keeps the
// offsets from which it was read.
type onesReader struct {
	head, trailer []byte
	size          int64
	mu            sync.Mutex
	read          [][2]int64 // offsets and lengths
}

func (o *onesReader) ReadAt(p []byte, at int64) (int, error) {
	trailer := o.size - int64(len(o.trailer))
	for i := range p {
		pos := at + int64(i)
		switch {
		case pos < int64(len(o.head)):
			p[i] = o.head[pos]
		case pos >= trailer:
			p[i] = o.trailer[pos-trailer]
		default:
			p[i] = 0xff
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read = append(o.read, [2]int64{at, int64(len(p))})
	return len(p), nil
}

// TestReadersTakeManyBlocks: from 2^30 blocks on, a block's number has more bits of the digest.
func TestReadersTakeManyBlocks(t *testing.T) {
	if runtime.GOOS != "linux" || strconv.IntSize < 64 {
		t.Skip("needs sparse files of 32 GiB")
	}
	var digests []bloom.Hash
	for i := range uint64(40) {
		digests = append(digests, bloom.SumUint64(i))
	}
	dir := t.TempDir()
	var asked []digestQuestion
	for _, blocks := range []uint64{1<<30 - 1, 1<<30 + 1} {
		small := framed(form.Blocked, []uint64{1, 4, 0}, make([]uint64, 4))
		param(0, blocks)(small)
		h, trailer := head(small), trailerOf(small)
		sealed := resealedHead(append(small[:h:h], small[trailer:]...), h)
		o := &onesReader{head: sealed[:h], trailer: sealed[h:]}
		o.size = int64(len(sealed)) + 32*int64(blocks)
		r := bloom.Must(blocked.NewReader(o, o.size))
		file := bloom.Must(os.Create(filepath.Join(dir, strconv.FormatUint(blocks, 10))))
		if err := file.Truncate(o.size); err != nil {
			t.Skipf("no sparse files: %v", err)
		}
		require.NoError(t, onlyError(file.WriteAt(o.head, 0)))
		require.NoError(t, onlyError(file.WriteAt(o.trailer, o.size-int64(len(o.trailer)))))
		q := digestQuestion{File: file.Name(), inNode: true}
		for i, digest := range digests {
			o.read = nil
			require.True(t, bloom.Must(r.ContainsHash(digest)))
			for _, place := range o.read {
				require.EqualValues(t, 32, place[1], "bytes of a block")
				if i%2 == 0 {
					require.NoError(t, onlyError(file.WriteAt(bytes.Repeat([]byte{0xff}, 32), place[0])))
				}
			}
			q.Digests = append(q.Digests, decimal(digest))
			q.Want += strconv.Itoa(1 - i%2)
		}
		require.NoError(t, file.Close())
		asked = append(asked, q)
	}
	askDigests(t, asked)
}

// resealedHead makes the first checksum of a file's head and trailer right.
func resealedHead(data []byte, h int) []byte { return sealedFrom(data, h, h) }
