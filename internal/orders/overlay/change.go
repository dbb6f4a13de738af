package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"strings"
)

// seed is a bug to put into the library, and a pattern that matches the tests that find it.
type seed struct {
	name, cases string
	bug         []change
}

// change is an edit of a function such as "internal/form.Kept.change". Field call names the call at
// which the edit is made, if any. The name may be shortened to the part after a dot: "Unlock"
// matches any call of an Unlock. If the function has several such calls, number selects one,
// counting from 1; 0 requires that there is only one.
type change struct {
	function, call string
	number         int
	edit           func(s *source, f *ast.FuncDecl, calls []found) error
}

// found is a call that matches, with the nodes that contain it: the outermost first, the call last.
type found struct {
	call   *ast.CallExpr
	around []ast.Node
}

// unlocked returns a change that removes all calls of Lock and Unlock from a function.
func unlocked(function string) change {
	return change{function: function, edit: func(s *source, f *ast.FuncDecl, _ []found) error {
		n := len(s.edits)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.DeferStmt:
				if isLock(n.Call) {
					s.replace(n.Pos(), n.End(), "")
					return false
				}
			case *ast.ExprStmt:
				if call, ok := n.X.(*ast.CallExpr); ok && isLock(call) {
					s.replace(n.Pos(), n.End(), "")
				}
			}
			return true
		})
		if len(s.edits) == n {
			return fmt.Errorf("no lock")
		}
		return nil
	}}
}

func isLock(call *ast.CallExpr) bool { return isCall(call, "Lock") || isCall(call, "Unlock") }

// replaced returns a change that replaces a call with text, in which %s stands for the call.
func replaced(function, call string, number int, text string) change {
	return change{function, call, number, func(s *source, _ *ast.FuncDecl, calls []found) error {
		c := calls[0].call
		s.replace(c.Pos(), c.End(), strings.ReplaceAll(text, "%s", s.textOf(c)))
		return nil
	}}
}

func before(function, call string, number int, text string) change {
	return change{function, call, number, func(s *source, _ *ast.FuncDecl, calls []found) error {
		s.insert(calls[0].statement().Pos(), text+"; ")
		return nil
	}}
}

func after(function, call string, number int, text string) change {
	return change{function, call, number, func(s *source, _ *ast.FuncDecl, calls []found) error {
		s.insert(calls[0].statement().End(), "; "+text)
		return nil
	}}
}

// condition returns a change that replaces the condition of the innermost if statement around the
// call.
func condition(function, call string, number int, text string) change {
	return change{function, call, number, func(s *source, _ *ast.FuncDecl, calls []found) error {
		for i := len(calls[0].around) - 1; i >= 0; i-- {
			if n, ok := calls[0].around[i].(*ast.IfStmt); ok {
				s.replace(n.Cond.Pos(), n.Cond.End(), text)
				return nil
			}
		}
		return fmt.Errorf("no if around %s", call)
	}}
}

// value returns a change that replaces the initial value of a local variable.
func value(function, variable, text string) change {
	return change{function: function, edit: func(s *source, f *ast.FuncDecl, _ []found) error {
		n := len(s.edits)
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && a.Tok == token.DEFINE && len(a.Lhs) == 1 {
				if name := a.Lhs[0].(*ast.Ident); name.Name == variable {
					s.replace(a.Rhs[0].Pos(), a.Rhs[0].End(), text)
				}
			}
			return true
		})
		if len(s.edits) != n+1 {
			return fmt.Errorf("%d variables %s", len(s.edits)-n, variable)
		}
		return nil
	}}
}

func copied(function, body string) change {
	return change{function: function, edit: func(s *source, f *ast.FuncDecl, _ []found) error {
		s.replace(f.Body.Pos(), f.Body.End(), "{"+body+"}")
		return nil
	}}
}

// apply makes the change in files, which maps paths to contents.
func (c change) apply(files map[string]string) error {
	slash := strings.LastIndex(c.function, "/") + 1
	folder, name, _ := strings.Cut(c.function[slash:], ".")
	folder = c.function[:slash] + folder
	if folder == "bloom" {
		folder = "."
	}
	for path, text := range files {
		if filepath.ToSlash(filepath.Dir(path)) != folder {
			continue
		}
		s, err := parse(path, text)
		if err != nil {
			return err
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || nameOf(f) != name {
				continue
			}
			if err := c.editFunc(s, f); err != nil {
				return err
			}
			files[path] = s.edited()
			return nil
		}
	}
	return fmt.Errorf("no such function")
}

func (c change) editFunc(s *source, f *ast.FuncDecl) error {
	var calls []found
	if c.call != "" {
		calls = callsOf(f, c.call)
		if c.number == 0 && len(calls) != 1 || c.number > len(calls) {
			return fmt.Errorf("%d calls of %s", len(calls), c.call)
		}
		calls = calls[max(1, c.number)-1:]
	}
	return c.edit(s, f, calls)
}

// nameOf returns the name of a function or method, such as New or Filter.Add.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	return chain(t) + "." + f.Name.Name
}

func callsOf(f *ast.FuncDecl, name string) (calls []found) {
	var around []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			around = around[:len(around)-1]
			return true
		}
		around = append(around, n)
		if call, ok := n.(*ast.CallExpr); ok && isCall(call, name) {
			calls = append(calls, found{call, append([]ast.Node(nil), around...)})
		}
		return true
	})
	return calls
}

func isCall(call *ast.CallExpr, name string) bool {
	return strings.HasSuffix("."+chain(call.Fun), "."+name)
}

// chain returns the names in an expression such as s.stampOf(i).Store, joined by dots.
func chain(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return chain(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return chain(e.Fun)
	case *ast.IndexExpr:
		return chain(e.X)
	case *ast.ParenExpr:
		return chain(e.X)
	}
	return ""
}

// Of the statements around the call, statement returns the innermost one that lies directly in a
// block or a case.
func (f found) statement() ast.Node {
	for i := len(f.around) - 1; i > 0; i-- {
		switch f.around[i-1].(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
			return f.around[i]
		}
	}
	return f.call
}
