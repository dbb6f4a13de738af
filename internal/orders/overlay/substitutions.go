package main

// substitutions are the lines that change besides the imports. A replacement has as many lines as
// what it replaces, so that traces show the library's lines.
var substitutions = []substitution{
	// Plain stores that look-ups see become points. Race is set to true, which selects code without
	// other plain stores.
	{"internal/bitwords/store.go", "package bitwords", "package bitwords; import . " + standIn},
	{"internal/bitwords/store.go", "{ *word = w }", "{ Point(); *word = w }"},
	{"internal/bitwords/store.go", "const Race = false", "const Race = true"},

	// A window has three pages of 64 lanes, each of which counts two keys together.
	{"window/sizing.go", "l.pages, l.lanes = uint64(pages), uint64(lanes)", "l.pages, l.lanes = 3, 64"},
	{"window/sizing.go", "leastPage      = 4096", "leastPage      = 64"},
	{"window/sizing.go", "pageFeed       = 8 ", "pageFeed       = 2 "},
	{"window/ring.go", "time.AfterFunc(after, call)", "atomic.AfterFunc(after, call)"},
	{"window/ring.go", "r.source = time.Now\n", "r.source = atomic.Now\n"},
	{"window/do.go", "package window", "package window; import . " + standIn},
	{"window/do.go", "\tclose(ended)", "\tClose(ended)"},
	{"window/do.go", `		select {
		case <-other:
		case <-ctx.Done():
		}
`, `		Either(other, ctx.Done())



`},

	// A layer of a growing filter has room for three keys. The next layer is made from the second
	// key on.
	{"growing/shard.go", "l.soon = l.capacity - l.capacity/lead", "l.capacity = min(l.capacity, 3); l.soon = min(2, l.capacity)"},
	{"growing/shard.go", "go func() { next <- newLayer(s.rates, number, m) }()", "atomic.Go(func() { next <- newLayer(s.rates, number, m) })"},
	{"growing/shard.go", "<-s.next)", "atomic.Recv(s.next))"},
	{"growing/rates.go", "sync " + standIn, `"sync"`}, // a cache of figures

	// A guard has two stripes. Each call of its growing filters is one step.
	{"guard/lookup.go", "stripes = 256", "stripes = 2"},
	{"guard/guard.go", "\t\t\tf.AddBatch(nil, ins.hs)", "\t\t\tsync.Quiet(func() int { f.AddBatch(nil, ins.hs); return 0 })"},
	{"guard/guard.go", "\tnext.AddBatch(nil, ins.hs)", "\tsync.Quiet(func() int { next.AddBatch(nil, ins.hs); return 0 })"},
	{"guard/guard.go", "{ l.filter().AddHash(h) }", "{ sync.Quiet(func() bool { return l.filter().AddHash(h) }) }"},
	{"guard/guard.go", "f == nil || f.ContainsHash(h)", "f == nil || sync.Quiet(func() bool { return f.ContainsHash(h) })"},
	{"guard/lookup.go", "case !gen.filter.ContainsHash(h):", "case !sync.Quiet(func() bool { return gen.filter.ContainsHash(h) }):"},
	{"guard/guard.go", "n := f.Stats().ApproxCount", "n := sync.Quiet(func() uint64 { return f.Stats().ApproxCount })"},
	{"guard/guard.go", "bloom.Must(growing.New(g.expected(), g.cfg.P))", "sync.Quiet(func() *growing.Filter { return bloom.Must(growing.New(g.expected(), g.cfg.P)) })"},
	{"guard/guard.go", "ins.at = time.Now()", "ins.at = sync.Now()"},
	{"guard/guard.go", "g.forget(time.Now())", "g.forget(sync.Now())"},
	{"guard/guard.go", "g.loaded = time.Now()", "g.loaded = sync.Now()"},
	{"guard/lookup.go", "s.last = time.Now()", "s.last = sync.Now()"},
	{"guard/lookup.go", "began = time.Now()", "began = sync.Now()"},
	{"guard/guard.go", `	select {
	case g.busy <- struct{}{}:
		defer func() { <-g.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
`, `	if !sync.Acquire(g.busy, ctx.Done()) {

		return ctx.Err()
	}
	defer sync.Recv(g.busy)

`},

	{"replica/replica.go", `	select {
	case r.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
`, `	if !sync.Acquire(r.busy, ctx.Done()) {


		return ctx.Err()
	}
`},
	{"replica/replica.go", "defer func() { <-r.busy }()", "defer sync.Recv(r.busy)"},

	// A piece of a publisher's answer is a word.
	{"internal/publish/body.go", "pieceWords = 8192", "pieceWords = 1"},
}
