package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// screen is all that was written to a terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newTerminal(t *testing.T) (*os.File, *screen) {
	t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close(); terminal.Close() })
	s := new(screen)
	go io.Copy(s, master)
	return terminal, s
}

// TestProgress looks at the terminal while input is awaited and at the end, and holds
// that standard output has lines only.
func TestProgress(t *testing.T) {
	for _, test := range []struct {
		line string
		out  bool // standard output is the terminal too
		text string
		end  string
	}{
		{"dedupe -n 100", false, "\r3 lines, 2 written, ", "bloom: 4 lines, 3 written, in "},
		{"dedupe -n 100", true, "\r3 lines, 2 written, ", "bloom: 4 lines, 3 written, in "},
		{"build -o " + os.DevNull + "/x", false, "", "bloom: "},
		{"check list", false, "\r3 lines, 2 found, ", "bloom: 4 lines, 3 found, in "},
	} {
		t.Run(test.line, func(t *testing.T) {
			terminal, s := newTerminal(t)
			cmd := command(t, test.line)
			cmd.Dir = t.TempDir()
			good(t, "a\na\nc\n", "build -p 1e-9 -o", cmd.Dir+"/list")
			cmd.Stderr = terminal
			var out bytes.Buffer
			cmd.Stdout = &out
			if test.out {
				cmd.Stdout = terminal
			}
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			shows := func(text string) {
				t.Helper()
				becomes(t, func() bool { return strings.Contains(s.String(), text) })
			}
			io.WriteString(in, "a\nb\na\n")
			shows(test.text)
			io.WriteString(in, "c\n")
			if test.out {
				shows("\r\x1b[Kc\r\n") // the progress makes room
			}
			in.Close()
			cmd.Wait()
			shows(test.end)
			if !test.out {
				require.NotContains(t, out.String(), "\r")
			}
			if test.text != "" {
				require.Contains(t, s.String(), "lines/s")
			}
		})
	}
}
