package alltypes

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

const root = "../.."

// files returns the parsed files of a directory, tests or others, with their imports.
func files(t *testing.T, folder string, tests bool) (parsed []*ast.File) {
	paths, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") != tests {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	return parsed
}

// imports reports whether a file of a directory imports a package of this module.
func imports(t *testing.T, folder, pkg string) bool {
	path := strings.TrimSuffix("github.com/seed79a3ff49/bloom/"+strings.TrimPrefix(pkg, "bloom"), "/")
	for _, f := range append(files(t, folder, false), files(t, folder, true)...) {
		for _, i := range f.Imports {
			if name, _ := strconv.Unquote(i.Path.Value); name == path {
				return true
			}
		}
	}
	return false
}

// calls reports whether a test of a directory calls pkg.name.
func calls(t *testing.T, folder, pkg, name string) (found bool) {
	for _, f := range files(t, folder, true) {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
				x, ok := s.X.(*ast.Ident)
				found = found || ok && x.Name == pkg
			}
			return true
		})
	}
	return found
}

// folderOf returns the directory of a package, relative to the root.
func folderOf(pkg string) string { return strings.TrimPrefix(pkg, "bloom") }

// readsSample reports whether a test of the package, or one of all types, names the package's sample
// of version 1.
func readsSample(t *testing.T, pkg string) bool {
	tests := bloom.Must(filepath.Glob(filepath.Join(root, folderOf(pkg), "*_test.go")))
	for _, path := range append(tests, filepath.Join(root, "all_types_test.go")) {
		name := "testdata/v1."
		if filepath.Base(path) == "all_types_test.go" {
			name = strings.TrimPrefix(folderOf(pkg)+"/", "/") + name
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.Contains(string(text), `"`+name) {
			return true
		}
	}
	return false
}

// TestEachPackageHasARow: a package with a function LoadFile has a row, and its exported types that
// can be saved are the names of its rows.
func TestEachPackageHasARow(t *testing.T) {
	var want, got []string
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	folders := []string{""}
	for _, e := range entries {
		_, err := os.Stat(filepath.Join(root, e.Name(), "go.mod"))
		if e.IsDir() && os.IsNotExist(err) {
			folders = append(folders, e.Name())
		}
	}
	for _, folder := range folders {
		for _, f := range files(t, folder, false) {
			for _, d := range f.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Name.Name == "LoadFile" && d.Recv == nil {
					want = append(want, f.Name.Name)
				}
			}
		}
	}
	for _, typ := range Forms() {
		got = append(got, typ.Package())
	}
	require.ElementsMatch(t, want, got)
	for _, typ := range All {
		require.True(t, strings.HasPrefix(typ.New(1).String(), typ.Name+"("), typ.Name)
		require.Equal(t, strings.HasSuffix(typ.Name, ".SyncFilter"), typ.Sync)
	}
}

// TestForms: each form but Guava's has a kind of frame, which names the type.
func TestForms(t *testing.T) {
	for _, typ := range All {
		data := bloom.Must(typ.New(100).MarshalBinary())
		kind := form.KindOf(data)
		require.Equal(t, typ.Guava, kind == nil, typ.Name)
		if kind != nil {
			require.Equal(t, typ.Package(), kind.Package)
			require.Equal(t, strings.Replace(typ.Name, "Sync", "", 1), form.Name(data))
		}
	}
}

// TestPlaces: each type stands wherever the types of the module are used.
func TestPlaces(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "testdata/vectors/vectors.json"))
	require.NoError(t, err)
	var vectors struct{ Filters []struct{ Type string } }
	require.NoError(t, json.Unmarshal(text, &vectors))
	for _, typ := range Forms() {
		pkg := typ.Package()
		t.Run(pkg, func(t *testing.T) {
			require.True(t, calls(t, folderOf(pkg), "filtertest", "Test"), "the tests of all promises")
			require.True(t, imports(t, "internal/orders/cases", pkg), "the cases of goroutines")
			require.Equal(t, typ.Invariants, imports(t, folderOf(pkg), "internal/invariants"))
			require.True(t, slices.ContainsFunc(vectors.Filters,
				func(f struct{ Type string }) bool { return f.Type == pkg }), "vectors")
			samples := bloom.Must(filepath.Glob(filepath.Join(root, folderOf(pkg), "testdata/v1.*")))
			require.NotEmpty(t, samples, "a sample of version 1")
			require.True(t, readsSample(t, pkg), "a test that reads the sample")
			for _, page := range []string{
				"README.md", "CONTRIBUTING.md", "docs/format.md", "docs/questions.md",
			} {
				text, err := os.ReadFile(filepath.Join(root, page))
				require.NoError(t, err)
				require.Contains(t, string(text), pkg, page)
			}
			if _, err := fs.Stat(os.DirFS(root), "cmd/bloom"); err != nil {
				t.Skip("the other modules are not here")
			}
			require.True(t, imports(t, "benchmarks", pkg), "the benchmarks")
			inCommand := typ.Command || typ.Checked
			if inCommand {
				require.True(t, imports(t, "cmd/bloom", pkg), "the command")
			}
			require.True(t, imports(t, "internal/alltypes", pkg))
		})
	}
}
