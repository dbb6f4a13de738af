package bloomprom_test

import (
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/contrib/bloomprom"
	"github.com/seed79a3ff49/bloom/guard"
)

func scrape(t testing.TB, registry *prometheus.Registry) string {
	t.Helper()
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	response, err := http.Get(server.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}

func TestFilterCollector(t *testing.T) {
	var calls int
	now := bloom.Stats{SizeBytes: 16, FillRatio: 0.25, ApproxCount: 7, FPR: 0.0625}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		bloomprom.NewFilterCollector("users", func() bloom.Stats { calls++; return now }),
		bloomprom.NewFilterCollector("words", new(bloom.Filter).Stats),
	)
	calls = 0
	got := scrape(t, registry)
	assert.Equal(t, 1, calls, "a scrape reads the filter once")
	for _, line := range []string{
		`bloom_filter_size_bytes{filter="users"} 16`,
		`bloom_filter_fill_ratio{filter="users"} 0.25`,
		`bloom_filter_keys{filter="users"} 7`,
		`bloom_filter_false_positive_rate{filter="users"} 0.0625`,
		`bloom_filter_size_bytes{filter="words"} 0`,
	} {
		assert.Contains(t, got, line+"\n")
	}
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Error(t, registry.Register(bloomprom.NewFilterCollector("users", func() bloom.Stats {
		return now
	})), "a name is taken once")

	now = bloom.Stats{ApproxCount: 8} // another filter takes its place
	assert.Contains(t, scrape(t, registry), `bloom_filter_keys{filter="users"} 8`+"\n")
}

func TestReachCollector(t *testing.T) {
	reach := 90 * time.Second
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		bloomprom.NewReachCollector("ids", func() time.Duration { return reach }),
		bloomprom.NewReachCollector("links", func() time.Duration { return time.Hour }),
	)
	assert.Contains(t, scrape(t, registry), `bloom_filter_reach_seconds{filter="ids"} 90`+"\n")
	reach = 1500 * time.Millisecond
	got := scrape(t, registry)
	assert.Contains(t, got, `bloom_filter_reach_seconds{filter="ids"} 1.5`+"\n")
	assert.Contains(t, got, `bloom_filter_reach_seconds{filter="links"} 3600`+"\n")
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Panics(t, func() { bloomprom.NewReachCollector("ids", nil) })
}

// TestGuard is the set-up of the package comment, scraped before the first load and after it.
func TestGuard(t *testing.T) {
	g := bloom.Must(guard.New(guard.Config{P: 0.01, Learn: 1,
		Load: func(_ context.Context, keys *guard.Loader) error {
			keys.AddString("ada")
			return nil
		}}))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		bloomprom.NewFilterCollector("users", g.Stats),
		bloomprom.NewGuardCollector("users", g.Counts),
	)
	before := scrape(t, registry)
	assert.Contains(t, before, `bloom_filter_size_bytes{filter="users"} 0`+"\n")
	assert.Contains(t, before, `bloom_filter_false_positive_rate{filter="users"} 1`+"\n",
		"every key passes")
	require.NoError(t, g.Rebuild(context.Background()))
	after := scrape(t, registry)
	assert.Contains(t, after, `bloom_filter_keys{filter="users"} 1`+"\n")
	assert.NotContains(t, after, `bloom_filter_false_positive_rate{filter="users"} 1`+"\n")

	lookup := func(key string, found bool, err error) {
		_, _ = g.LookupString(key, func() (bool, error) { return found, err })
	}
	lookup("bob", false, nil)
	lookup("ada", false, errors.New("down"))
	lookup("ada", true, nil)
	for range 4 {
		lookup("ada", false, nil)
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP bloom_lookup_queries_total Queries by look-ups.
# TYPE bloom_lookup_queries_total counter
bloom_lookup_queries_total{filter="users"} 3
# HELP bloom_lookups_total Look-ups, by their result.
# TYPE bloom_lookups_total counter
bloom_lookups_total{filter="users",result="false_positive"} 1
bloom_lookups_total{filter="users",result="hit"} 1
bloom_lookups_total{filter="users",result="learned"} 3
bloom_lookups_total{filter="users",result="miss"} 1
`), "bloom_lookups_total", "bloom_lookup_queries_total"))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	assert.Panics(t, func() { bloomprom.NewGuardCollector("users", nil) })
	assert.Error(t, registry.Register(bloomprom.NewGuardCollector("users", g.Counts)),
		"a name is taken once")
}

func TestLookups(t *testing.T) {
	l := bloomprom.NewLookups("users")
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(l, bloomprom.NewLookups("words"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100_000 { // long enough for several to run in parallel
				l.Hit()
				l.Miss()
				l.Miss()
			}
			l.FalsePositive()
		}()
	}
	wg.Wait()
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP bloom_lookups_total Look-ups, by their result.
# TYPE bloom_lookups_total counter
bloom_lookups_total{filter="users",result="false_positive"} 4
bloom_lookups_total{filter="users",result="hit"} 400000
bloom_lookups_total{filter="users",result="miss"} 800000
bloom_lookups_total{filter="words",result="false_positive"} 0
bloom_lookups_total{filter="words",result="hit"} 0
bloom_lookups_total{filter="words",result="miss"} 0
`)))
	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)

	var published map[string]int
	require.NoError(t, json.Unmarshal([]byte(expvar.Var(l).String()), &published))
	assert.Equal(t, map[string]int{"hits": 400_000, "misses": 800_000, "false_positives": 4},
		published)
}

func TestPanics(t *testing.T) {
	assert.PanicsWithValue(t, "bloomprom: NewFilterCollector without a function", func() {
		bloomprom.NewFilterCollector("x", nil)
	})
	assert.PanicsWithValue(t, "bloomprom: registering a zero Lookups: make it with NewLookups",
		func() { new(bloomprom.Lookups).Describe(nil) })
}

func Example() {
	users := map[string]string{"ada": "Lovelace", "alan": "Turing"}
	seen := bloom.Must(bloom.NewSync(1000, 0.01))
	for name := range users {
		seen.AddString(name)
	}
	lookups := bloomprom.NewLookups("users")
	find := func(name string) (string, bool) {
		if !seen.ContainsString(name) {
			lookups.Miss()
			return "", false
		}
		user, ok := users[name]
		if ok {
			lookups.Hit()
		} else {
			lookups.FalsePositive()
		}
		return user, ok
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(bloomprom.NewFilterCollector("users", seen.Stats), lookups)
	expvar.Publish("users", lookups) // the same counts, by the standard library
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	find("ada")
	find("nobody")
	fmt.Println(expvar.Get("users"))
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	for _, family := range families {
		fmt.Println(family.GetName(), len(family.GetMetric()))
	}
	// Output:
	// {"hits": 1, "misses": 1, "false_positives": 0}
	// bloom_filter_false_positive_rate 1
	// bloom_filter_fill_ratio 1
	// bloom_filter_keys 1
	// bloom_filter_size_bytes 1
	// bloom_lookups_total 3
}

// TestAlerts: the rules of alerts.yml fire when they should, and are about metrics that there are.
func TestAlerts(t *testing.T) {
	rules := string(bloom.Must(os.ReadFile("alerts.yml")))
	readme := string(bloom.Must(os.ReadFile("README.md")))
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		bloomprom.NewFilterCollector("users", func() bloom.Stats { return bloom.Stats{} }),
		bloomprom.NewReachCollector("visits", func() time.Duration { return 0 }),
	)
	metrics := scrape(t, registry) + readme
	names := regexp.MustCompile(`\bbloom_\w+`).FindAllString(rules, -1)
	require.Len(t, names, 7)
	for _, name := range names {
		assert.Contains(t, metrics, name)
	}
	if _, err := exec.LookPath("promtool"); err != nil && os.Getenv("BLOOM_REQUIRE_PROMTOOL") == "" {
		t.Skip(err)
	}
	out, err := exec.Command("promtool", "check", "rules", "--lint-fatal",
		"alerts.yml").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("promtool", "test", "rules", "testdata/alerts_test.yml").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
