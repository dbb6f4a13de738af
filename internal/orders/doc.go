// Package orders runs goroutines in every order. It finds what a race of a few goroutines can do,
// where chance would need millions of rounds.
//
// The package has the names of sync and sync/atomic that the library uses. The cases in
// internal/orders/cases are built with an overlay, in which the library imports this package
// instead. Nothing of the library itself changes; see internal/orders/overlay. The goroutines of a
// case are threads: one runs at a time. Each call of a lock or an atomic is a point, at which
// another thread may go on. If a thread goes on while the running one could have, that is a
// preemption. [Explore] runs a case once for each sequence of choices with at most a given number
// of preemptions, each time from the beginning. Most bugs need one or two.
//
// A case checks a promise after each order. If it fails, [Run] runs that order again and prints it:
// which thread took which step, with file and line. A case is deterministic: it does not iterate
// over maps, use random numbers, or depend on the time of day. The order of its threads is the only
// thing that changes from run to run.
//
// # What it does not see
//
//   - Assembly. The cases are built with the tag purego; other tests hold assembly to plain code.
//   - Plain loads and stores, which are no points, unless the overlay makes them some. They are the
//     race detector's work, which in turn sees no race in a case: each switch orders memory.
//   - Orders that are weaker than sequential consistency. Go's atomics promise that consistency.
//   - More than two or three threads or preemptions, and sizes beyond a few words.
//   - Real timers, files and sockets, and random choices: map iteration, select with two ready arms,
//     sync.Pool.
//   - A thread that never ends, if not by its number of steps.
package orders
