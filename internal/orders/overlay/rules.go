package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"path/filepath"
	"slices"
	"strings"
)

// source is a file of the library with edits. Except in seeds, no edit adds or removes lines before
// the file's end, so traces show the library's line numbers.
type source struct {
	path, text string
	set        *token.FileSet
	file       *ast.File
	edits      []edit
}

// edit replaces the text between two offsets.
type edit struct {
	begin, end int
	text       string
}

func parse(path, text string) (*source, error) {
	s := &source{path: path, text: text, set: token.NewFileSet()}
	var err error
	s.file, err = parser.ParseFile(s.set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	return s, err
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

func (s *source) textOf(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

func (s *source) replace(begin, end token.Pos, text string) {
	s.edits = append(s.edits, edit{s.offset(begin), s.offset(end), text})
}

func (s *source) insert(p token.Pos, text string) { s.replace(p, p, text) }

func (s *source) edited() string {
	slices.SortStableFunc(s.edits, func(a, b edit) int { return cmp.Compare(a.begin, b.begin) })
	var out strings.Builder
	done := 0
	for _, e := range s.edits {
		if e.begin < done {
			log.Fatalf("%s: two changes of %q", s.path, s.text[e.begin:e.end])
		}
		out.WriteString(s.text[done:e.begin] + e.text)
		done = e.end
	}
	return out.String() + s.text[done:]
}

// explore turns each use of a lock or an atomic, and each go statement, receive, close and select,
// into a point. In the packages of timed, time.Now and time.AfterFunc become points, too. In the
// packages of steps, it marks calls; see orders.Enter.
func (s *source) explore() {
	folder := filepath.ToSlash(filepath.Dir(s.path))
	explored := false
	point := func(begin, end token.Pos, text string) {
		s.replace(begin, end, "explorer."+text)
		explored = true
	}
	for _, i := range s.file.Imports {
		switch i.Path.Value {
		case `"sync"`:
			s.replace(i.Pos(), i.End(), "sync "+standIn)
		case `"sync/atomic"`:
			s.replace(i.Pos(), i.End(), "atomic "+standIn)
		}
	}
	readsTime := false
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains(steps, folder) && n.Body != nil && n.Name.IsExported() {
				s.insert(n.Body.Lbrace+1, fmt.Sprintf(" defer explorer.Enter(%q)();", folder))
				explored = true
			}
		case *ast.GoStmt:
			if _, ok := n.Call.Fun.(*ast.FuncLit); !ok || len(n.Call.Args) > 0 {
				log.Fatalf("%s: go of a call, instead of go func() { ... }()", s.set.Position(n.Pos()))
			}
			point(n.Pos(), n.Call.Pos(), "Go(")
			s.replace(n.Call.Lparen, n.Call.Rparen, "")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				point(n.Pos(), n.X.Pos(), "Recv(")
				s.insert(n.End(), ")")
			}
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "close" {
				point(name.Pos(), name.End(), "Close")
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && pkg.Name == "time" && slices.Contains(timed, folder) &&
				(n.Sel.Name == "Now" || n.Sel.Name == "AfterFunc") {
				point(n.Pos(), n.End(), n.Sel.Name)
				readsTime = true
			}
		case *ast.SelectStmt:
			var arms []string
			for _, c := range n.Body.List {
				c := c.(*ast.CommClause)
				arms = append(arms, s.arm(c.Comm))
				s.replace(c.Pos(), c.Colon, fmt.Sprintf("case %d", len(arms)-1))
				for _, stmt := range c.Body {
					ast.Inspect(stmt, visit)
				}
			}
			s.replace(n.Pos(), n.Body.Lbrace, "switch explorer.Select("+strings.Join(arms, ", ")+") ")
			explored = true
			return false
		}
		return true
	}
	ast.Inspect(s.file, visit)
	if explored {
		s.insert(s.file.Name.End(), "; import explorer "+standIn)
	}
	if readsTime { // without this, package time might be unused
		s.edits = append(s.edits, edit{len(s.text), len(s.text), "\nvar _ time.Time\n"})
	}
}

// arm returns the call into package orders that replaces a case of a select statement.
func (s *source) arm(stmt ast.Stmt) string {
	switch stmt := stmt.(type) {
	case *ast.SendStmt:
		return fmt.Sprintf("explorer.Sends(%s, %s)", s.textOf(stmt.Chan), s.textOf(stmt.Value))
	case *ast.ExprStmt:
		if receive, ok := stmt.X.(*ast.UnaryExpr); ok {
			return fmt.Sprintf("explorer.Receives(%s)", s.textOf(receive.X))
		}
	}
	log.Fatalf("%s: a select whose arms are more than sends, and receives without a variable", s.path)
	return ""
}
