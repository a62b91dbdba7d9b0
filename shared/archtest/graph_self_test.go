package archtest

import (
	"slices"
	"testing"
)

// The rules are worth what these two are.

func TestChainIsTheShortestWay(t *testing.T) {
	g := graph{
		"a": {Imports: []string{"b", "c"}},
		"b": {Imports: []string{"c", "a"}},
		"c": {Imports: []string{"d"}},
		"d": {},
	}
	is := func(want string) func(string) bool { return func(p string) bool { return p == want } }
	for _, c := range []struct {
		from, to string
		want     []string
	}{
		{"a", "b", []string{"a", "b"}},
		{"a", "d", []string{"a", "c", "d"}},
		{"d", "a", nil},
		{"a", "a", nil}, // not by a circle either
		{"absent", "a", nil},
	} {
		if got := g.chain(c.from, is(c.to)); !slices.Equal(got, c.want) {
			t.Errorf("from %s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

func TestUnderIsByWholeSegments(t *testing.T) {
	for _, c := range []struct {
		path, root string
		want       bool
	}{
		{module + "/shared/table", "shared/table", true},
		{module + "/shared/table/keys", "shared/table", true},
		{module + "/shared/tables", "shared/table", false},
		{module + "/shared", "shared/table", false},
		{"shared/table", "shared/table", false},
		{"go.etcd.io/bbolt", "go.etcd.io/bbolt", true},
		{"go.etcd.io/bbolt/errors", "go.etcd.io/bbolt", true},
		{"go.etcd.io/bbolt2", "go.etcd.io/bbolt", false},
		{module, module, true},
	} {
		if got := under(c.path, c.root); got != c.want {
			t.Errorf("%s under %s: %v, want %v", c.path, c.root, got, c.want)
		}
	}
}
