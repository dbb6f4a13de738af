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

// OpenCaches is an option of service.RunCLI. With it the program opens the caches bloom and
// bloom_redis of its configuration, and of the files of its flag -r, before it starts a
// stream. It does not start if one cannot be opened.
//
// The engine by itself opens a cache when a message first asks for it. If that fails, dedupe
// logs the error and drops the message, unless drop_on_err is false.
//
// Labels in the files of -r must be written out, without variables. OpenCaches is made of the
// options CLIOptOnConfigParse and CLIOptCustomRunFlags. The engine keeps the last one of each
// that a program gives.
func OpenCaches(b *service.CLIOptBuilder) {
	var files []string
	service.CLIOptCustomRunFlags(nil, func(c *cli.Context) error {
		for _, c := range c.Lineage() { // the flag may come before and after the word run
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
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() { // a pipe can be read once
				text, _ := os.ReadFile(file)
				labels = append(labels, labelsIn(text)...)
			}
		}
		for _, label := range labels {
			if !conf.Resources().HasCache(label) {
				continue // of a file that the engine did not read
			}
			if err := conf.Resources().AccessCache(context.Background(), label, func(service.Cache) {}); err != nil {
				return fmt.Errorf("bloombenthos: cache %q: %w", label, err)
			}
		}
		return nil
	})(b)
}

// match returns at least the files that the engine has read for patterns of its flag -r. In
// those, ** is any folder.
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

// labelsIn returns the labels of this package's caches in a configuration. Other text has no
// labels.
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

// place is where the cache with a label is, while it is open.
type place struct {
	sync.Mutex
	cache *cache
}

type label string

// openOnce returns the cache that is open under res's label, or the one that open makes.
// Where several messages are the first ones at once, the engine opens a cache several times
// and keeps the last. The ids in the others would be lost, and their files overwritten.
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
