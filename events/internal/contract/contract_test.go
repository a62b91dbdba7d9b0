package contract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/wardenhq/warden/events"
	"github.com/wardenhq/warden/events/internal/contract"
)

var folder = os.DirFS("../..")

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	files, err := contract.Files(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := fs.ReadFile(folder, name)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what follows from the registry and the parts (%v): run go generate ./events", name, err)
		}
	}
	if want := len(events.Types()) + 2; len(files) != want {
		t.Errorf("%d files, want %d", len(files), want)
	}
}

// parts are the folder's parts and released listing, some of them changed.
func parts(t *testing.T, changed map[string]string) fs.FS {
	t.Helper()
	names, err := fs.Glob(folder, "schema/v1/part/*")
	if err != nil {
		t.Fatal(err)
	}
	dir := fstest.MapFS{}
	for _, name := range append(names, "schema/released.json") {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		dir[name] = &fstest.MapFile{Data: text}
	}
	for name, text := range changed {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

func TestReleasedContractIsKept(t *testing.T) {
	const name = "schema/v1/part/role.schema.json"
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, now string) string {
		if !bytes.Contains(text, []byte(old)) {
			t.Fatalf("%s has no %s", name, old)
		}
		return strings.Replace(string(text), old, now, 1)
	}
	bad := edit(`"permissions": {`, `"powers": {`)
	_, err = contract.Files(parts(t, map[string]string{name: bad}))
	var incompatible *contract.IncompatibleError
	if !errors.As(err, &incompatible) || !slices.Contains(incompatible.Problems, contract.Problem{Schema: "part/role.schema.json", Path: "permissions", What: "is gone"}) {
		t.Errorf("a member removed: %v", err)
	}
	good := edit(`"permissions": {`, `"color": {"type": "string"}, "permissions": {`)
	files, err := contract.Files(parts(t, map[string]string{name: good}))
	if err != nil {
		t.Fatalf("a member that may be absent: %v", err)
	}
	var listing contract.Listing
	if err := json.Unmarshal(files["schema/released.json"], &listing); err != nil {
		t.Fatal(err)
	}
	if got := listing["part/role.schema.json"]["color"]; got.Rule != `{"type":"string"}` || got.Required {
		t.Errorf("it is listed as %+v", got)
	}
}

func TestFilesNeedTheirSources(t *testing.T) {
	for name, dir := range map[string]fs.FS{
		"nothing released": fstest.MapFS{},
		"no listing":       parts(t, map[string]string{"schema/released.json": "?"}),
		"no schema":        parts(t, map[string]string{"schema/v1/part/role.schema.json": "?"}),
	} {
		if _, err := contract.Files(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDocument(t *testing.T) {
	text, err := fs.ReadFile(folder, "asyncapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Channels map[string]struct {
			Messages map[string]struct {
				Ref string `json:"$ref"`
			}
		}
		Components struct {
			Messages map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"bus", "webhooks"} {
		for _, kind := range events.Types() {
			message := strings.TrimPrefix(doc.Channels[way].Messages[kind.Name].Ref, "#/components/messages/")
			if doc.Components.Messages[message] == nil {
				t.Errorf("%s: no message %s", way, kind.Name)
			}
		}
		if n := len(doc.Channels[way].Messages); n != len(events.Types()) {
			t.Errorf("%s: %d messages", way, n)
		}
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	if n := resolve(t, whole, whole); n < 4*len(events.Types()) {
		t.Errorf("only %d references", n)
	}
}

// resolve follows every reference below v, and counts them.
func resolve(t *testing.T, whole, v any) (n int) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += resolve(t, whole, e)
		}
	case map[string]any:
		if to, ok := v["$ref"].(string); ok {
			n++
			if file, outside := strings.CutPrefix(to, "./"); outside {
				if _, err := fs.Stat(folder, path.Clean(file)); err != nil {
					t.Errorf("%s: %v", to, err)
				}
			} else if !points(whole, to) {
				t.Errorf("%s points to nothing", to)
			}
		}
		for _, e := range v {
			n += resolve(t, whole, e)
		}
	}
	return n
}

func points(at any, to string) bool {
	for step := range strings.SplitSeq(strings.TrimPrefix(to, "#/"), "/") {
		members, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = members[step]; !ok {
			return false
		}
	}
	return true
}
