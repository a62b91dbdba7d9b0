// Package schema has the JSON Schemas (draft 2020-12) of the published events,
// so that programs can serve them and validate by them.
package schema

import (
	"embed"
	"io/fs"

	"github.com/wardenhq/warden/events"
)

// Version is the folder of the schemas' version.
const Version = "v1"

// FS has v1/TYPE.schema.json for each type of events, and below v1/part what
// those are made of: the envelope, each resource, the envelopes of the bus and
// of webhooks. They refer to each other by relative URIs.
//
//go:embed v1
var FS embed.FS

// Of is the schema of a type of events. The error wraps fs.ErrNotExist for a
// type that is not known.
func Of(name string) ([]byte, error) {
	return fs.ReadFile(FS, Version+"/"+name+events.SchemaSuffix)
}
