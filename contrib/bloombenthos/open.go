package bloombenthos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/urfave/cli/v2"
	"gopkg.in/yaml.v3"
)

// OpenCaches is an option of service.RunCLI. It opens the bloom and bloom_redis caches in the
// program's configuration, and in the regular files of its -r flag, before the program starts a
// stream. The program does not start if one of these caches cannot be opened.
//
// Without this option, the engine opens a cache when a message first needs it. If that fails,
// dedupe logs the error and drops the message, unless drop_on_err is false.
//
// Labels in the files of -r must not contain variables. OpenCaches sets the options
// CLIOptOnConfigParse and CLIOptCustomRunFlags. If a program sets one of them itself, only the last
// setting counts.
func OpenCaches(b *service.CLIOptBuilder) {
	var files []string
	service.CLIOptCustomRunFlags(nil, func(c *cli.Context) error {
		for _, c := range c.Lineage() { // the flag may come before or after the word run
			if patterns := c.StringSlice("resources"); len(patterns) > 0 {
				files = match(patterns)
				break
			}
		}
		return nil
	})(b)
	service.CLIOptOnConfigParse(func(conf *service.ParsedConfig) error {
		var labels []string
		if conf.Contains("cache_resources") {
			list, err := conf.FieldAny("cache_resources")
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(map[string]any{"cache_resources": list})
			if err != nil {
				return err
			}
			labels = labelsIn(text)
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err != nil || !info.Mode().IsRegular() {
				continue // a pipe, for example, cannot be read again after the engine has read it
			}
			text, _ := os.ReadFile(file)
			labels = append(labels, labelsIn(text)...)
		}
		ctx := context.Background()
		for _, label := range labels {
			if !conf.Resources().HasCache(label) {
				continue // the engine did not read the file with this label
			}
			err := conf.Resources().AccessCache(ctx, label, func(service.Cache) {})
			if err != nil {
				return fmt.Errorf("bloombenthos: cache %q: %w", label, err)
			}
		}
		return nil
	})(b)
}

// match returns all files that the engine has read for the patterns of its -r flag, and possibly
// more. In a pattern, ** stands for any number of directories.
func match(patterns []string) (files []string) {
	for _, pattern := range patterns {
		before, _, _ := strings.Cut(pattern, "**")
		found, _ := filepath.Glob(before)
		for _, path := range found {
			_ = filepath.WalkDir(path, func(path string, _ fs.DirEntry, _ error) error {
				files = append(files, path)
				return nil
			})
		}
	}
	return files
}

// labelsIn returns the labels of this package's caches in a configuration. It ignores text that is
// not a configuration.
func labelsIn(text []byte) (labels []string) {
	var conf struct {
		Caches []map[string]any `yaml:"cache_resources"`
	}
	_ = yaml.Unmarshal(text, &conf)
	for _, cache := range conf.Caches {
		_, inMemory := cache["bloom"]
		_, inRedis := cache["bloom_redis"]
		if label, ok := cache["label"].(string); ok && (inMemory || inRedis) {
			labels = append(labels, label)
		}
	}
	return labels
}

// place holds a cache while the cache is open.
type place struct {
	sync.Mutex
	cache *cache
}

// label is the key of a place in the engine's resources.
type label string

// openOnce returns the cache that is open under res's label, or calls open to make it. If several
// messages need a cache before it is open, the engine opens it several times and keeps only the
// last one: the ids in the others would be lost, and their files overwritten.
func openOnce(res *service.Resources, open func() (*cache, error)) (*cache, error) {
	v, _ := res.GetOrSetGeneric(label(res.Label()), new(place))
	p := v.(*place)
	p.Lock()
	defer p.Unlock()
	if p.cache != nil {
		return p.cache, nil
	}
	c, err := open()
	if err != nil {
		return nil, err
	}
	c.closed = func() {
		p.Lock()
		p.cache = nil
		p.Unlock()
	}
	p.cache = c
	return c, nil
}
