package tabletest

import (
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPromises holds the package comment of table and the suite together.
func TestPromises(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../table.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ +- ([A-Z]\w+(?:, [A-Z]\w+)*): `)
	var promised []string
	for _, m := range line.FindAllStringSubmatch(file.Doc.Text(), -1) {
		promised = append(promised, strings.Split(m[1], ", ")...)
	}
	if len(promised) < 30 {
		t.Fatalf("found only %d promises in the package comment", len(promised))
	}
	var proved []string
	for _, p := range promises {
		proved = append(proved, p.name)
	}
	for _, name := range promised {
		if !slices.Contains(proved, name) {
			t.Errorf("promise %s has no test", name)
		}
	}
	for _, name := range proved {
		if !slices.Contains(promised, name) {
			t.Errorf("test %s has no promise", name)
		}
	}
	slices.Sort(proved)
	if unique := slices.Compact(slices.Clone(proved)); len(unique) != len(proved) {
		t.Errorf("a promise is tested twice: %v", proved)
	}
}
