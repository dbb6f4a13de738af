// Ask looks up the keys in test vectors, for .ci/compatible:
//
//	ask DIR                 writes a line of answers for each filter in DIR, or null if a newer
//	                        version wrote the filter
//	ask -types command      writes the types that the command reads
//	ask -types javascript   writes the types that bloom.mjs reads
//	ask -types invariants   writes the types that check themselves with that build tag
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/alltypes"
)

func main() {
	if os.Args[1] == "-types" {
		has := map[string]func(alltypes.Type) bool{
			"command":    func(t alltypes.Type) bool { return t.Command || t.Checked },
			"javascript": func(t alltypes.Type) bool { return t.JavaScript },
			"invariants": func(t alltypes.Type) bool { return t.Invariants },
		}[os.Args[2]]
		fmt.Println(strings.Join(alltypes.Packages(has), ","))
		return
	}
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
		// If this version does not know the type, it decodes the form as a bloom.Filter, which
		// fails.
		typ, ok := alltypes.ByPackage(test.Type)
		if !ok {
			typ = alltypes.All[0]
		}
		f := typ.Decoder(test.Now)
		answers := []any{}
		err := f.UnmarshalBinary(data)
		switch {
		case err == nil:
			answers = alltypes.Answers(f, vectors.Keys)
		case errors.Is(err, bloom.ErrVersion):
			answers = nil
		default:
			answers = []any{err.Error()}
		}
		fmt.Println(string(bloom.Must(json.Marshal(answers))))
	}
}
