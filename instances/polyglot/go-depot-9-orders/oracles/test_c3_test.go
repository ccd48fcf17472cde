package stock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// said is the comment that documents ShortError, wherever in the package it stands.
func said(t *testing.T) string {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range file.Decls {
			general, ok := one.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if typed, ok := spec.(*ast.TypeSpec); ok && typed.Name.Name == "ShortError" {
					return typed.Doc.Text() + general.Doc.Text()
				}
			}
		}
	}
	t.Fatal("there is no ShortError")
	return ""
}

func TestItIsDocumented(t *testing.T) {
	text := said(t)
	if len(strings.Fields(text)) < 4 || !strings.Contains(text, "ShortError") {
		t.Errorf("it says %q", text)
	}
}
