package bloom_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/foreign"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/window"
)

func use(...any) {}

var _, _, _ = calls, blockedCalls, syncCalls

// calls, and the functions of this form that follow it, have every call that the tables of
// docs/migrate.md name on the side of this module. They need only to compile.
func calls(f, g *bloom.Filter, c *cuckoo.Filter, n, m, u uint64, p float64, k, lines int, key, data []byte, s, path, comment string, words []uint64, maxBits uint64) {
	use(foreign.NewBitsAndBlooms(data))
	use(foreign.NewHoliman(data))
	use(foreign.NewDCSO(data))
	use(foreign.NewSpark(data))
	{
		var f foreign.Holiman
		use(f.UnmarshalJSON(data))
	}
	use(bloom.New(n, p))
	use(bloom.NewSize(m, k))
	use(bloom.NewSize(m, int(k)))
	use(bloom.NewSize(0, 0))
	use(bloom.NewSync(n, p))
	use(bloom.NewSyncFrom(f))
	use(new(bloom.Filter))
	use(window.New(window.Config{N: n, P: p}))
	use(bloom.NewWords(words, k))
	use(bloom.NewView(data))
	use(bloom.LoadFile(path))
	use(bloom.Size(n, p))
	use(bloom.OptimalM(n, p), bloom.OptimalK(m, n), bloom.FalsePositiveRate(m, k, n))
	use(f.Add(key), f.AddString(s), !f.Add(key), !f.AddString(s), f.Contains(key), f.ContainsString(s))
	use(f.AddHash(bloom.SumUint64(u)), f.ContainsHash(bloom.SumUint64(u)))
	h := bloom.Sum(key)
	use(f.AddHash(h), f.ContainsHash(h))
	i := int(u)
	use(f.AddHash(bloom.SumUint32(uint32(i))), f.AddHash(bloom.SumUint64(uint64(i))))
	use(f.M(), f.K(), f.ApproxCount(), f.FillRatio(), f.FPR(), f.Capacity(p), f.OnesCount(), f.Stats().OnesCount == 0)
	use(f.Merge(g), f.Intersect(g), f.Equal(g), f.Clone(), f.Info().N, f.Info().P, f.Info().Comment)
	use(f.MarshalBinary())
	use(f.UnmarshalBinary(data), f.SaveFile(path))
	f.Reset()
	f.UpdateInfo(func(i *bloom.Info) { i.Comment = comment })
	use(growing.New(n, p))
	use(growing.New(0, p))
	use(f.Stats().M, c.Cap())
	use(counting.New(n, p))
	use(cuckoo.New(n, p))
	use(cuckoo.NewView(data))
	use(c.Insert(key), c.Contains(key), c.Remove(key), c.Len(), c.InsertHash(h), c.ContainsHash(h), c.RemoveHash(h))
	use(c.MarshalBinary())
	use(c.UnmarshalBinary(data))
	c.Reset()
	{
		d := uint64(2)
		use(flower.New(flower.Config{Slots: m * d / 16, Ways: 8, Bits: 16}))
	}
	use(blocked.New(n, p))
	use(f.Stats().ApproxCount)
}

// blockedCalls has those of the section on blobloom, whose filters become blocked ones.
func blockedCalls(f, g *blocked.Filter, n, m, u uint64, p float64, lines int, key []byte, path, comment string, maxBits uint64) {
	use(blocked.New(n, p))
	use(blocked.NewSize(m, lines))
	use(blocked.NewSync(n, p))
	use(blocked.NewSyncFrom(f))
	use(blocked.FalsePositiveRate(m, lines, n))
	use(blocked.LoadFile(path))
	{
		use(blocked.Size(n, p))
		m, lines, err := blocked.Size(n, p)
		use(blocked.NewSize(min(m, maxBits), lines))
		use(m, lines, err)
	}
	use(f.AddHash(bloom.SumUint64(u)), f.ContainsHash(bloom.SumUint64(u)), f.Add(key))
	use(f.Stats().ApproxCount, f.Stats().FPR, f.Stats().OnesCount == 0, f.M())
	use(f.Merge(g), f.Intersect(g), f.Equal(g), f.SaveFile(path))
	f.Reset()
	f.UpdateInfo(func(i *bloom.Info) { i.Comment = comment })
}

// syncCalls has what the sections on holiman and bbloom write of SyncFilters.
func syncCalls(f *bloom.SyncFilter, g *bloom.Filter, m, u uint64, k int, key []byte, path string) {
	use(bloom.NewSyncFrom(bloom.Must(bloom.NewSize(m, int(k)))))
	use(f.Add(key), f.Contains(key), f.AddHash(bloom.SumUint64(u)), f.ContainsHash(bloom.SumUint64(u)))
	use(f.Merge(g), f.Snapshot(), f.SaveFile(path), f.Stats().FillRatio, f.Stats().FPR, f.Stats().ApproxCount)
	f.Reset()
}

// sourceOf returns the source of the function with the given name in this file.
func sourceOf(t *testing.T, name string) string {
	source := string(bloom.Must(os.ReadFile("docs_test.go")))
	_, from, ok := strings.Cut(source, "\nfunc "+name+"(")
	require.True(t, ok, name)
	body, _, _ := strings.Cut(from, "\n}\n")
	return body
}

// TestMigrate: the calls of this module in the tables of docs/migrate.md compile.
func TestMigrate(t *testing.T) {
	all := sourceOf(t, "calls")
	source := all
	call := regexp.MustCompile("`([^`…]*\\([^`…]*)`")
	found, here := 0, false
	for line := range strings.Lines(string(bloom.Must(os.ReadFile("docs/migrate.md")))) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			source = all
			switch {
			case strings.Contains(heading, "blobloom"):
				source = sourceOf(t, "blockedCalls")
			case strings.Contains(heading, "bbloom"), strings.Contains(heading, "holiman"):
				source += sourceOf(t, "syncCalls")
			}
		}
		cells := strings.Split(line, "|")
		if here = len(cells) > 2 && (here || strings.TrimSpace(cells[len(cells)-2]) == "here"); here {
			for _, span := range call.FindAllStringSubmatch(cells[len(cells)-2], -1) {
				found++
				require.True(t, strings.Contains(source, span[1]), span[1])
			}
		}
	}
	require.Greater(t, found, 90)
}

// packages has the import paths of what the code in the documents uses, by the packages' names.
var packages = map[string]string{
	"binary": "encoding/binary", "context": "context", "fmt": "fmt", "http": "net/http", "io": "io",
	"os": "os", "slices": "slices", "time": "time",
	"colly":      "github.com/gocolly/colly/v2",
	"prometheus": "github.com/prometheus/client_golang/prometheus",
	"redis":      "github.com/redis/go-redis/v9",
	"service":    "github.com/redpanda-data/benthos/v4/public/service",
	"bloom":      module,
}

const module = "github.com/seed79a3ff49/bloom"

// commented has the directories of the packages of this module, whose comments have code, and
// nested those of other modules.
var (
	commented = folders()
	nested    = []string{"keyed", "contrib/bloombenthos", "contrib/bloomprom",
		"contrib/bloomredis", "contrib/collystore"}
)

// folders returns the directories of the packages of this module that users import.
func folders() []string {
	dirs := []string{"."}
	for _, path := range bloom.Must(filepath.Glob("*/*.go")) {
		dir := filepath.Dir(path)
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err != nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func init() {
	for _, dir := range append(nested, commented[1:]...) {
		packages[filepath.Base(dir)] = module + "/" + dir
	}
}

// TestDocumentsCompile: the Go code in README.md, in docs/*.md and in the comments of all packages
// compiles, in functions with the variables that a reader has.
func TestDocumentsCompile(t *testing.T) {
	for _, typ := range alltypes.Forms() {
		require.Contains(t, packages, typ.Package())
	}
	comments := ""
	for _, dir := range commented {
		comments += commentFunction(t, dir)
	}
	vet(t, ".", map[string]string{
		"readme.go":   source(readmeFunction(t)),
		"docs.go":     source(docsFunctions(t)),
		"comments.go": source(comments),
		"given.go": source("func load(context.Context, *guard.Loader) error { return nil }\n" +
			"func store(string) error { return nil }\n" +
			"func query(string) (bool, error) { return true, nil }\n"),
	})
	for _, dir := range nested {
		if _, err := os.Stat(dir); err != nil || !filtertest.Long() {
			continue // the other modules need packages that this one does not
		}
		vet(t, dir, map[string]string{"comment.go": source(commentFunction(t, dir))})
	}
}

// source returns a file with functions, and with the imports that they need.
func source(functions string) string {
	imports := ""
	code := regexp.MustCompile(`//.*`).ReplaceAllString(functions, "")
	for name, path := range packages {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(code) {
			imports += fmt.Sprintf("import %s %q\n", name, path)
		}
	}
	return "package documents\n" + imports + functions
}

// used returns statements that use the variables which code declares.
func used(code string) (uses string) {
	declared := regexp.MustCompile(`(?m)^(\w+(, \w+)*) := `)
	for _, names := range declared.FindAllStringSubmatch(code, -1) {
		uses += strings.Repeat("_, ", strings.Count(names[1], ",")) + "_ = " + names[1] + "\n"
	}
	return uses
}

// readmeFunction returns a function with the lines of code for each package in README.md.
func readmeFunction(t *testing.T) string {
	blocks := strings.Split(string(bloom.Must(os.ReadFile("README.md"))), "```go\n")
	require.Len(t, blocks, 3, "a program, and the lines of code")
	lines, _, _ := strings.Cut(blocks[2], "```")
	return "func _(ctx context.Context, conn io.Reader, names []string, data []byte) {\n" +
		lines + used(lines) + "}\n"
}

// docsFunctions returns functions with the code in docs/*.md.
func docsFunctions(t *testing.T) (functions string) {
	given := map[string]string{
		"java.md":      "func _(n uint64, p float64, out io.Writer) error {\n%s}\n",
		"migrate.md":   "func _(key []byte) (bool, error) {\n%s}\n",
		"questions.md": "func _(a, b *bloom.Filter) (any, error) {\n%s\nreturn common, err}\n",
	}
	for _, page := range bloom.Must(filepath.Glob("docs/*.md")) {
		for _, block := range strings.Split(string(bloom.Must(os.ReadFile(page))), "```go\n")[1:] {
			block, _, _ := strings.Cut(block, "```")
			if strings.HasPrefix(block, "package main") {
				continue // TestTutorial runs it
			}
			require.Contains(t, given, filepath.Base(page))
			functions += fmt.Sprintf(given[filepath.Base(page)], block)
		}
	}
	return functions
}

// commentFunction returns a function with the code in the comment of the package in a directory.
// Each block of code sees the variables of those before it, and may declare them anew.
func commentFunction(t *testing.T, dir string) string {
	given := "ctx context.Context, token, name, key, path, start string, keys []string, " +
		"secret []byte, conn io.Writer"
	if dir == "contrib/bloomprom" {
		given = "registry *prometheus.Registry, users *guard.Guard"
	}
	table := regexp.MustCompile(`^(rate|lines|memory|about|bloom_\w+)\b.*\s{2}|^\.\.\.\n`)
	body, block, blocks := "", "", 0
	for line := range strings.Lines(packageComment(t, dir) + "\n// the end\n") {
		code, isCode := strings.CutPrefix(line, "//\t")
		if isCode && !table.MatchString(code) {
			block += code
		}
		isEmpty := line == "//\n" // as between two lines of code
		if !isCode && !isEmpty && block != "" {
			before, last, returns := strings.Cut(block, "\nreturn ")
			body += "{\n" + before + "\n" + used(before)
			if returns {
				body += "return " + last
			}
			block = ""
			blocks++
		}
	}
	require.Positive(t, blocks, "code in the comment of %s", dir)
	if !regexp.MustCompile(`\nreturn .*\n$`).MatchString(body) {
		body += "return nil\n"
	}
	return "func _(" + given + ") error {\n" + body + strings.Repeat("}\n", blocks) + "}\n"
}

// packageComment returns the comment of the package in a directory.
func packageComment(t *testing.T, dir string) string {
	begin := regexp.MustCompile(`(?m)^// Package \w+ `)
	for _, path := range bloom.Must(filepath.Glob(dir + "/*.go")) {
		source := string(bloom.Must(os.ReadFile(path)))
		if at := begin.FindStringIndex(source); at != nil && !strings.HasSuffix(path, "_test.go") {
			comment, _, _ := strings.Cut(source[at[0]:], "\npackage ")
			return comment
		}
	}
	require.Fail(t, "no package comment", dir)
	return ""
}

// vet compiles files with the modules that the module in a directory has, and looks for what go vet
// finds.
func vet(t *testing.T, dir string, files map[string]string) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	args, folder := []string{"vet"}, t.TempDir()
	for name, source := range files {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(source), 0o600))
		args = append(args, path)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", dir, out)
}

// TestAboveThePlan: docs/questions.md has the right rates for twice the keys.
func TestAboveThePlan(t *testing.T) {
	for p, want := range map[float64]float64{0.01: 0.16, 0.001: 0.06} {
		m, k, err := bloom.Size(1_000_000, p)
		require.NoError(t, err)
		require.InEpsilon(t, want, bloom.FalsePositiveRate(m, k, 2_000_000), 0.05)
	}
	require.InEpsilon(t, 3.6e9, float64(bloom.OptimalM(1e9, 1e-6)/8), 0.01) // Size refuses it on 32 bits
}

// TestSizesPage: the tables of docs/sizes.md have the right sizes.
func TestSizesPage(t *testing.T) {
	page, err := os.ReadFile("docs/sizes.md")
	require.NoError(t, err)
	bytesOf := func(n uint64, p float64) string {
		size, unit := float64(bloom.OptimalM(n, p))/8e6, "MB"
		if size >= 1000 {
			size, unit = size/1000, "GB"
		}
		if size >= 100 {
			return fmt.Sprintf("%.0f %s", 10*math.Round(size/10), unit)
		}
		return fmt.Sprintf("%.2g %s", size, unit)
	}
	for _, row := range []struct {
		name string
		n    uint64
	}{{"1 million", 1e6}, {"10 million", 1e7}, {"100 million", 1e8}, {"1 billion", 1e9}} {
		want := fmt.Sprintf("| %s | %s | %s | %s |", row.name, bytesOf(row.n, 1e-2), bytesOf(row.n, 1e-3), bytesOf(row.n, 1e-4))
		require.Contains(t, string(page), want)
	}

	// The rates of a filter made for 1 %, with more keys.
	m := bloom.OptimalM(1e6, 0.01)
	require.InDelta(t, 6, 100*bloom.FalsePositiveRate(m, bloom.OptimalK(m, 1e6), 1.5e6), 0.5)
	require.InDelta(t, 16, 100*bloom.FalsePositiveRate(m, bloom.OptimalK(m, 1e6), 2e6), 0.5)

	// The bits a key in the package comment.
	require.InDelta(t, 9.6, float64(bloom.OptimalM(1e9, 0.01))/1e9, 0.05)
	require.InDelta(t, 4.8, float64(bloom.OptimalM(1e9, 0.001)-bloom.OptimalM(1e9, 0.01))/1e9, 0.05)
}

// TestTwoParts: two filters of 1 %, the second of salted digests, have the size and the rate of one of
// 1e-4, as docs/sizes.md says.
func TestTwoParts(t *testing.T) {
	const n, asked = 100_000, 3_000_000
	for name, make := range map[string]func(p float64) interface {
		bloom.Set
		SizeBytes() int64
	}{
		"bloom": func(p float64) interface {
			bloom.Set
			SizeBytes() int64
		} {
			return bloom.Must(bloom.New(n, p))
		},
		"blocked": func(p float64) interface {
			bloom.Set
			SizeBytes() int64
		} {
			return bloom.Must(blocked.New(n, p))
		},
	} {
		first, second, whole := make(0.01), make(0.01), make(1e-4)
		for i := range uint64(n) {
			h := bloom.SumUint64(i)
			first.AddHash(h)
			second.AddHash(h.Salt(1))
			whole.AddHash(h)
		}
		require.InEpsilon(t, whole.SizeBytes(), first.SizeBytes()+second.SizeBytes(), 0.01, name)
		one, both, all := 0, 0, 0
		for i := range uint64(asked) {
			h := bloom.SumUint64(n + i)
			if first.ContainsHash(h) {
				one++
				if second.ContainsHash(h.Salt(1)) {
					both++
				}
			}
			if whole.ContainsHash(h) {
				all++
			}
		}
		t.Logf("%s: %.2f bits a key; the first %.3g, both %.3g, one of that size %.3g", name, 8*float64(whole.SizeBytes())/n,
			float64(one)/asked, float64(both)/asked, float64(all)/asked)
		sigma := math.Sqrt(asked * 1e-4)
		require.InDelta(t, asked*1e-4, both, 5*sigma, name)
		require.InDelta(t, asked*1e-4, all, 5*sigma, name)
	}
}
