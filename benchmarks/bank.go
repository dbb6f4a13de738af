package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
)

// Members have 512 bits, and k hashes: a rate of 1 % with 50 keys.
const (
	bankBits   = 512
	bankHashes = 7
	bankBlocks = 1000
	bankBudget = 150 * time.Millisecond
	// singleMembers is the largest number of members for which there are filters of
	// their own, and mapKeys the largest number of keys in a map.
	singleMembers = 1_000_000
	mapKeys       = 5_000_000
)

// banked is what answers which members may hold all of some keys.
type banked struct {
	name   string
	colour string
	make   func(members, keys int) func(dst []int, hs []bloom.Hash) []int
	most   func(keys int) int // members
}

// memberKey is key j of member i.
func memberKey(i, j, keys int) bloom.Hash { return bloom.SumUint64(uint64(i*keys + j)) }

// singles asks one filter after the other.
func singles[F bloom.Set](new func() F) func(members, keys int) func([]int, []bloom.Hash) []int {
	return func(members, keys int) func([]int, []bloom.Hash) []int {
		filters := make([]F, members)
		for i := range filters {
			filters[i] = new()
			for j := range keys {
				filters[i].AddHash(memberKey(i, j, keys))
			}
		}
		return func(dst []int, hs []bloom.Hash) []int {
		members:
			for i, f := range filters {
				for _, h := range hs {
					if !f.ContainsHash(h) {
						continue members
					}
				}
				dst = append(dst, i)
			}
			return dst
		}
	}
}

func fullBank(members, keys int) *bank.Bank {
	b := bloom.Must(bank.NewSize(bankBits, bankHashes))
	for i := range members {
		b.Append()
		for j := range keys {
			b.AddHash(i, memberKey(i, j, keys))
		}
	}
	return b
}

func bankedOnes() []banked {
	single := func(int) int { return singleMembers }
	return []banked{
		{"bank.Bank", blue, func(members, keys int) func([]int, []bloom.Hash) []int {
			return fullBank(members, keys).WhichAll
		}, func(keys int) int { return 100_000_000 / keys }},
		{"bloom.Filter, a loop", red, singles(func() *bloom.Filter { return bloom.Must(bloom.NewSize(bankBits, bankHashes)) }), single},
		{"blocked.Filter, a loop", orange, singles(func() *blocked.Filter { return bloom.Must(blocked.NewSize(bankBits, 1)) }), single},
		{"a map of keys to members", green, func(members, keys int) func([]int, []bloom.Hash) []int {
			m := map[bloom.Hash][]int32{}
			for i := range members {
				for j := range keys {
					h := memberKey(i, j, keys)
					m[h] = append(m[h], int32(i))
				}
			}
			return func(dst []int, hs []bloom.Hash) []int {
				for i, h := range hs {
					if i == 0 {
						for _, member := range m[h] {
							dst = append(dst, int(member))
						}
						continue
					}
					dst = slices.DeleteFunc(dst, func(member int) bool { return !slices.Contains(m[h], int32(member)) })
				}
				return dst
			}
		}, func(keys int) int { return mapKeys / keys }},
	}
}

// bankRow is what is measured of one of them.
type bankRow struct {
	members, keys   int
	build           float64 // ns a key
	bytes           float64 // of heap, a member
	absent, present float64 // ns a look-up of one key
	all             float64 // ns a look-up of three keys of one member
}

// measureBanked measures one of them, of so many members. Times are those of the processor: medians over
// blocks of look-ups.
func measureBanked(a banked, members, keys int) (r bankRow) {
	runtime.LockOSThread() // cpu is the thread's
	defer runtime.UnlockOSThread()
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpu()
	which := a.make(members, keys)
	r = bankRow{members: members, keys: keys, build: float64(cpu()-start) / float64(members*keys)}
	runtime.GC()
	runtime.ReadMemStats(&after)
	r.bytes = float64(after.HeapAlloc-before.HeapAlloc) / float64(members)

	// A block is long enough to be timed, and short enough for there to be many.
	var dst []int
	found, looks := 0, 0
	block := max(1, 30_000/members)
	ask := func(hs func(i int) []bloom.Hash) float64 {
		found, looks = 0, 0
		var blocks []float64
		for began := cpu(); len(blocks) < bankBlocks && (len(blocks) < 5 || cpu()-began < bankBudget); {
			start := cpu()
			for range block {
				dst = which(dst[:0], hs(looks))
				found += len(dst)
				looks++
			}
			blocks = append(blocks, float64(cpu()-start)/float64(block))
		}
		return quantile(blocks, 0.5)
	}
	const step = 7919
	var hs [3]bloom.Hash
	r.absent = ask(func(i int) []bloom.Hash { hs[0] = bloom.SumUint64(1<<40 + uint64(i)); return hs[:1] })
	r.present = ask(func(i int) []bloom.Hash { hs[0] = memberKey(i*step%members, 0, keys); return hs[:1] })
	r.all = ask(func(i int) []bloom.Hash {
		for j := range hs {
			hs[j] = memberKey(i*step%members, j, keys)
		}
		return hs[:]
	})
	if found < looks {
		panic(a.name + " did not find keys that were added")
	}
	runtime.KeepAlive(which)
	return r
}

// measureBank prints the tables of BANK.md, for up to so many members, and draws a picture.
// With a folder it also asks a file there that is not in memory.
func measureBank(most int, docs, folder string) error {
	debug.SetGCPercent(100)
	picture := chart{
		title: "A look-up of an absent key, by the number of members (512 bits, 3 keys each)",
		x:     axis{title: "members", from: 1e3, to: float64(most), log: true, label: members},
		y: axis{title: "microseconds", from: 0.01, to: 1e5, log: true,
			ticks: []float64{0.01, 0.1, 1, 10, 100, 1e3, 1e4, 1e5}, label: general},
	}
	for n := 1000; n <= most; n *= 10 {
		picture.x.ticks = append(picture.x.ticks, float64(n))
	}
	fmt.Printf("- Machine: %s%s\n- %s\n", machine(), load(), runtime.Version())
	for _, keys := range []int{3, 50} {
		fmt.Printf("\n%d keys a member:\n\n| members | | absent key, µs | present key, µs | three keys, µs | build, ns a key | bytes a member |\n|---|---|---|---|---|---|---|\n", keys)
		curves := map[string]*curve{}
		for n := 1000; n <= most; n *= 10 {
			for _, a := range bankedOnes() {
				if n > a.most(keys) {
					continue
				}
				progress("%s, %d members of %d keys", a.name, n, keys)
				r := measureBanked(a, n, keys)
				fmt.Printf("| %s | %s | %s | %s | %s | %.0f | %.0f |\n", members(float64(n)), a.name, micro(r.absent), micro(r.present), micro(r.all), r.build, r.bytes)
				if curves[a.name] == nil {
					curves[a.name] = &curve{name: a.name, colour: a.colour}
				}
				c := curves[a.name]
				c.xs, c.ys = append(c.xs, float64(n)), append(c.ys, r.absent/1e3)
			}
		}
		if keys == 3 {
			for _, a := range bankedOnes() {
				if c := curves[a.name]; c != nil {
					picture.curves = append(picture.curves, *c)
				}
			}
		}
	}
	if folder != "" {
		if err := measureCold(filepath.Join(folder, "cold.bank")); err != nil {
			return err
		}
	}
	return picture.draw().write(filepath.Join(docs, "bank.svg"))
}

// members writes 1000000 as 1,000,000.
func members(n float64) string {
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// micro writes nanoseconds as microseconds.
func micro(ns float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(ns/1e3)))), ns/1e3), ".")
}

// measureCold asks a file of 7.5 million members that is not in memory.
func measureCold(path string) error {
	const members, keys, looks = 7_500_000, 3, 200
	defer os.Remove(path)
	b := fullBank(members, keys)
	if err := b.SaveFile(path); err != nil {
		return err
	}
	size := b.SizeBytes()
	b = nil
	debug.FreeOSMemory()
	if err := forget(path); err != nil {
		return err
	}
	var dst []int
	stored, err := os.Open(path)
	if err != nil {
		return err
	}
	defer stored.Close()
	r, err := bank.NewReader(stored, size)
	if err != nil {
		return err
	}
	var read []float64
	for i := range looks {
		start := time.Now()
		if dst, err = r.Which(dst[:0], bloom.SumUint64(1<<40+uint64(i))); err != nil {
			return err
		}
		read = append(read, float64(time.Since(start)))
	}
	if err := forget(path); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f, err := bank.OpenFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	opened := time.Since(start)
	runtime.ReadMemStats(&after)
	var times [3][]float64
	for pass := range times { // the second one finds in memory what the first one read
		if pass == 2 {
			start := time.Now()
			if err := f.Verify(); err != nil {
				return err
			}
			progress("Verify took %v", time.Since(start))
		}
		for i := range looks {
			start := time.Now()
			dst = f.Which(dst[:0], bloom.SumUint64(1<<40+uint64(i)))
			times[pass] = append(times[pass], float64(time.Since(start)))
		}
	}
	fmt.Printf("\nA file of %d members, %d bytes, %.4f of the members' bits: opened in %v with %d bytes of heap. %d look-ups, medians: %s µs cold, the first %s µs; %s µs again; %s µs after Verify. A Reader of the file: %s µs cold.\n",
		members, size, float64(size)/(members*bankBits/8), opened, after.TotalAlloc-before.TotalAlloc, looks,
		micro(quantile(times[0], 0.5)), micro(times[0][0]), micro(quantile(times[1], 0.5)), micro(quantile(times[2], 0.5)), micro(quantile(read, 0.5)))
	return nil
}
