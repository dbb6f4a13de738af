package files_test

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestIdentity: a file with other bytes has another identity, however it was replaced, and even if
// size, time and the tick of the clock are the same. One with the same bytes has the same.
func TestIdentity(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("the system has no time of change")
	}
	for _, way := range filtertest.Replacements(t) {
		for _, wait := range []time.Duration{0, 3200 * time.Millisecond} {
			if wait > 0 && testing.Short() {
				continue
			}
			t.Run(way.Name+" after "+wait.String(), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "f")
				way.Begin(t, path, []byte("first"))
				time.Sleep(wait) // the first identity is then settled
				id, err := Identify(path, Identity{})
				require.NoError(t, err)
				for i, data := range []string{"other", "third", "longer", "longer", "third", "short"} {
					way.Replace(t, path, []byte(data))
					next, err := Identify(path, id)
					require.NoError(t, err)
					require.Equal(t, data == "longer" && i == 3, next.Same(id), data)
					require.EqualValues(t, len(data), next.Size())
					id = next
				}
			})
		}
	}
}

// TestSettledIdentity: a file that was replaced has another identity also if the first one was
// settled, so that the file is read again only if its facts have changed.
func TestSettledIdentity(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "js" {
		t.Skip("the system has no time of change")
	}
	for _, way := range filtertest.Replacements(t) {
		t.Run(way.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			way.Begin(t, path, []byte("first"))
			id, err := Identify(path, Identity{})
			require.NoError(t, err)
			id = id.Aged(time.Minute)
			require.True(t, id.Settled())
			afterTick(t)
			way.Replace(t, path, []byte("other"))
			next, err := Identify(path, id)
			require.NoError(t, err)
			require.False(t, next.Same(id))
			require.False(t, next.Settled())
		})
	}
}

// TestFacts: each of the facts that a system reports can tell two files apart. Some systems report
// no time of change.
func TestFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	stat := func(path, data string, modified time.Time) fs.FileInfo {
		require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		require.NoError(t, os.Chtimes(path, modified, modified))
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info
	}
	modified := time.Unix(1e9, 0)
	first := stat(path, "first", modified)
	for _, changed := range []time.Time{{}, time.Unix(1e9, 5)} {
		for name, test := range map[string]struct {
			info fs.FileInfo
			same bool
		}{
			"other bytes":  {stat(path, "other", modified), true},
			"another file": {stat(path+".2", "first", modified), false},
			"longer":       {stat(path, "longer", modified), false},
			"modified":     {stat(path, "first", modified.Add(time.Second)), false},
		} {
			require.Equal(t, test.same, SameFacts(first, test.info, changed, changed), name)
		}
		require.False(t, SameFacts(first, first, changed, changed.Add(1)))
	}
}

// afterTick returns once files that change get another time than files that changed before.
func afterTick(t *testing.T) {
	path := filepath.Join(t.TempDir(), "probe")
	made := func() time.Time {
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Remove(path))
		return info.ModTime()
	}
	first := made()
	filtertest.Becomes(t, "time goes on", func() bool { return made().After(first) })
}

// TestSettledByTheTick: on each file system, also on a server with another clock, a file is not
// settled as long as another write could leave it the time that it has, and it is settled soon after.
func TestSettledByTheTick(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 8))
	for name, tick := range map[string]time.Duration{
		"nanoseconds": 1,
		"NTFS":        100,
		"kernels":     10 * time.Millisecond,
		"ext3, HFS+":  time.Second,
		"FAT":         2 * time.Second,
	} {
		for _, toldOfChange := range []bool{false, true} {
			for range 1000 {
				written := time.Unix(1e9, rng.Int64N(int64(10*time.Second)))
				stamp := time.Unix(0, written.UnixNano()/int64(tick)*int64(tick))
				read := written.Add(time.Duration(rng.Int64N(2 * int64(tick))))
				info, err := fstest.MapFS{"f": {ModTime: stamp}}.Stat("f")
				require.NoError(t, err)
				var changed time.Time
				if toldOfChange {
					changed = stamp
				}
				for _, clock := range []time.Duration{-time.Hour, 0, time.Second, 4 * time.Minute} {
					here := func(there time.Time) time.Time { return there.Add(clock) }
					settled := func(read time.Time) bool {
						return SettledAt(info, changed, here(written), here(read))
					}
					if read.Before(stamp.Add(tick)) {
						require.False(t, settled(read), "%s: %v, read at %v", name, stamp, read)
					}
					require.True(t, settled(written.Add(3*time.Second+1)), name)
				}
				long := stamp.Add(time.Hour)
				require.True(t, SettledAt(info, changed, long, long), name)
			}
		}
	}
}

// TestIdentityReadsOnce: a settled file is not read again, and one whose permissions, names or
// times alone changed has the same bytes.
func TestIdentityReadsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("first"), 0o644))
	reads := 0
	BeforeOpen(t, func() { reads++ })
	id, err := Identify(path, Identity{})
	require.NoError(t, err)
	// Another write in the same tick may leave the facts as they are.
	require.False(t, id.Settled())
	filtertest.Becomes(t, "a file that nobody changes settles", func() bool {
		if id.Settled() {
			return true
		}
		reads = 0
		id, err = Identify(path, id)
		require.NoError(t, err)
		require.Equal(t, 1, reads)
		time.Sleep(50 * time.Millisecond)
		return id.Settled()
	})
	reads = 0
	again, err := Identify(path, id)
	require.NoError(t, err)
	require.Equal(t, id, again)
	require.Zero(t, reads, "nothing changed")
	for name, change := range map[string]func() error{
		"permissions": func() error { return os.Chmod(path, 0o600) },
		"a name more": func() error { return os.Link(path, path+".link") },
		"times":       func() error { return os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)) },
		"a copy": func() error {
			err := os.WriteFile(path+".new", []byte("first"), 0o644)
			if err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		require.NoError(t, change(), name)
		again, err := Identify(path, id)
		require.NoError(t, err, name)
		require.True(t, again.Same(id), name)
		id = again
	}
	require.NoError(t, os.Remove(path))
	_, err = Identify(path, id.Aged(time.Minute))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// TestOpenRegular: the size is of the file that was opened, though another one was at the path
// when the path was looked at.
func TestOpenRegular(t *testing.T) {
	for _, way := range filtertest.Replacements(t) {
		t.Run(way.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			way.Begin(t, path, []byte("first"))
			BeforeOpen(t, func() { way.Replace(t, path, []byte("second file")) })
			file, info, err := OpenRegular(path)
			require.NoError(t, err)
			defer file.Close()
			data, err := io.ReadAll(file)
			require.NoError(t, err)
			require.Equal(t, "second file", string(data))
			require.EqualValues(t, len(data), info.Size())
		})
	}
	_, _, err := OpenRegular(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	BeforeOpen(t, func() { require.NoError(t, os.Remove(path)) })
	_, _, err = OpenRegular(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	BeforeOpen(t, func() {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.Mkdir(path, 0o700))
	})
	_, _, err = OpenRegular(path)
	require.ErrorContains(t, err, "not a regular file")
}
