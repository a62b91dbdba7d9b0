package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/wardenhq/warden"

// listed is what the rules need of a package as `go list` tells it. Imports
// are those of the package itself, not of its tests.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// graph is the root module's packages and all that they reach, by import path.
type graph map[string]listed

// loadGraph asks the go command once for the whole test binary.
var loadGraph = sync.OnceValues(func() (graph, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	g := graph{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g, nil
		}
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		g[p.ImportPath] = p
	}
})

func packages(t *testing.T) graph {
	t.Helper()
	g, err := loadGraph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ours are the module's own packages, in order.
func (g graph) ours() []string {
	var paths []string
	for path := range g {
		if under(path, module) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// chain is the shortest way of imports from a package to one that is wanted,
// both included; nil when there is none. The package itself does not count.
func (g graph) chain(from string, wanted func(path string) bool) []string {
	type step struct {
		path string
		via  *step
	}
	seen := map[string]bool{from: true}
	for queue := []*step{{path: from}}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0].path].Imports {
			if seen[next] {
				continue
			}
			seen[next] = true
			s := &step{path: next, via: queue[0]}
			if !wanted(next) {
				queue = append(queue, s)
				continue
			}
			var way []string
			for ; s != nil; s = s.via {
				way = append(way, s.path)
			}
			slices.Reverse(way)
			return way
		}
	}
	return nil
}

// under says whether path is one of the roots or below it. A root that does not
// begin with a host is one of the module's own folders.
func under(path string, roots ...string) bool {
	for _, root := range roots {
		if first, _, _ := strings.Cut(root, "/"); !strings.Contains(first, ".") {
			root = module + "/" + root
		}
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

func way(chain []string) string {
	return strings.ReplaceAll(strings.Join(chain, " -> "), module+"/", "")
}
