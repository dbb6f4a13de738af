// Api compares the exported names of every released module with the lists in directory api. Each
// module that is not a command has a file there, with a line for each name and its type. Api fails
// if a module and its file differ. It prints BREAKS for a line that is gone or has changed, because
// users' programs may no longer compile, or JSON may have other names. With -write, it writes new
// lists.
//
// It also fails if two methods with the same name and types have parameters or results with
// different names.
//
//	go run ./.ci/api [-write]
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "write the lists")
	flag.Parse()
	if err := run(*write); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(write bool) error {
	folders, err := output(".", ".ci/release", "modules")
	if err != nil {
		return err
	}
	differ := 0
	methods := &signatures{first: map[string]string{}}
	files, _ := filepath.Glob("api/*.txt")
	for _, folder := range strings.Fields(folders) {
		have, err := names(folder, methods)
		if err != nil {
			return err
		}
		if len(have) == 0 { // the module is a command
			continue
		}
		name := strings.ReplaceAll(strings.Replace(folder, ".", "bloom", 1), "/", "-")
		path := filepath.Join("api", name+".txt")
		files = slices.DeleteFunc(files, func(f string) bool { return f == path })
		text, err := os.ReadFile(path)
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		want := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
		differ += report("BREAKS", path, want, have) + report("new", path, have, want)
		if write {
			if err := os.WriteFile(path, []byte(strings.Join(have, "\n")+"\n"), 0o666); err != nil {
				return err
			}
		}
	}
	if len(files) > 0 {
		return fmt.Errorf("%s: no released module has these names", files)
	}
	if len(methods.uneven) > 0 {
		return errors.New(strings.Join(methods.uneven, "\n"))
	}
	if differ > 0 && !write {
		return fmt.Errorf("%d lines differ; if they must: go run ./.ci/api -write", differ)
	}
	return nil
}

// report prints the lines of a that are not in b, and returns their number.
func report(mark, path string, a, b []string) (n int) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Println(mark, path+":", line)
			n++
		}
	}
	return n
}

func output(folder, command string, args ...string) (string, error) {
	cmd := exec.Command(command, args...)
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s in %s: %w", command, strings.Join(args, " "), folder, err)
	}
	return string(out), nil
}

// names returns a sorted list of lines, one for each exported name in the packages of a module.
func names(folder string, methods *signatures) (lines []string, err error) {
	out, err := output(folder, "go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Export}}\t{{if .Module}}{{.Module.Main}}{{end}}\t{{.Name}}", "./...")
	if err != nil {
		return nil, err
	}
	module, err := output(folder, "go", "list", "-f", "{{.Module.Path}}", ".")
	if err != nil {
		return nil, err
	}
	module = strings.TrimSpace(module)
	exports := map[string]string{}
	var paths []string
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		exports[f[0]] = f[1]
		rest, ok := strings.CutPrefix(f[0]+"/", module+"/")
		hasCode := len(f) == 4 && f[1] != "" // a package with only tests has no export file
		if ok && hasCode && f[2] == "true" && f[3] != "main" &&
			!strings.HasPrefix(rest, "examples/") && !strings.Contains("/"+rest, "/internal/") {
			paths = append(paths, f[0])
		}
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	imports := importer.ForCompiler(token.NewFileSet(), "gc", open)
	for _, path := range paths {
		pkg, err := imports.Import(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, list(pkg, methods)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// list returns a line for each exported name, field and method of pkg, and adds its methods to
// methods.
func list(pkg *types.Package, methods *signatures) (lines []string) {
	base := pkg.Path()
	qualify := func(other *types.Package) string {
		if other == pkg {
			return ""
		}
		return other.Name()
	}
	add := func(format string, args ...any) {
		short := strings.TrimPrefix(base, "github.com/seed79a3ff49/")
		line := short + ": " + fmt.Sprintf(format, args...)
		lines = append(lines, line)
	}
	write := func(t types.Type) string {
		var b bytes.Buffer
		types.WriteType(&b, t, qualify)
		return b.String()
	}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			add("const %s %s = %s", name, write(object.Type()), object.Val())
		case *types.Var:
			add("var %s %s", name, write(object.Type()))
		case *types.Func:
			add("func %s%s", name, strings.TrimPrefix(write(object.Type()), "func"))
		case *types.TypeName:
			under := object.Type().Underlying()
			switch under := under.(type) {
			case *types.Struct:
				comparable := ""
				if types.Comparable(under) {
					comparable = ", comparable"
				}
				add("type %s%s struct%s", name, parameters(object, write), comparable)
				number := 0 // the position of the field in an unkeyed literal
				for i := range under.NumFields() {
					field := under.Field(i)
					if !field.Exported() {
						continue
					}
					number++
					tag := ""
					if t := under.Tag(i); t != "" {
						tag = " `" + t + "`"
					}
					add("field %s.%s #%d %s%s",
						name, field.Name(), number, write(field.Type()), tag)
				}
			default:
				add("type %s%s %s", name, parameters(object, write), write(under))
			}
			if types.IsInterface(under) {
				continue
			}
			values := types.NewMethodSet(object.Type())
			for selection := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
				method := selection.Obj()
				if !method.Exported() {
					continue
				}
				receiver := "*" + name
				if values.Lookup(pkg, method.Name()) != nil {
					receiver = name
				}
				signature := withoutBlanks(selection.Type().(*types.Signature))
				written := method.Name() + strings.TrimPrefix(write(signature), "func")
				add("method (%s) %s", receiver, written)
				methods.add(method.Name()+write(unnamed(signature)), written)
			}
		}
	}
	return lines
}

// parameters returns the type parameters of a type with their constraints, such as "[T any]".
func parameters(object *types.TypeName, write func(types.Type) string) string {
	named, ok := object.Type().(*types.Named)
	if !ok || named.TypeParams().Len() == 0 {
		return ""
	}
	var list []string
	for parameter := range named.TypeParams().TypeParams() {
		list = append(list, parameter.Obj().Name()+" "+write(parameter.Constraint()))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// signatures collects the methods of all packages.
type signatures struct {
	first  map[string]string // the first method that was added for each key, as written
	uneven []string
}

// add adds a method. written has its name, and the names and types of parameters and results; key
// lacks the names of parameters and results.
func (s *signatures) add(key, written string) {
	first, ok := s.first[key]
	if !ok {
		s.first[key] = written
	} else if first != written {
		s.uneven = append(s.uneven,
			fmt.Sprintf("one method is written in two ways: %s and %s", first, written))
	}
}

// unnamed returns s without the names of its parameters and results.
func unnamed(s *types.Signature) *types.Signature {
	params, results := typesOf(s.Params()), typesOf(s.Results())
	return types.NewSignatureType(nil, nil, nil, params, results, s.Variadic())
}

// withoutBlanks returns s without the names that the compiler has given to its results.
func withoutBlanks(s *types.Signature) *types.Signature {
	if results := s.Results(); results.Len() > 0 && strings.HasPrefix(results.At(0).Name(), "#") {
		return types.NewSignatureType(nil, nil, nil, s.Params(), typesOf(results), s.Variadic())
	}
	return s
}

// typesOf returns tuple without names.
func typesOf(tuple *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range tuple.Variables() {
		vars = append(vars, types.NewVar(token.NoPos, nil, "", v.Type()))
	}
	return types.NewTuple(vars...)
}
