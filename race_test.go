package bloom

import (
	"bytes"
	"encoding"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// decoded returns what encode writes, decoded into set.
func decoded[T interface {
	Set
	encoding.BinaryUnmarshaler
}](encode encoding.BinaryMarshaler, set T) Set {
	if err := set.UnmarshalBinary(Must(encode.MarshalBinary())); err != nil {
		panic(err)
	}
	return set
}

// streamed is decoded by way of WriteTo and ReadFrom.
func streamed[T interface {
	Set
	io.ReaderFrom
}](encode io.WriterTo, set T) Set {
	var out bytes.Buffer
	Must(encode.WriteTo(&out))
	Must(set.ReadFrom(&out))
	return set
}

// TestRaces has writers, readers, encoders, estimators and rotations work on
// one set at once, for go test -race to watch. Whatever they do, a key whose
// Add has returned is found.
func TestRaces(t *testing.T) {
	const writers, perWriter = 4, 5000
	for _, test := range []struct {
		name string
		// start returns a set, functions that copy it with every key that was
		// added before the call, and what else is called meanwhile.
		start func() (set Set, copies []func() Set, calls []func())
	}{
		{"SyncFilter", func() (Set, []func() Set, []func()) {
			s := Must(NewSync(writers*perWriter, 1e-4))
			other := Must(New(writers*perWriter, 1e-4))
			other.AddString("other")
			return s, []func() Set{
					func() Set { return s.Snapshot() },
					func() Set { return decoded(s, new(SyncFilter)) },
					func() Set { return streamed(s, new(Filter)) },
				}, []func(){
					func() { s.OnesCount(); s.FillRatio(); s.FPR(); s.ApproxCount() },
					func() { Must(0, s.Merge(other)) },
					func() { s.AddBatch(randomHashes(9, 100)) },
				}
		}},
		{"Window", func() (Set, []func() Set, []func()) {
			const span = 63 * time.Hour
			var clock fakeClock
			config := WindowConfig{Capacity: writers * perWriter, FPR: 1e-4, Span: span, Generations: 63, Now: clock.Now}
			w := Must(NewWindow(config))
			return w, []func() Set{
					func() Set { return decoded(w, Must(NewWindow(config))) },
					func() Set { return streamed(w, Must(NewWindow(config))) },
				}, []func(){
					func() { w.FPR() },
					func() { // through the generations, but forgetting none
						if clock.ns.Load() < int64(span-time.Hour) {
							clock.Advance(time.Hour)
						}
						time.Sleep(time.Millisecond)
					},
				}
		}},
		{"Flower", func() (Set, []func() Set, []func()) {
			// A key loses all its slots to others with a probability of 5e-10.
			f := Must(NewFlower(FlowerConfig{Slots: 1 << 20, Ways: 16, Bits: 16}))
			return f, []func() Set{
				func() Set { return decoded(f, new(Flower)) },
				func() Set { return streamed(f, new(Flower)) },
			}, nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, copies, calls := test.start()
			keys := randomHashes(7, writers*perWriter)
			var added [writers]atomic.Int64 // of each writer's keys
			found := func(set Set, n [writers]int64) bool {
				for w, n := range n {
					for _, h := range keys[w*perWriter:][:n] {
						if !set.ContainsHash(h) {
							return false
						}
					}
				}
				return true
			}
			soFar := func() (n [writers]int64) {
				for w := range added {
					n[w] = added[w].Load()
				}
				return n
			}

			var writing, meanwhile sync.WaitGroup
			var done atomic.Bool
			for w := range writers {
				writing.Add(1)
				go func() {
					defer writing.Done()
					for _, h := range keys[w*perWriter:][:perWriter] {
						set.AddHash(h)
						added[w].Add(1)
					}
				}()
			}
			loop := func(do func()) {
				meanwhile.Add(1)
				go func() {
					defer meanwhile.Done()
					for {
						last := done.Load()
						do()
						if last {
							return
						}
					}
				}()
			}
			for range 2 {
				loop(func() {
					if !found(set, soFar()) {
						t.Error("a key is missing")
					}
				})
			}
			for _, copied := range copies {
				loop(func() {
					n := soFar()
					if !found(copied(), n) {
						t.Error("a key is missing from a copy")
					}
				})
			}
			for _, call := range calls {
				loop(call)
			}
			writing.Wait()
			done.Store(true)
			meanwhile.Wait()

			all := soFar()
			require.True(t, found(set, all), "a key is missing at the end")
			for _, copied := range copies {
				require.True(t, found(copied(), all), "a key is missing from a copy at the end")
			}
		})
	}
}

// TestRacesOfReaders reads from many goroutines what promises no more than that.
func TestRacesOfReaders(t *testing.T) {
	keys := randomHashes(7, 2000)
	f := Must(New(uint64(len(keys)), 0.01))
	b := Must(NewBlocked(uint64(len(keys)), 0.01))
	f.AddBatch(keys)
	b.AddBatch(keys)
	v := Must(NewView(Must(f.MarshalBinary())))
	var reading sync.WaitGroup
	for range 4 {
		reading.Add(1)
		go func() {
			defer reading.Done()
			for _, h := range keys {
				if !f.ContainsHash(h) || !b.ContainsHash(h) || !v.ContainsHash(h) {
					t.Error("a key is missing")
				}
			}
			for _, set := range []Set{f.Clone(), b.Clone(), decoded(f, new(Filter)), decoded(b, new(BlockedFilter))} {
				if !set.ContainsHash(keys[0]) {
					t.Error("a key is missing from a copy")
				}
			}
			f.ContainsBatch(nil, keys)
			b.ContainsBatch(nil, keys)
			_, _, _ = f.FPR(), f.ApproxCount(), f.Equal(f.Clone())
			_, _, _ = b.FPR(), b.ApproxCount(), b.Equal(b.Clone())
		}()
	}
	reading.Wait()
}
