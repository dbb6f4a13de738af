package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestRun(t *testing.T) {
	full, failed := errors.New("no space"), errors.New("failed")
	for _, test := range []struct {
		room      int64
		err, want error
	}{{100, nil, nil}, {3, nil, full}, {3, failed, failed}, {100, flag.ErrHelp, nil}, {3, flag.ErrHelp, full}} {
		err := Run(func(_ []string, stdout, _ io.Writer) error {
			for range 3 {
				fmt.Fprint(stdout, "ab")
			}
			return test.err
		}, nil, &testkit.LimitedWriter{N: test.room, Err: full}, nil)
		require.ErrorIs(t, err, test.want)
	}
}

func TestCount(t *testing.T) {
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	n := Count(flags, "n", 7, "things")
	require.EqualValues(t, 7, *n)
	for arg, want := range map[string]uint64{"0": 0, "12": 12, "1e6": 1e6, "2.5e3": 2500, "1_000": 1000, "18446744073709551615": 1<<64 - 1} {
		require.NoError(t, Parse(flags, "", []string{"-n", arg}, nil), arg)
		require.Equal(t, want, *n, arg)
	}
	for _, arg := range []string{"", "-4", "-1e6", "1.5", "1e-3", "1e20", "Inf", "NaN", "many"} {
		err := Parse(flags, "", []string{"-n", arg}, nil)
		require.ErrorContains(t, err, "not a whole number", arg)
	}
	var out bytes.Buffer
	require.ErrorIs(t, Parse(flags, "[-n things]", []string{"-h"}, &out), flag.ErrHelp)
	require.Contains(t, out.String(), "usage: test [-n things]\n  -n ")
}
