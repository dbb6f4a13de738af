package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screen is the far side of a terminal: all that was written to it.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// newTerminal returns a terminal and what it shows.
func newTerminal(t *testing.T) (*os.File, *screen) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	var unlock, number int32
	ioctl(t, master, syscall.TIOCSPTLCK, &unlock)
	ioctl(t, master, syscall.TIOCGPTN, &number)
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { terminal.Close() })
	s := new(screen)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			s.mu.Lock()
			s.text.Write(buf[:n])
			s.mu.Unlock()
		}
	}()
	return terminal, s
}

func ioctl(t *testing.T, f *os.File, request uintptr, value *int32) {
	t.Helper()
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(value)))
	if errno != 0 {
		t.Skip(errno)
	}
}

func TestSample(t *testing.T) {
	terminal, s := newTerminal(t)
	var stdout bytes.Buffer
	cmd := command(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, &stdout, terminal
	require.NoError(t, cmd.Run())
	assert.Equal(t, distinct(sample), stdout.String())
	assert.NotEqual(t, sample, stdout.String())
	require.Eventually(t, func() bool { return strings.Contains(s.String(), "filter of") }, 10*time.Second, time.Millisecond)
	assert.Contains(t, s.String(), "small sample")
	assert.Contains(t, s.String(), fmt.Sprintf("%d lines read, %d kept", strings.Count(sample, "\n"), strings.Count(stdout.String(), "\n")))
}

func TestProgress(t *testing.T) {
	terminal, s := newTerminal(t)
	for _, mixed := range []bool{false, true} {
		cmd := command(t)
		cmd.Stderr = terminal
		if mixed {
			cmd.Stdout = terminal
		}
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		seen := len(s.String())
		shows := func(text string) bool {
			return assert.Eventually(t, func() bool { return strings.Contains(s.String()[seen:], text) }, 10*time.Second, time.Millisecond)
		}
		_, err = io.WriteString(in, "a\nb\na\n")
		require.NoError(t, err)
		shows("\r3 lines read, 2 kept, ") // although it waits for input
		seen = len(s.String())
		_, err = io.WriteString(in, "c\n")
		require.NoError(t, err)
		end := "dedupe: 4 lines read, 3 kept, 1 dropped"
		if mixed {
			shows(" \rc\r\n") // the progress line makes room
		} else {
			end = " \r" + end
		}
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
		shows(end)
	}
}
