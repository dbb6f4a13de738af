// Package orders runs goroutines in every order. It finds races that occur by chance in only one of
// millions of runs.
//
// The package stands in for sync and sync/atomic: it has the names that the library uses from them.
// The cases in internal/orders/cases are built with an overlay that makes the library import this
// package instead; see internal/orders/overlay. The goroutines of a case are called threads. Only
// one runs at a time. Each operation on a lock or an atomic is a point: another thread may continue
// there. If it does although the running thread could have continued, that is a preemption.
// [Explore] runs a case once for each sequence of choices with at most a given number of
// preemptions. Most bugs need one or two.
//
// After each order, the case checks a promise. If the check fails, [Run] repeats the order, and
// prints the steps of each thread with file and line. A case must be deterministic: it must not
// iterate over maps, use random numbers, or depend on the time of day. Only the order of its
// threads may change from run to run.
//
// # Limitations
//
// Package orders does not explore:
//
//   - Assembly. The cases are built with the purego tag; other tests compare assembly with Go.
//   - Plain loads and stores. The race detector does not find their races in a case either, because
//     each switch of threads synchronizes memory.
//   - Orders that are weaker than sequential consistency, which Go's atomics guarantee.
//   - More than two or three threads or preemptions, and sizes beyond a few words.
//   - Real timers, files and sockets, and random choices: map iteration, a select with two ready
//     cases, sync.Pool.
//   - Threads that never end. An order is stopped after a fixed number of steps.
package orders
