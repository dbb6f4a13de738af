package bloomredis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Persistence says how the server of a key keeps what it has. The README says what
// each setting loses.
type Persistence struct {
	AppendOnly  bool   // appendonly: whether the server logs each write
	AppendFsync string // appendfsync: when the log is on disk: always, everysec or no
	Save        string // save: after how many seconds and changes it writes a snapshot; empty for never
	Eviction    string // maxmemory-policy: which keys it throws away when memory is short
}

// String says in a sentence what a crash of the server or its machine loses.
func (p Persistence) String() string {
	switch {
	case p.AppendOnly && p.AppendFsync == "always":
		return "a crash loses nothing that was acknowledged"
	case p.AppendOnly && p.AppendFsync == "everysec":
		return "a crash loses up to two seconds"
	case p.AppendOnly:
		return "a crash of the machine loses what its kernel had not written yet"
	case p.Save != "":
		return "a crash loses everything after the last snapshot"
	}
	return "a crash loses everything"
}

// Persistence asks the server of the filter's key for its settings. That needs
// the right to CONFIG GET, which hosted services often deny.
func (f *Filter) Persistence(ctx context.Context) (Persistence, error) { return f.persistence(ctx) }

// Persistence asks the server of the window's key; see [Filter.Persistence].
func (w *Window) Persistence(ctx context.Context) (Persistence, error) { return w.persistence(ctx) }

func (c caller) persistence(ctx context.Context) (Persistence, error) {
	// The commands name no key, so a client of several servers would ask any.
	var node *redis.Client
	var err error
	switch client := c.client.(type) {
	case *redis.ClusterClient:
		node, err = client.MasterForKey(ctx, c.key)
	case *redis.Ring:
		node, err = client.GetShardClientForKey(c.key)
	}
	if err != nil {
		return Persistence{}, c.errorf("%w", err)
	}
	if node != nil {
		c.client = node
	}
	settings := make(map[string]string)
	for _, name := range []string{"appendonly", "appendfsync", "save", "maxmemory-policy"} {
		cmd := redis.NewMapStringStringCmd(ctx, "CONFIG", "GET", name)
		if err := c.read(ctx, cmd); err != nil {
			return Persistence{}, err
		}
		settings[name] = cmd.Val()[name]
	}
	return Persistence{settings["appendonly"] == "yes", settings["appendfsync"], settings["save"], settings["maxmemory-policy"]}, nil
}
