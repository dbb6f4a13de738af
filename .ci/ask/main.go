// Ask looks up the keys of vectors, for .ci/compatible. It writes a line of answers for each
// filter, or null if a newer version wrote the filter.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

type filter interface {
	ContainsString(key string) bool
	UnmarshalBinary(data []byte) error
}

func main() {
	folder := os.Args[1]
	var vectors struct {
		Keys    []string
		Filters []struct {
			File, Type string
			Now        int64
		}
	}
	text := bloom.Must(os.ReadFile(filepath.Join(folder, "vectors.json")))
	if err := json.Unmarshal(text, &vectors); err != nil {
		panic(err)
	}
	for _, test := range vectors.Filters {
		data := bloom.Must(os.ReadFile(filepath.Join(folder, test.File)))
		answers, err := ask(test.Type, test.Now, data, vectors.Keys)
		if errors.Is(err, bloom.ErrVersion) {
			answers = nil
		} else if err != nil {
			answers = []any{err.Error()}
		}
		fmt.Println(string(bloom.Must(json.Marshal(answers))))
	}
}

// ask returns an answer for each key: 0 or 1, or for a bank the list of members.
func ask(kind string, now int64, data []byte, keys []string) (answers []any, err error) {
	if kind == "bank" {
		b := new(bank.Bank)
		err := b.UnmarshalBinary(data)
		for _, key := range keys {
			answers = append(answers, b.Which([]int{}, bloom.SumString(key)))
		}
		return answers, err
	}
	f := decoder(kind, now)
	err = f.UnmarshalBinary(data)
	for _, key := range keys {
		answer := 0
		if f.ContainsString(key) {
			answer = 1
		}
		answers = append(answers, answer)
	}
	return answers, err
}

// decoder returns an empty filter of a kind. For a kind that this version does not know it returns
// a bloom.Filter, whose decoder must refuse the bytes.
func decoder(kind string, now int64) filter {
	switch kind {
	case "blocked":
		return new(blocked.Filter)
	case "growing":
		return new(growing.Filter)
	case "counting":
		return new(counting.Filter)
	case "cuckoo":
		return new(cuckoo.Filter)
	case "flower":
		return new(flower.Filter)
	case "window":
		clock := func() time.Time { return time.Unix(0, now) }
		return bloom.Must(window.New(window.Config{N: 1, P: 0.5, Span: time.Hour, Now: clock}))
	}
	return new(bloom.Filter)
}
