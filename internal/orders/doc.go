// Package orders runs goroutines in every order. It finds races of a few goroutines that chance
// would find in one of millions of rounds.
//
// The package has the names of sync and sync/atomic that the library uses. The cases in
// internal/orders/cases are built with an overlay, in which the library imports this package
// instead; see internal/orders/overlay. The goroutines of a case are threads, of which one runs at
// a time. Each call of a lock or an atomic is a point, at which another thread may continue. If the
// running thread could also have continued, that is a preemption. [Explore] runs a case once for
// each sequence of choices with at most a given number of preemptions. Most bugs need one or two.
//
// A case checks a promise after each order. If it fails, [Run] repeats that order and prints which
// thread took which step, with file and line. A case is deterministic: it does not iterate over
// maps, use random numbers, or depend on the time of day. Only the order of its threads changes
// from run to run.
//
// # What it does not see
//
//   - Assembly. The cases are built with the tag purego; other tests compare assembly with Go.
//   - Plain loads and stores, which are points only if the overlay makes them so. The race
//     detector cannot find their races in a case, because each switch of threads orders memory.
//   - Orders that are weaker than sequential consistency, which Go's atomics promise.
//   - More than two or three threads or preemptions, and sizes beyond a few words.
//   - Real timers, files and sockets, and random choices: map iteration, select with two ready
//     arms, sync.Pool.
//   - A thread that never ends, except by its number of steps.
package orders
