package archtest

import (
	"slices"
	"strings"
	"testing"
)

var (
	aws  = []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go", "github.com/aws/aws-lambda-go"}
	cdk  = []string{"github.com/aws/aws-cdk-go", "github.com/aws/constructs-go", "github.com/aws/jsii-runtime-go"}
	bolt = []string{"go.etcd.io/bbolt"}
)

// Some imports belong to few packages: whoever else wants what they do asks a port.
func TestWhoMayImport(t *testing.T) {
	g := packages(t)
	for _, rule := range []struct {
		what    string
		imports []string
		by      []string
	}{
		{"AWS is reached through adapters and named by main packages", aws, []string{"shared/table/dynamo", "functions/warden"}},
		{"bbolt belongs to what runs on one machine", bolt, []string{"shared/table/embedded", "shared/queue/local", "functions/warden"}},
		{"the CDK is infra's, which is a module of its own", cdk, nil},
		{"the local server chooses the adapter", []string{"shared/table/embedded", "shared/table/dynamo"}, []string{"functions/warden"}},
		{"only what writes may write", []string{"shared/write"}, []string{"functions/admin", "functions/projector", "functions/scheduler", "functions/deliver", "functions/warden"}},
		{"nobody but the local server holds the functions together", []string{"functions/admin", "functions/check", "functions/projector", "functions/scheduler"}, []string{"functions/warden"}},
		{"nobody imports the local server", []string{"functions/warden"}, nil},
		{"the declaration is for those who interpret it", []string{"functions/topology"}, []string{"functions/warden", "shared/table/dynamo"}},
	} {
		t.Run(rule.what, func(t *testing.T) {
			for _, path := range g.ours() {
				if under(path, rule.by...) {
					continue
				}
				for _, imported := range g[path].Imports {
					for _, root := range rule.imports {
						if under(imported, root) && !under(path, root) {
							t.Errorf("%s", way([]string{path, imported}))
						}
					}
				}
			}
		})
	}
}

// Some packages must not even reach what others are for.
func TestWhoMustNotReach(t *testing.T) {
	g := packages(t)
	adapters := []string{"shared/table/embedded", "shared/table/dynamo"}
	for _, rule := range []struct {
		what  string
		from  []string
		reach []string
	}{
		{"a check can't write", []string{"functions/check"}, []string{"shared/write", "functions/admin"}},
		{"functions run on any adapter", []string{"functions/check", "functions/admin"}, slices.Concat(aws, bolt, adapters)},
		{"nothing of the CDK in a function", []string{"functions", "shared", "events"}, cdk},
		{"the embedded adapter needs no AWS", []string{"shared/table/embedded"}, slices.Concat(aws, []string{"shared/table/dynamo"})},
		{"the DynamoDB adapter needs no bbolt", []string{"shared/table/dynamo"}, slices.Concat(bolt, []string{"shared/table/embedded"})},
		{"the document knows no table", []string{"shared/access"}, []string{"shared/table", "shared/httpapi"}},
	} {
		t.Run(rule.what, func(t *testing.T) {
			for _, path := range g.ours() {
				if !under(path, rule.from...) {
					continue
				}
				found := g.chain(path, func(p string) bool { return under(p, rule.reach...) })
				if found != nil {
					t.Errorf("%s", way(found))
				}
			}
		})
	}
}

// Some packages stand on next to nothing, so that all others can stand on them.
func TestWhoStandsOnTheStandardLibrary(t *testing.T) {
	g := packages(t)
	for _, rule := range []struct {
		from string
		and  []string // what else it may reach
	}{
		{"shared/fault", nil},
		{"shared/rbac", []string{"shared/fault"}},
		{"functions/topology", nil},
		{"events", nil},
	} {
		t.Run(rule.from, func(t *testing.T) {
			for _, path := range g.ours() {
				if !under(path, rule.from) || testSupport(path) {
					continue
				}
				found := g.chain(path, func(p string) bool {
					return !g[p].Standard && !under(p, rule.from) && !under(p, rule.and...)
				})
				if found != nil {
					t.Errorf("%s", way(found))
				}
			}
		})
	}
}

// What helps tests stays out of what ships.
func TestTestSupportIsForTests(t *testing.T) {
	g := packages(t)
	for _, path := range g.ours() {
		if testSupport(path) {
			continue
		}
		for _, imported := range g[path].Imports {
			if imported == "testing" || testSupport(imported) {
				t.Errorf("%s", way([]string{path, imported}))
			}
		}
	}
}

// testSupport says whether one of our packages is for tests: by its name, as
// in tabletest, or because it misbehaves on purpose.
func testSupport(path string) bool {
	return under(path, "shared/table/weak") || under(path, module) && strings.HasSuffix(path, "test")
}
