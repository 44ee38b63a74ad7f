// Command typecheck type-checks packages and their tests for another system, from their source: compiling them all for a system
// that nothing here runs on would take minutes.
//
//	GOOS=darwin typecheck ./...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	here, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Tests: true,
		ParseFile: func(files *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
			if err == nil && !strings.HasPrefix(name, here+string(filepath.Separator)) {
				for _, d := range file.Decls { // what is imported is used by its declarations alone
					if f, ok := d.(*ast.FuncDecl); ok {
						f.Body = nil
					}
				}
			}
			return file, err
		},
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	}
	failed := false
	for _, p := range loaded {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the go command wrote it
		}
		for _, e := range p.Errors {
			failed = true
			fmt.Fprintln(os.Stderr, e)
		}
	}
	if failed {
		os.Exit(1)
	}
}
