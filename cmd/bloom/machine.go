package main

import (
	"fmt"
	"math"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"
)

// machine returns the number of bytes of memory that the process can have: the machine's memory,
// the limit of the process's control groups, or the largest int, whichever is lowest.
var machine = sync.OnceValue(func() uint64 {
	total := uint64(math.MaxInt)
	for _, limit := range []func() (uint64, error){memlimit.FromSystem, memlimit.FromCgroup} {
		if n, err := limit(); err == nil {
			total = min(total, n)
		}
	}
	return total
})

// ownMemory is about the number of bytes of memory that a command needs in addition to its filter.
const ownMemory = 32 << 20

// fits returns an error, which begins with subject, if the machine has too little memory for this
// many bytes and ownMemory. Without this check, Go could end the program with stack traces, or the
// system could kill it.
func fits(subject string, bytes float64) error {
	if bytes+ownMemory <= float64(machine()) {
		return nil
	}
	needed := humanize.Bytes(uint64(min(bytes, 1<<63)))
	return memoryError{fmt.Errorf("%s takes %s of memory, but there are only %s, "+
		"of which bloom itself needs %s",
		subject, needed, humanize.Bytes(machine()), humanize.Bytes(ownMemory))}
}

type memoryError struct{ error }

func fitting(k kind, n uint64, p float64) (hashFilter, error) {
	if err := k.plan.fits(n, p); err != nil {
		return nil, err
	}
	return k.create(n, p)
}

// fits returns a bloom.ParamError if there is no filter for n lines, and another error if the
// filter needs more memory than the machine has.
func (plan planner) fits(n uint64, p float64) error {
	size, _, err := plan(max(n, 1), min(p, 0.5))
	if err != nil {
		return err
	}
	subject := fmt.Sprintf("a filter of %s at a rate of %v", counted(n, "line"), p)
	return fits(subject, float64(size))
}
