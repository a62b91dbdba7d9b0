package recompute

import (
	"bytes"
	"context"
	"fmt"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
)

// Suspicious says whether a document, as someone wrote it, is not what its own
// assignments and HEAD's definitions come to. It reads HEAD, and what the process
// lacks of the definitions; Compare tells whether it is drift, as a newer
// document may stand there by now.
func (e *Engine) Suspicious(ctx context.Context, scope rbac.ScopeID, it *table.Item) (bool, error) {
	v, err := access.Parse(it.Blob)
	if err != nil {
		return true, nil //nolint:nilerr // what can't be read can't be right
	}
	as, err := v.Assignments()
	if err != nil {
		return true, nil //nolint:nilerr // the same
	}
	var resolved *rbac.Resolution
	s, err := e.Snapshots.Read(ctx, snapshot.Request{Scope: scope, Wanted: func(s snapshot.State) ([]rbac.DefinitionID, error) {
		resolved = rbac.Resolve(as, s.Defs)
		return resolved.Missing, nil
	}})
	if err != nil || s.Head == nil || s.Head.Deleted || !v.Of(s.Head.Org, s.Head.Incarnation) {
		return false, err
	}
	if v.GrantsKept() && s.Head.Stale(&v) {
		return false, nil
	}
	want, err := access.Encode(access.Header{Org: s.Head.Org, Incarnation: s.Head.Incarnation, Revision: v.Revision()}, resolved)
	if err != nil {
		return false, fmt.Errorf("recompute: %s: %w", it.Key, err)
	}
	return !bytes.Equal(want, it.Blob), nil
}
