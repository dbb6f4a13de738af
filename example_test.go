package bloom_test

import (
	"crypto/sha1"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"expvar"
	"fmt"
	"hash/maphash"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/seed79a3ff49/bloom"
)

func Example() {
	seen, err := bloom.New(1_000_000, 0.01) // a million keys at 1 %: 1.2 MB
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, url := range []string{"https://go.dev/", "https://pkg.go.dev/", "https://go.dev/"} {
		if seen.AddString(url) {
			fmt.Println("visit", url)
		} else {
			fmt.Println("seen ", url)
		}
	}
	fmt.Println(seen.ContainsString("https://example.org/"))
	// Output:
	// visit https://go.dev/
	// visit https://pkg.go.dev/
	// seen  https://go.dev/
	// false
}

// A key hashed once can be looked up in any number of filters.
func ExampleHash() {
	today := bloom.Must(bloom.New(1000, 0.001))
	everyone := bloom.Must(bloom.NewSync(1_000_000, 0.001))

	h := bloom.SumString("user-42")
	for _, set := range []bloom.Set{today, everyone} {
		set.AddHash(h)
	}
	fmt.Println(today.ContainsHash(h), everyone.ContainsString("user-42"))
	// Output: true true
}

// This reads a filter that Java wrote with BloomFilter.writeTo:
//
//	BloomFilter<CharSequence> filter = BloomFilter.create(Funnels.stringFunnel(UTF_8), 10, 0.01);
//	filter.put("http://www.google.com");
//	filter.writeTo(new FileOutputStream("seen.bloom"));
func ExampleFilter_ReadFrom() {
	file, err := os.Open("testdata/seen.bloom")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()

	var seen bloom.Filter
	if _, err := seen.ReadFrom(file); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.ContainsString("http://www.google.com"),
		seen.ContainsString("http://www.yahoo.com"))
	// Output: true false
}

// In JSON a Filter is a string, the base64 of its binary form.
func ExampleFilter_MarshalText() {
	shown := bloom.Must(bloom.New(5, 0.1))
	shown.AddString("article-17")
	text, _ := json.Marshal(map[string]any{"visitor": 8, "shown": shown})
	fmt.Println(string(text))

	var visit struct{ Shown bloom.Filter }
	if err := json.Unmarshal(text, &visit); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(visit.Shown.ContainsString("article-17"), visit.Shown.ContainsString("article-18"))
	// Output:
	// {"shown":"AQMAAAABAAAAAAIBAIA=","visitor":8}
	// true false
}

// Merge joins two filters of the same size that were built separately.
func ExampleFilter_Merge() {
	monday, tuesday := bloom.Must(bloom.New(1000, 0.01)), bloom.Must(bloom.New(1000, 0.01))
	monday.AddString("a")
	tuesday.AddString("b")
	fmt.Println(monday.Merge(tuesday), monday.ContainsString("b"), monday.ApproxCount())

	other := bloom.Must(bloom.New(2000, 0.01))
	fmt.Println(monday.Merge(other))
	// Output:
	// <nil> true 2
	// bloom: filters differ in m: 9600 and 19200
}

// A filter that was made for far more keys than came can be made smaller. The loop folds it by two
// as long as its rate is low enough.
func ExampleFilter_Fold() {
	const n, p = 1_000_000, 0.01
	const step = 64 * 1024 // rounding m up to whole steps lets the filter fold in half ten times
	m := bloom.OptimalM(n, p)
	f := bloom.Must(bloom.NewSize((m+step-1)/step*step, bloom.OptimalK(m, n)))
	for i := range uint64(50_000) {
		f.AddHash(bloom.SumUint64(i))
	}

	small := f
	for {
		half, err := small.Fold(2)
		if err != nil || half.FPR() > p {
			break
		}
		small = half
	}
	fmt.Printf("%d bytes at %.1e, then %d bytes at %.1e\n", f.SizeBytes(), f.FPR(),
		small.SizeBytes(), small.FPR())
	fmt.Println(small.ContainsHash(bloom.SumUint64(49_999)))
	// Output:
	// 1204230 bytes at 9.1e-10, then 75270 bytes at 3.2e-03
	// true
}

// New's filter of few keys at a low rate has more false positives than it was made for.
// StrictSize returns the size of a filter that keeps the rate.
func ExampleStrictSize() {
	const n, p = 100, 1e-6
	m, k, err := bloom.StrictSize(n, p)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range []*bloom.Filter{bloom.Must(bloom.New(n, p)), bloom.Must(bloom.NewSize(m, k))} {
		for i := range uint64(n) {
			f.AddHash(bloom.SumUint64(i))
		}
		fmt.Printf("%d bytes at %.1g\n", f.SizeBytes(), f.FPR())
	}
	// Output:
	// 366 bytes at 8e-05
	// 1750 bytes at 8e-07
}

func ExampleFilter_FPR() {
	f := bloom.Must(bloom.New(1000, 0.01))
	for i := range uint64(1000) {
		f.AddHash(bloom.SumUint64(i))
	}
	fmt.Printf("%.3f at %d keys\n", f.FPR(), f.ApproxCount())
	for i := range uint64(1000) {
		f.AddHash(bloom.SumUint64(1000 + i))
	}
	fmt.Printf("%.3f at %d keys\n", f.FPR(), f.ApproxCount())
	// Output:
	// 0.009 at 985 keys
	// 0.149 at 1964 keys
}

// Package expvar publishes a filter's figures, and how often the filter was right, at
// /debug/vars. Module bloomprom does it for Prometheus.
func ExampleSyncFilter_Stats() {
	seen := bloom.Must(bloom.NewSync(1000, 0.01))
	expvar.Publish("users", expvar.Func(func() any { return seen.Stats() }))
	lookups := expvar.NewMap("user look-ups")
	find := func(name string, database map[string]bool) bool {
		switch {
		case !seen.ContainsString(name):
			lookups.Add("misses", 1)
			return false
		case !database[name]:
			lookups.Add("false positives", 1)
			return false
		}
		lookups.Add("hits", 1)
		return true
	}
	fmt.Println(expvar.Get("users"))

	seen.AddString("ada")
	seen.AddString("alan") // removed from the database since
	for _, name := range []string{"ada", "alan", "nobody"} {
		find(name, map[string]bool{"ada": true})
	}
	fmt.Println(lookups)
	// Output:
	// {"m":9600,"k":7,"fill":0,"keys":0,"rate":0,"size":1206}
	// {"false positives": 1, "hits": 1, "misses": 1}
}

// The key of a Funnel with several fields is the bytes of the fields, one after the other. Numbers
// are little-endian, strings have the Funnel's encoding and no length, booleans are a byte, and
// enums are what the Funnel makes of them. In Java's strings a surrogate without a partner becomes
// a question mark. Java made the filter below with
//
//	into.putLong(user).putString(page, UTF_8).putBoolean(mobile).putInt(kind.ordinal())
//
// Because strings have no length, "ab", "c" and "a", "bc" have the same key.
func ExampleSum_funnel() {
	key := func(user int64, page string, mobile bool, kind uint32) []byte {
		b := binary.LittleEndian.AppendUint64(nil, uint64(user))
		b = append(b, page...)
		if mobile {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		return binary.LittleEndian.AppendUint32(b, kind)
	}
	var fromJava bloom.Filter
	if err := fromJava.UnmarshalText([]byte("AQcAAAACQAAUAEQBAEABBAQEAARAEA==")); err != nil {
		fmt.Println(err)
	}
	fmt.Println(fromJava.Contains(key(42, "/café", true, 1)))
	fmt.Println(fromJava.Contains(key(-7, "/?", false, 0)))
	fmt.Println(fromJava.Contains(key(42, "/café", true, 0)))
	// Output:
	// true
	// true
	// false
}

// A consumer gets each message of a broker at least once, and drops repetitions. It handles a
// message before it adds the key, and saves the filter before it acknowledges the message. After a
// crash the broker sends messages that were not acknowledged again. The consumer drops messages
// that it handled before the last save. It handles messages twice that it handled after the last
// save. One new message in a million is dropped by mistake.
func ExampleLoadOrNew() {
	dir := bloom.Must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "handled.bloom")

	topic := []string{"a", "b", "a", "c", "b", "d"} // the broker's messages
	consume := func(from, to int) error {
		handled, err := bloom.LoadOrNew(path, 1_000_000, 1e-6)
		if err != nil {
			return err
		}
		for _, id := range topic[from:to] {
			if !handled.ContainsString(id) {
				fmt.Println("handle", id)
				handled.AddString(id)
			}
		}
		return handled.SaveFile(path)
	}
	fmt.Println(consume(0, 3))
	fmt.Println(consume(3, 5), "and killed before the broker is told")
	fmt.Println(consume(3, 6))
	// Output:
	// handle a
	// handle b
	// <nil>
	// handle c
	// <nil> and killed before the broker is told
	// handle d
	// <nil>
}

// The Info says what a filter was made for and how its keys are hashed. Files hold the Info. A
// program that loads a file checks the Hash first: if keys are hashed in another way, look-ups find
// nothing.
func ExampleFilter_UpdateInfo() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.bloom")

	f := bloom.Must(bloom.New(1000, 0.01))
	f.UpdateInfo(func(i *bloom.Info) { // New has set N and P
		i.Hash = "SumUint64"
		i.Comment = "orders of 2026"
	})
	f.AddHash(bloom.SumUint64(4711))
	if err := f.SaveFile(path); err != nil {
		log.Fatal(err)
	}

	g, err := bloom.LoadFile(path)
	if err != nil || g.Info().Hash != "SumUint64" {
		fmt.Println("not a list of numbers:", err)
		return
	}
	fmt.Println(g.Info().N, g.Info().Comment, g.ContainsHash(bloom.SumUint64(4711)))
	// Output: 1000 orders of 2026 true
}

//go:embed testdata/v1.bloom
var numbers []byte

// A line above the variable makes a file a part of the program:
//
//	//go:embed testdata/v1.bloom
//	var numbers []byte
func ExampleNewView() {
	view, err := bloom.NewView(numbers)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(view.Info().Comment, view.ContainsString("999"), view.ContainsString("-1"))
	// Output: 0 to 999, in decimal true false
}

// A server swaps the file that it looks keys up in for a newer one. Look-ups hold a
// read lock, so none of them runs while the old file is closed. Package blocked's
// OpenFile is used in the same way.
func ExampleOpenFile() {
	dir := bloom.Must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	build := func(day string, names ...string) string { // in another process
		f := bloom.Must(bloom.New(1000, 0.001))
		for _, name := range names {
			f.AddString(name)
		}
		path := filepath.Join(dir, day)
		if err := f.SaveFile(path); err != nil {
			fmt.Println(err)
		}
		return path
	}

	var mu sync.RWMutex
	current := new(bloom.View)
	reload := func(path string) error {
		next, err := bloom.OpenFile(path)
		if err != nil {
			return err
		}
		if err := next.Verify(); err != nil {
			next.Close()
			return err
		}
		mu.Lock()
		old := current
		current = next
		mu.Unlock()
		return old.Close()
	}
	blocks := func(name string) bool {
		mu.RLock()
		defer mu.RUnlock()
		return current.ContainsString(name)
	}

	fmt.Println(reload(build("monday", "mallory")), blocks("mallory"), blocks("trudy"))
	fmt.Println(reload(build("tuesday", "mallory", "trudy")), blocks("mallory"), blocks("trudy"))
	// Output:
	// <nil> true false
	// <nil> true true
}

// A Reader looks keys up in a filter in an object store, by requests for ranges of bytes. It does
// not load the filter. In this example a file takes the place of the object. An *os.File is an
// io.ReaderAt, and a client that requests ranges can be one, too.
func ExampleNewReader() {
	file, err := os.Open("testdata/v1.bloom")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := bloom.NewReader(file, stat.Size())
	if err != nil {
		fmt.Println(err)
		return
	}
	if hash := r.Info().Hash; hash != "SumString" {
		fmt.Println("keys were hashed by", hash)
		return
	}
	for _, key := range []string{"999", "-1"} {
		found, err := r.ContainsString(key)
		fmt.Println(key, found, err)
	}
	fmt.Println(r)
	// Output:
	// 999 true <nil>
	// -1 false <nil>
	// bloom.Reader(m=9600, k=7, Mitz64)
}

// A list of breached passwords; here it has two. The command makes the same file of the published
// hashes: bloom build -p 1e-6 --hex -f 1 --sep : -o pwned.bloom pwned-passwords.txt.
func ExampleOpenFile_passwords() {
	dir := bloom.Must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pwned.bloom")
	f := bloom.Must(bloom.New(1000, 1e-6)) // a good password in a million is refused, too
	for _, line := range []string{
		"5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9545824",
		"B1B3773A05C0ED0176787A4F1574FF0075F7521E:3912816",
	} {
		digits, _, _ := strings.Cut(line, ":")
		f.Add(bloom.Must(hex.DecodeString(digits))) // as --hex -f 1 --sep : does
	}
	if err := f.SaveFile(path); err != nil {
		fmt.Println(err)
		return
	}

	list := bloom.Must(bloom.OpenFile(path)) // takes no time, even if it has a billion keys
	defer list.Close()
	breached := func(password string) bool {
		digest := sha1.Sum([]byte(password))
		return list.Contains(digest[:])
	}
	fmt.Println(breached("password"), breached("correct horse battery staple"))
	// Output:
	// true false
}

// A list of domains that blocks their subdomains, too. A name of four labels takes four look-ups,
// so its false-positive rate is up to four times that of the filter.
func ExampleFilter_domains() {
	list := bloom.Must(bloom.New(1_000_000, 1e-6))
	normal := func(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
	for _, name := range []string{"ads.example", "Tracker.example.net."} {
		list.AddString(normal(name))
	}
	blocks := func(name string) bool {
		for rest, more := normal(name), true; more; _, rest, more = strings.Cut(rest, ".") {
			if list.ContainsString(rest) {
				return true
			}
		}
		return false
	}
	fmt.Println(blocks("x.y.ADS.example"), blocks("tracker.example.net"), blocks("example.net"),
		blocks("badads.example"))
	// Output:
	// true true false false
}

// Many goroutines use one SyncFilter without a lock. If several add the same key at the same time,
// Add returns true to at least one of them.
func ExampleSyncFilter() {
	seen := bloom.Must(bloom.NewSync(1000, 0.01))
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			seen.AddString(fmt.Sprintf("https://example.org/%d", i))
		}()
	}
	wait.Wait()
	fmt.Println(seen.ContainsString("https://example.org/3"),
		seen.ContainsString("https://example.org/4"))
	fmt.Println(seen.Stats().ApproxCount, "keys")
	// Output:
	// true false
	// 4 keys
}

// One goroutine builds or loads a filter, and then many goroutines use it.
func ExampleNewSyncFrom() {
	f := bloom.Must(bloom.New(1000, 0.01))
	f.AddString("loaded at the start")

	seen := bloom.NewSyncFrom(f)
	fmt.Println(seen.AddString("loaded at the start"), seen.AddString("new"))
	fmt.Println(f.ContainsString("new"))
	// Output:
	// false true
	// false
}

// Keys of any comparable type, in one process: another process has another seed. Nothing is
// allocated.
func ExampleFilter_AddHash_comparable() {
	type visit struct {
		user string
		page int
	}
	seed := maphash.MakeSeed()
	digest := func(v visit) bloom.Hash { return bloom.SumUint64(maphash.Comparable(seed, v)) }
	seen := bloom.Must(bloom.New(1000, 1e-9))
	seen.AddHash(digest(visit{"ada", 7}))
	fmt.Println(seen.ContainsHash(digest(visit{"ada", 7})))
	fmt.Println(seen.ContainsHash(digest(visit{"ada", 8})))
	// Output:
	// true
	// false
}

// Integers are keys. Java's Funnels.longFunnel makes the same digests.
func ExampleSumUint64() {
	orders := bloom.Must(bloom.New(1000, 0.01))
	orders.AddHash(bloom.SumUint64(4711))
	var signed int64 = -1
	orders.AddHash(bloom.SumUint64(uint64(signed)))
	fmt.Println(orders.ContainsHash(bloom.SumUint64(4711)), orders.ContainsHash(bloom.SumUint64(4712)))
	// Text is another key than the number that it shows.
	fmt.Println(orders.ContainsString("4711"))
	// Output:
	// true false
	// false
}

// Batches are faster than single keys. The next batch uses the same slices again.
func ExampleFilter_AddBatch() {
	seen := bloom.Must(bloom.New(1000, 0.01))
	hashes, isNew := make([]bloom.Hash, 3), make([]bool, 3)
	for _, batch := range [][]string{{"a", "b", "a"}, {"b", "c"}} {
		bloom.SumStringBatch(hashes, batch)
		seen.AddBatch(isNew, hashes[:len(batch)])
		for i, key := range batch {
			if isNew[i] {
				fmt.Println("new:", key)
			}
		}
	}
	// Output:
	// new: a
	// new: b
	// new: c
}

// Two filters in a chain: the second one gets the keys that passed the first one, some of them in
// error. With the same digests it would make the same errors. With salted digests it makes other
// errors.
func ExampleHash_Salt() {
	first := bloom.Must(bloom.New(100, 0.1))
	second := bloom.Must(bloom.New(100, 0.1))
	for i := range uint64(100) {
		h := bloom.SumUint64(i)
		first.AddHash(h)
		second.AddHash(h.Salt(1))
	}
	passed, both := 0, 0
	for i := uint64(100); i < 10_100; i++ {
		if h := bloom.SumUint64(i); first.ContainsHash(h) {
			passed++
			if second.ContainsHash(h.Salt(1)) {
				both++
			}
		}
	}
	fmt.Println(passed > 500, both < 200)
	// Output: true true
}

// A filter is full when the number of its keys exceeds its capacity.
func ExampleFilter_Capacity() {
	f := bloom.Must(bloom.New(1000, 0.01))
	for i := range uint64(1500) {
		f.AddHash(bloom.SumUint64(i))
		if f.ApproxCount() > f.Capacity(0.01) {
			fmt.Println("full")
			break
		}
	}
	fmt.Println(f.Capacity(0.05) > f.Capacity(0.01), "at a higher rate it holds more")
	// Output:
	// full
	// true at a higher rate it holds more
}

// A filter in a database: its bytes are the value of a BLOB column.
func ExampleFilter_database() {
	db := openDatabase() // calls sql.Open; any driver works
	defer db.Close()

	seen := bloom.Must(bloom.New(1000, 0.01))
	seen.AddString("a")
	data, err := seen.MarshalBinary()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("UPDATE filters SET bits = ? WHERE name = 'seen'", data); err != nil {
		log.Fatal(err)
	}

	var stored []byte
	if err := db.QueryRow("SELECT bits FROM filters WHERE name = 'seen'").Scan(&stored); err != nil {
		log.Fatal(err)
	}
	view, err := bloom.NewView(stored) // or UnmarshalBinary, to add keys
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(view.ContainsString("a"), view.ContainsString("b"))
	// Output: true false
}

// A machine that has yesterday's filter gets today's as a patch.
func ExampleDiff() {
	yesterday := bloom.Must(bloom.New(1_000_000, 0.01))
	for i := range uint64(900_000) {
		yesterday.AddHash(bloom.SumUint64(i))
	}
	today := yesterday.Clone()
	for i := range uint64(1000) {
		today.AddHash(bloom.SumUint64(900_000 + i))
	}
	patch, err := bloom.Diff(yesterday, today)
	if err != nil {
		panic(err)
	}

	mine := yesterday.Clone() // on the other machine
	if err := mine.Patch(patch); err != nil {
		panic(err) // after an ErrMismatch, get the whole filter
	}
	fmt.Println(mine.Equal(today), today.SizeBytes()/int64(len(patch)))
	// Output: true 200
}
