package main

// seeds are bugs that only some orders show. Each leaves out a lock, a second look, or the order of
// two stores. They test the cases: each is found with two preemptions or fewer.
var seeds = []seed{
	{"window-two-facts", "WindowAdders", []substitution{
		{"window/window.go", "!s.ring.takes(live, now) || p", "!s.ring.takes(s.ring.planes(), now) || p"},
	}},
	{"window-old-reading", "WindowLeap", []substitution{
		{"window/ring.go", "\tr.expires.Store(shut)\n\tnow = r.exact()\n", "\tr.expires.Store(shut)\n\n"},
	}},
	{"window-not-shut", "WindowLeap", []substitution{
		{"window/ring.go", "\tr.expires.Store(shut)\n", "\t_ = shut\n"},
	}},
	{"window-reset-lock", "WindowReset", []substitution{
		{"window/ring.go", "\tr.Lock()\n\tdefer r.Unlock()\n\tr.full, r.lost", "\n\n\tr.full, r.lost"},
	}},
	{"window-begin-coarse", "WindowCoarse", []substitution{
		{"window/ring.go", "if r.wake != nil || !r.current(now) {", "if !r.current(now) {"},
	}},
	{"window-late", "WindowCoarse", []substitution{
		{"window/ring.go", "if endsByTime && used != stale", "if endsByTime && used == never && used != stale"},
	}},
	{"window-page-lock", "WindowOneKey", []substitution{
		{"window/window.go", "\tp.Lock()\n\tlive := s.ring.planes()", "\n\tlive := s.ring.planes()"},
		{"window/window.go", "\tp.Unlock()\n\treturn seen == 0", "\n\treturn seen == 0"},
	}},
	{"window-clean-first", "WindowStale", []substitution{
		{"window/window.go", "\tfor i, lane := range lanes {\n\t\tbitwords.Store", "\tfor i, lane := range lanes {\n\t\tp.clean.Store(free); bitwords.Store"},
	}},
	{"window-form-lock", "WindowMarshal", []substitution{
		{"window/serialize.go", "\tr.Lock()\n\tdefer r.Unlock()\n\tlive = r", "\n\n\tlive = r"},
	}},
	{"window-do-lock", "WindowDo", []substitution{
		{"window/do.go", "f.doing.Lock()\n\tdefer f.doing.Unlock()\n\tother =", "f.doing.Lock()\n\tf.doing.Unlock()\n\tother ="},
	}},
	{"cuckoo-moves-after", "CuckooMoves", []substitution{
		{"cuckoo/table.go", "\t\t\tt.shared.bump(old)", "\t\t\tdefer t.shared.bump(old)"},
	}},
	{"cuckoo-one-bit", "CuckooMoves", []substitution{
		{"cuckoo/table.go", "before := moves.Load()", "before := moves.Load() & 1"},
		{"cuckoo/table.go", "if moves.Load() == before", "if moves.Load()&1 == before"},
	}},
	{"cuckoo-list", "CuckooList", []substitution{
		{"cuckoo/list.go", "\t\tt.shared.bump(tag)\n", "\n"},
	}},
	{"cuckoo-list-mark", "CuckooList", []substitution{
		{"cuckoo/list.go", "\tvar tags uint64\n", "\tvar tags uint64; t.store(&t.list[0], 0)\n"},
	}},
	{"counting-store", "Counting", []substitution{
		{"counting/counters.go", "if atomic.CompareAndSwapUint64(&c.words[word], w, w+uint64(by)<<shift) {", "if atomic.OrUint64(&c.words[word], 0); atomic.CompareAndSwapUint64(&c.words[word], atomic.LoadUint64(&c.words[word]), w+uint64(by)<<shift) {"},
	}},
	{"counting-second-look", "Counting", []substitution{
		{"counting/counting.go", "if !f.ContainsHash(h) { // another", "if false { // another"},
	}},
	{"growing-second-look", "Growing", []substitution{
		{"growing/shard.go", "if now != list && contains(*now, h) {", "if false {"},
	}},
	{"growing-add-lock", "Growing", []substitution{
		{"growing/shard.go", "\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tnow :=", "\n\n\tnow :="},
	}},
	{"bank-number-first", "Bank", []substitution{
		{"bank/bank.go", "\tn, _, _ := s.grow()\n", "\tk, _ := s.current(); s.n.Store(int64(k+1)); s.n.Store(int64(k)); n, _, _ := s.grow()\n"},
	}},
	{"bank-filter-first", "Bank", []substitution{
		{"bank/bank.go", "\tn, seg, i := s.grow()\n\tfor j", "\tn, seg, i := s.grow(); s.n.Store(int64(n + 1))\n\tfor j"},
	}},
	{"bloom-add", "TestSync$", []substitution{
		{"bitset.go", "{ atomic.OrUint64(&b.words[index>>6], 1<<(index&63)) }", "{ w := &b.words[index>>6]; atomic.StoreUint64(w, atomic.LoadUint64(w)|1<<(index&63)) }"},
	}},
	{"bloom-patch-lock", "SyncPatch", []substitution{
		{"sync.go", "\ts.patching.Lock()\n\tdefer s.patching.Unlock()\n", "\n\n"},
	}},
	{"merge", "Sync$", []substitution{
		{"internal/bitwords/bits.go", "atomic.OrUint64(&words[i], w)", "atomic.StoreUint64(&words[i], atomic.LoadUint64(&words[i])|w)"},
	}},
	{"blocked-add", "BlockedSync", []substitution{
		{"internal/splitblock/splitblock.go", "atomic.OrUint64(word, bits)", "atomic.StoreUint64(word, old|bits)"},
	}},
	{"info-lock", "SyncInfo", []substitution{
		{"internal/form/info.go", "\tat.mu.Lock()\n\tdefer at.mu.Unlock()\n\ti, err", "\n\n\ti, err"},
		{"internal/form/info.go", "i, err := to(at.info)", "i, err := to(at.info); Point()"},
		{"internal/form/info.go", "package form", "package form; import . " + standIn},
	}},
	{"guard-begun", "TestGuard$", []substitution{
		{"guard/guard.go", "\tg.begun[ins] = struct{}{}\n", "\n"},
	}},
	{"guard-busy", "TestGuard$", []substitution{
		{"guard/guard.go", "if !sync.Acquire(g.busy, ctx.Done()) {", "if false {"},
		{"guard/guard.go", "defer sync.Recv(g.busy)", ""},
	}},
	{"guard-lag", "GuardLag", []substitution{
		{"guard/guard.go", ">= g.cfg.Lag", ">= g.cfg.Lag/2"},
	}},
	{"guard-overtaken", "GuardLookup", []substitution{
		{"guard/lookup.go", "if !overtaken && !late {", "if overtaken = false; !overtaken && !late {"},
	}},
	{"guard-one-insert", "GuardLookup", []substitution{
		{"guard/lookup.go", "s.inserting > 0 || s.ended != ended", "s.inserting > 0 && s.ended != ended"},
	}},
	{"guard-older-memory", "GuardLookup", []substitution{
		{"guard/lookup.go", "\t\ts.mu.Lock()\n\t\ts.inserting++\n\t\tif gen := g.now.Load(); gen != nil {", "\t\tgen := g.now.Load()\n\t\ts.mu.Lock()\n\t\ts.inserting++; if gen != nil {"},
	}},
	{"guard-newer-memory", "GuardLookup", []substitution{
		{"guard/lookup.go", "\t\tgen.memory.note(h, d)\n", "\t\tgen = g.now.Load(); gen.memory.note(h, gen.memory.denial(h, key))\n"},
	}},
	{"guard-late", "GuardLookup", []substitution{
		{"guard/lookup.go", "late := g.cfg.Lag > 0 &&", "late := false &&"},
	}},
	{"guard-last-back", "GuardLookup", []substitution{
		{"guard/lookup.go", "\t\ts := g.stripe(h)\n\t\ts.mu.Lock()\n\t\ts.inserting--", "\t\ts, now := g.stripe(h), sync.Now()\n\t\ts.mu.Lock()\n\t\ts.inserting--"},
		{"guard/lookup.go", "s.last = sync.Now()", "s.last = now"},
	}},
	{"guard-filter-first", "GuardLookup", []substitution{
		{"guard/guard.go", "\tg.now.Store(", "\tif old := g.now.Load(); old != nil { g.now.Store(&generation{next, old.memory, g.loaded}) }; g.now.Store("},
	}},
	{"guard-counts", "GuardCounts", []substitution{
		{"guard/lookup.go", "\t\tc.Hits += s.hits.Load()", "\t\tc.Queries += s.queries.Load(); c.Hits += s.hits.Load()"},
		{"guard/lookup.go", "\n\t\tc.Queries += s.queries.Load()\n", "\n\n"},
	}},
	{"replica-version-first", "Replica", []substitution{
		{"replica/replica.go", "\t\tif u.Patch != nil {", "\t\tr.copy.Store(&state{cur.filter, cur.size, u.Version, cur.made}); if u.Patch != nil {"},
	}},
	{"publisher-back", "Publisher", []substitution{
		{"internal/publish/body.go", "if r.version != b.from {", "if false {"},
	}},
	{"publisher-lock", "Publisher", []substitution{
		{"replica/publisher.go", "\tp.mu.Lock()\n\tdefer p.mu.Unlock()\n", "\n\n"},
	}},
}
