// Pack lays a module out in a folder as the module proxy would serve it:
//
//	pack MODULE-FOLDER VERSION PROXY-FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: pack MODULE-FOLDER VERSION PROXY-FOLDER")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func pack(folder, version, proxy string) error {
	mod, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return err
	}
	v := module.Version{Path: modfile.ModulePath(mod), Version: version}
	escaped, err := module.EscapePath(v.Path)
	if err != nil {
		return err
	}
	to := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for name, data := range map[string]string{
		"list":            version + "\n",
		version + ".info": fmt.Sprintf("{\"Version\":%q}\n", version),
		version + ".mod":  string(mod),
	} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(data), 0o666); err != nil {
			return err
		}
	}
	out, err := os.Create(filepath.Join(to, version+".zip"))
	if err != nil {
		return err
	}
	if err := zip.CreateFromDir(out, v, folder); err != nil { // leaves nested modules out
		return err
	}
	return out.Close()
}
