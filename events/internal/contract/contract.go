// Package contract makes the files of the published contract that follow from
// the registry of types, and holds the contract to what was released:
// `go generate ./events` writes them, a test holds the files to them.
//
//   - schema/v1/TYPE.schema.json: what a type adds to the parts, which are
//     written by hand;
//   - asyncapi.json: what is sent where;
//   - schema/released.json: each schema's members, their rules and which are
//     required. It only grows: where the schemas no longer keep to it, nothing is
//     generated and Files says why. Members that may be absent, values of
//     enumerations and types may be added. A type that no release of Warden has
//     sent yet may be taken out by hand, to change it.
package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wardenhq/warden/events"
)

// Paths below the folder of events.
const (
	schemas  = "schema/v1"
	parts    = schemas + "/part"
	asyncAPI = "asyncapi.json"
	released = "schema/released.json"
)

// Files are the contents of all generated files by path, made from the parts
// and the released listing of a folder of events. The error is an
// *IncompatibleError, or says which file can't be read.
func Files(dir fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, t := range events.Types() {
		if err := add(files, path.Join(schemas, t.Name+events.SchemaSuffix), schemaOf(t)); err != nil {
			return nil, err
		}
	}
	if err := add(files, asyncAPI, document()); err != nil {
		return nil, err
	}
	now, err := listingOf(dir, files)
	if err != nil {
		return nil, err
	}
	was := Listing{}
	if text, err := fs.ReadFile(dir, released); err != nil {
		return nil, err
	} else if err := json.Unmarshal(text, &was); err != nil {
		return nil, fmt.Errorf("%s: %w", released, err)
	}
	if problems := Compare(was, now); len(problems) > 0 {
		return nil, &IncompatibleError{problems}
	}
	return files, add(files, released, now)
}

func add(files map[string][]byte, name string, content any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(content); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	files[name] = b.Bytes()
	return nil
}

// listingOf lists the schemas: those of types as generated, parts as they stand.
func listingOf(dir fs.FS, files map[string][]byte) (Listing, error) {
	texts := map[string][]byte{}
	names, err := fs.Glob(dir, parts+"/*"+events.SchemaSuffix)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if texts[name], err = fs.ReadFile(dir, name); err != nil {
			return nil, err
		}
	}
	for name, text := range files {
		if strings.HasPrefix(name, schemas) {
			texts[name] = text
		}
	}
	listing := Listing{}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if listing[strings.TrimPrefix(name, schemas+"/")], err = List(texts[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return listing, nil
}
