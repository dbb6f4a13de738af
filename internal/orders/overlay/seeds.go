package main

// seeds lists bugs that show only in some orders. They test the cases, which must find each bug
// with at most two preemptions.
var seeds = []seed{
	{"window-two-facts", "WindowAdders", []change{
		replaced("window.state.addAt", "accepts", 0, "s.ring.accepts(s.ring.planes(), now)"),
	}},
	{"window-old-reading", "WindowLeap", []change{
		replaced("window.ring.age", "exact", 2, "now"),
	}},
	{"window-not-shut", "WindowLeap", []change{
		replaced("window.ring.age", "expires.Store", 0, ""),
	}},
	{"window-reset-lock", "WindowReset", []change{unlocked("window.ring.reset")}},
	{"window-begin-coarse", "WindowCoarse", []change{
		condition("window.ring.begin", "current", 0, "!r.current(now)"),
	}},
	{"window-late", "WindowCoarse", []change{
		value("window.ring.endLate", "endsByTime", "false && live.len() > 0"),
	}},
	{"window-save-coarse", "WindowSaveCoarse", []change{
		replaced("window.state.params", "exact", 0, ""),
	}},
	{"window-first-time", "WindowLoaded", []change{
		condition("window.ring.notice", "reopened", 0, "r.undated == 0"),
	}},
	{"window-page-lock", "WindowOneKey", []change{unlocked("window.state.addAt")}},
	{"window-clean-first", "WindowStale", []change{
		before("window.state.clear", "bitwords.Store", 0, "p.clean.Store(free)"),
	}},
	{"window-form-lock", "WindowMarshal", []change{unlocked("window.state.params")}},
	{"window-do-lock", "WindowDo", []change{unlocked("window.Filter.claim")}},
	{"cuckoo-moves-after", "CuckooMoves", []change{
		replaced("cuckoo.table.put", "bump", 0, "defer %s"),
	}},
	{"cuckoo-one-bit", "CuckooMoves", []change{
		replaced("cuckoo.table.containsAt", "moves.Load", 1, "%s & 1"),
		replaced("cuckoo.table.containsAt", "moves.Load", 2, "%s & 1"),
	}},
	{"cuckoo-batch-one-look", "CuckooMoves/cuckoo/batch", []change{
		replaced("cuckoo.table.containsTouched", "containsAt", 0,
			"(t.holds(places[i]) || t.listed(h, places[i].tag))"),
	}},
	{"cuckoo-list", "CuckooList", []change{replaced("cuckoo.table.delist", "bump", 0, "")}},
	{"cuckoo-list-after", "CuckooList", []change{
		replaced("cuckoo.table.delist", "bump", 0, "defer %s"),
	}},
	{"cuckoo-list-mark", "CuckooList", []change{
		before("cuckoo.table.mark", "store", 0, "t.store(&t.list[0], 0)"),
	}},
	{"counting-store", "Counting", []change{
		replaced("counting.counters.change", "CompareAndSwapUint64", 0,
			"atomic.CompareAndSwapUint64(&c.words[word], atomic.LoadUint64(&c.words[word]), "+
				"w+uint64(delta)<<shift)"),
	}},
	{"counting-second-look", "Counting", []change{
		condition("counting.Filter.RemoveHash", "ContainsHash", 2, "false"),
	}},
	{"growing-second-look", "Growing", []change{
		condition("growing.shard.addHash", "contains", 2, "false"),
	}},
	{"growing-batch-second-look", "Growing/growing/AddBatch", []change{
		condition("growing.batch.addShard", "layers.Load", 2,
			"func() bool { list = s.layers.Load(); newest = (*list)[len(*list)-1:]; return false }()"),
	}},
	{"growing-add-lock", "Growing", []change{unlocked("growing.shard.addHash")}},
	{"bank-number-first", "Bank", []change{
		before("bank.Bank.Append", "grow", 0,
			"k, _ := s.current(); s.n.Store(int64(k + 1)); s.n.Store(int64(k))"),
	}},
	{"bank-filter-first", "Bank", []change{
		after("bank.Bank.AppendFilter", "grow", 0, "s.n.Store(int64(n + 1))"),
	}},
	{"bloom-add", "TestSync$", []change{
		replaced("bloom.bitset.setAtomic", "OrUint64", 0,
			"atomic.StoreUint64(&b.words[index>>6], atomic.LoadUint64(&b.words[index>>6])|1<<(index&63))"),
	}},
	{"bloom-any-change", "OneIsNew", []change{
		replaced("bloom.bitset.setBits", "setFinal", 0, "%s || true"),
	}},
	{"bloom-groups", "OneIsNew", []change{
		copied("bloom.SyncFilter.AddHash", `
			isNew := false
			for b, x, k := s.bits, h.h1, s.k; k > 0; k -= 8 {
				var clear []uint64
				for range min(k, 8) {
					if bit, index := b.getAtomic(x); bit == 0 {
						clear = append(clear, index)
					}
					x += h.h2
				}
				if len(clear) > 0 {
					isNew = b.setBits(clear, 1<<len(clear)-1)
				}
			}
			return isNew`),
	}},
	{"bloom-equal-bit", "OneIsNew", []change{
		condition("bloom.bitset.setBits", "setAtomic", 0, "true"),
	}},
	{"bloom-many-any-change", "OneIsNew", []change{
		replaced("bloom.SyncFilter.addMany", "setFinal", 0, "%s || true"),
	}},
	{"bloom-many-equal-bit", "OneIsNew", []change{
		condition("bloom.SyncFilter.addMany", "setAtomic", 0, "bit == 0"),
	}},
	{"bloom-batch-order", "OneIsNew", []change{
		replaced("bloom.SyncFilter.AddBatch", "AddHash", 0,
			"s.AddHash(NewHash(hs[i].h1+uint64(s.k-1)*hs[i].h2, -hs[i].h2))"),
	}},
	{"blocked-any-change", "OneIsNew", []change{
		replaced("internal/splitblock.Blocks.addBesideWriters", "OrUint64", 2, "%s & 0"),
	}},
	{"blocked-one-block", "OneIsNew", []change{
		condition("internal/splitblock.Blocks.addBesideWriters", "OrUint64", 1,
			"set = missing[i/each][i%each]; set != 0"),
	}},
	{"flower-any-slot", "Flower", []change{
		copied("flower.Filter.AddHash", `
			isNew := !f.ContainsHash(h)
			x, step := h.Words()
			for way := range f.ways {
				word, shift, fingerprint := f.slot(way, x)
				x = nextX(x, step)
				old := uint64(0)
				for !atomic.CompareAndSwapUint64(word, old, old&^(f.mask<<shift)|fingerprint<<shift) {
					old = atomic.LoadUint64(word)
				}
			}
			return isNew`),
	}},
	{"bloom-patch-lock", "SyncPatch", []change{unlocked("bloom.SyncFilter.Patch")}},
	{"merge", "Sync$", []change{
		replaced("internal/bitwords.OrAtomic", "OrUint64", 0,
			"atomic.StoreUint64(&words[i], atomic.LoadUint64(&words[i])|w)"),
	}},
	{"blocked-add", "BlockedSync", []change{
		replaced("internal/splitblock.Blocks.addBesideWriters", "OrUint64", 1,
			"atomic.StoreUint64(word, atomic.LoadUint64(word)|set)"),
	}},
	{"info-lock", "SyncInfo", []change{
		unlocked("internal/form.Kept.change"),
		after("internal/form.Kept.change", "newInfo", 0, "atomic.LoadUint64(new(uint64))"),
	}},
	{"guard-begun", "TestGuard$", []change{
		before("guard.Guard.InsertBatch", "mu.Unlock", 0, "delete(g.begun, ins)"),
	}},
	{"guard-busy", "TestGuard$", []change{
		replaced("guard.New", "make", 1, "make(chan struct{}, 2)"),
	}},
	{"guard-two-filters", "GuardBatch", []change{
		replaced("guard.Guard.ContainsBatch", "ContainsBatch", 0,
			"for i, h := range hs { found[i] = g.ContainsHash(h) }"),
	}},
	{"guard-lag", "GuardLag", []change{replaced("guard.Guard.forget", "now.Sub", 0, "2*%s")}},
	{"guard-overtaken", "GuardLookup", []change{
		value("guard.Guard.Lookup", "overtaken", "false && s.ended != ended"),
	}},
	{"guard-one-insert", "GuardLookup", []change{
		value("guard.Guard.Lookup", "overtaken", "s.inserting > 0 && s.ended != ended"),
	}},
	{"guard-older-memory", "GuardLookup", []change{
		before("guard.Guard.insertsBegin", "mu.Lock", 0, "gen := g.now.Load()"),
		replaced("guard.Guard.insertsBegin", "now.Load", 2, "gen"),
	}},
	{"guard-newer-memory", "GuardLookup", []change{
		before("guard.Guard.Lookup", "note", 0, "gen := g.now.Load(); d := gen.memory.denial(h, key)"),
	}},
	{"guard-late", "GuardLookup", []change{
		value("guard.Guard.Lookup", "late", "false && began.IsZero()"),
	}},
	{"guard-last-back", "GuardLookup", []change{
		before("guard.Guard.insertsEnd", "mu.Lock", 0, "now := time.Now()"),
		replaced("guard.Guard.insertsEnd", "time.Now", 2, "now"),
	}},
	{"guard-filter-first", "GuardLookup", []change{
		before("guard.Guard.publish", "now.Store", 0,
			"if old := g.now.Load(); old != nil { g.now.Store(&generation{built, old.memory, g.loaded}) }"),
	}},
	{"guard-counts", "GuardCounts", []change{
		before("guard.Guard.Counts", "hits.Load", 0, "c.Queries += s.queries.Load()"),
		replaced("guard.Guard.Counts", "queries.Load", 2, "0"),
	}},
	{"replica-version-first", "Replica", []change{
		before("replica.Replica.fetch", "filter.Patch", 0,
			"r.copy.Store(&state{cur.filter, cur.size, u.Version, u.after(cur)})"),
	}},
	{"publisher-back", "Publisher", []change{
		condition("internal/publish.body.piece", "backTo", 0, "false"),
	}},
	{"publisher-lock", "Publisher", []change{unlocked("replica.Publisher.publish")}},
}
