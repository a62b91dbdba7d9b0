package topology_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardenhq/warden/functions/topology"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestEveryPathOfTheContractHasOneFunction(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/access/check":         "check",
		"/v1/access/batch-check":   "check",
		"/v1/orgs":                 "admin",
		"/v1/orgs/acme/api-keys":   "admin",
		"/v1/scopes/acme/roles":    "admin",
		"/v1/scopes/acme/access":   "admin",
		"/v1/orgs-a":               "",
		"/v1/accessories":          "",
		"/v1":                      "",
		"/":                        "",
		"":                         "",
		"/v2/v1/orgs":              "",
		"/V1/orgs":                 "",
		"/v1/scopes/v1/access/get": "admin",
	} {
		f, ok := topology.Serving(path)
		if f.Name != want || ok != (want != "") {
			t.Errorf("%q is served by %q (%v), want %q", path, f.Name, ok, want)
		}
	}
}

func TestRoutesDoNotOverlap(t *testing.T) {
	owner := map[topology.Route]string{}
	for _, f := range topology.Functions() {
		for _, r := range f.Routes {
			if !strings.HasPrefix(r.Prefix, "/") || strings.HasSuffix(r.Prefix, "/") {
				t.Errorf("%s: the prefix %q begins with a slash and ends without one", f.Name, r.Prefix)
			}
			for other, name := range owner {
				if other.Covers(r.Prefix) || r.Covers(other.Prefix) {
					t.Errorf("%s of %s and %s of %s overlap", r.Prefix, f.Name, other.Prefix, name)
				}
			}
			owner[r] = f.Name
		}
	}
}

// A check that could write could grant.
func TestCheckOnlyReads(t *testing.T) {
	f, _ := topology.Serving("/v1/access/check")
	if len(f.Writes) != 0 || len(f.Reads) == 0 {
		t.Errorf("check reads %v and writes %v", f.Reads, f.Writes)
	}
}

func TestFunctionsFitAWS(t *testing.T) {
	// AWS Lambda quotas: 1,000 concurrent executions an account and region at
	// first, 100 of which can't be reserved; 128 to 10,240 MB.
	const reservable = 1000 - 100
	names, reserved := map[string]bool{}, 0
	for _, f := range topology.Functions() {
		if f.Name == "" || names[f.Name] {
			t.Errorf("the name %q is empty or taken", f.Name)
		}
		names[f.Name] = true
		reserved += f.ReservedConcurrency
		if f.MemoryMB < 128 || f.MemoryMB > 10240 {
			t.Errorf("%s: %d MB", f.Name, f.MemoryMB)
		}
		if f.Timeout < time.Second || f.Timeout >= 30*time.Second || f.Timeout%time.Second != 0 {
			t.Errorf("%s: timeout %s; whole seconds, below the HTTP API's 30", f.Name, f.Timeout)
		}
		if f.ReservedConcurrency < 1 {
			t.Errorf("%s: reserved concurrency %d would never run it", f.Name, f.ReservedConcurrency)
		}
		if !slices.Contains(f.Environment, topology.TableName) {
			t.Errorf("%s is not told the table", f.Name)
		}
		for _, list := range [][]topology.Entity{f.Reads, f.Writes} {
			once := slices.Compact(slices.Sorted(slices.Values(list)))
			if len(once) != len(list) {
				t.Errorf("%s: an entity is named twice: %v", f.Name, list)
			}
		}
	}
	if reserved > reservable {
		t.Errorf("%d executions reserved, an account has %d", reserved, reservable)
	}
}

func TestEntitiesAreInTheCatalogue(t *testing.T) {
	catalogue, err := os.ReadFile("../../shared/DOMAIN_MODELS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range topology.Functions() {
		for _, entity := range slices.Concat(f.Reads, f.Writes) {
			if !strings.Contains(string(catalogue), "\n| "+string(entity)+" | `") {
				t.Errorf("%s: the catalogue has no type %s", f.Name, entity)
			}
		}
	}
}

func TestIndexesAreThoseThatKeysNames(t *testing.T) {
	table := topology.DataTable()
	if len(table.Indexes) != keys.Indexes {
		t.Fatalf("%d indexes, want %d", len(table.Indexes), keys.Indexes)
	}
	attributes := []string{table.PartitionKey, table.SortKey}
	for i, index := range table.Indexes {
		if want := keys.Index(i + 1).String(); index.Name != want {
			t.Errorf("index %d is %s, want %s", i+1, index.Name, want)
		}
		attributes = append(attributes, index.PartitionKey, index.SortKey)
		if slices.Contains(index.Projects, "Blob") {
			t.Errorf("%s projects Blob, which no index shows", index.Name)
		}
	}
	slices.Sort(attributes)
	if got := len(slices.Compact(attributes)); got != 2+2*keys.Indexes {
		t.Errorf("%d different key attributes, want %d", got, 2+2*keys.Indexes)
	}
}

func TestStreamAndQueuesFitAWS(t *testing.T) {
	readers, works := 0, map[topology.QueueName]string{}
	queues := map[topology.QueueName]bool{}
	for _, q := range topology.Queues() {
		queues[q.Name] = true
		if q.Batch < 1 || q.Batch > 10 || q.MaxReceive < 5 || q.Workers < 1 {
			t.Errorf("queue %+v", q)
		}
	}
	for _, f := range topology.Functions() {
		if f.Stream != nil {
			readers++
			if f.Stream.MaxAge >= 24*time.Hour || f.Stream.Attempts < 1 {
				t.Errorf("%s: %+v would lose changes or block its shard", f.Name, *f.Stream)
			}
		}
		for _, q := range f.Works {
			if works[q] != "" {
				t.Errorf("%s and %s both work on %s", works[q], f.Name, q)
			}
			works[q] = f.Name
		}
		for _, q := range append(f.Works, f.Sends...) {
			if !queues[q] {
				t.Errorf("%s: no such queue %s", f.Name, q)
			}
		}
	}
	if readers > 2 {
		t.Errorf("%d readers of the stream; a shard serves two", readers)
	}
	for _, r := range topology.Rules() {
		if !queues[r.Target] {
			t.Errorf("rule %s: no such queue %s", r.Name, r.Target)
		}
	}
}
