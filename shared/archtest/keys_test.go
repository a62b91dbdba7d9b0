package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The functions of shared/table/keys that make a key without a type. Through
// them any text becomes a key, so only who reads back what it stored may call them.
var untyped = []string{"Stored", "StoredIndexKey"}

func TestOnlyTheTableRebuildsStoredKeys(t *testing.T) {
	for _, file := range tracked(t) {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(file, "shared/table/") {
			continue
		}
		for _, at := range callsOfKeys(t, file) {
			t.Errorf("%s: a key is made by its typed constructor, not rebuilt from text", at)
		}
	}
}

// callsOfKeys are the places where a file names one of the untyped functions.
func callsOfKeys(t *testing.T, file string) []token.Position {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, spec := range tree.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported == module+"/shared/table/keys" {
			name = "keys"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	if name == "" {
		return nil
	}
	var found []token.Position
	ast.Inspect(tree, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == name && slices.Contains(untyped, selector.Sel.Name) {
			found = append(found, files.Position(selector.Pos()))
		}
		return true
	})
	return found
}
