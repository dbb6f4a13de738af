package bloomredis

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// roleCalls does what the README says that a role may do.
func roleCalls(role string, client *redis.Client) error {
	const n, p = 1_000_000, 0.01 // uploaded in two pieces
	var f *Filter
	var w *Window
	var version string
	open := func() (err error) { f, err = Open(ctx, client, "seen", n, p); return err }
	write := func() error { return firstError(f.AddOnce(ctx, "token", bloom.SumString("b"))) }
	read := func() error { return roleCalls("filter-reader", client) }
	visit := func() (err error) { w, err = OpenWindow(ctx, client, "visits", visits); return err }
	for _, call := range map[string][]func() error{
		"filter-reader": {
			open,
			func() (err error) { f, err = OpenExisting(ctx, client, "seen"); return err },
			func() error { return firstError(f.ContainsString(ctx, "a")) },
			func() error { return firstError(f.Stats(ctx)) },
			func() error { u, err := f.Source().Fetch(ctx, ""); version = u.Version; return err },
			func() error { return firstError(f.Source().Fetch(ctx, version)) },
		},
		"filter-writer": {open, write, read},
		"filter-owner": {
			open,
			func() error { return f.Delete(ctx) },
			open, write,
			func() error { return f.Merge(ctx, bloom.Must(bloom.New(n, p))) },
			func() error { return f.Reset(ctx) },
			read,
		},
		"window-reader": {
			visit,
			func() error { return firstError(w.ContainsString(ctx, "a")) },
			func() error { return firstError(w.Stats(ctx)) },
		},
		"window-writer": {
			visit,
			func() error { return firstError(w.AddString(ctx, "b")) },
			func() error { return firstError(w.AddOnce(ctx, "token", bloom.SumString("b"))) },
			func() error { return w.Reset(ctx) },
			func() error { return w.Delete(ctx) },
			func() error { return DeleteWindow(ctx, client, "visits") },
		},
	}[role] {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// The README's users can do what they are for, nothing that only the next role
// may, and need each of their commands.
func TestRoles(t *testing.T) {
	readme := bloom.Must(os.ReadFile("README.md"))
	s := startServer(t)
	admin := s.client()
	// as makes the calls of a role with the rights of a user, but for one.
	as := func(user []string, without, role string) error {
		require.NoError(t, admin.FlushAll(ctx).Err())
		if strings.HasPrefix(role, "filter") {
			require.NoError(t, roleCalls("filter-reader", admin))
		}
		require.NoError(t, admin.ScriptFlush(ctx).Err())
		args := []any{"ACL", "SETUSER"}
		for _, field := range user {
			if field != without {
				args = append(args, field)
			}
		}
		require.NoError(t, admin.Do(ctx, args...).Err())
		client := redis.NewClient(&redis.Options{Addr: s.addr, Username: user[0], Password: "secret"})
		defer client.Close()
		if role == "window-reader" {
			if err := roleCalls(role, client); err != nil { // before the first Add makes the window
				return err
			}
			w := bloom.Must(OpenWindow(ctx, admin, "visits", visits))
			mustAdd(t, w, bloom.SumString("a"))
		}
		return roleCalls(role, client)
	}
	next := map[string]string{"filter-reader": "filter-writer", "filter-writer": "filter-owner",
		"window-reader": "window-writer"}
	users := regexp.MustCompile(`(?m)^ACL SETUSER (.*)$`).FindAllStringSubmatch(string(readme), -1)
	require.Len(t, users, 5)
	for _, user := range users {
		user := strings.Fields(user[1])
		role := user[0]
		t.Run(role, func(t *testing.T) {
			require.NoError(t, as(user, "", role))
			if next := next[role]; next != "" {
				assert.Error(t, as(user, "", next))
			}
			for _, right := range user {
				if strings.ContainsAny(right[:1], "+~%") {
					assert.Error(t, as(user, right, role), "%s is not needed", right)
				}
			}
		})
	}
}
