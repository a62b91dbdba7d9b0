package writetest

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Put writes an entity past the writer.
func (w *World) Put(key keys.Raw, kind string, version uint64, content any) {
	w.T.Helper()
	body, err := json.Marshal(content)
	w.Must(err)
	now := w.Clock.Now()
	w.PutItem(&table.Item{Key: key, Type: kind, Version: version, Format: entity.Format, CreatedAt: now, UpdatedAt: now, Body: body})
}

// PutItem writes an item past the writer.
func (w *World) PutItem(it *table.Item) {
	w.T.Helper()
	w.Must(w.Table.Transact(context.Background(), table.Tx{Ops: []table.Op{table.Put(it, table.Any())}}))
}

// The ids of texts that are known to be good.

// Subject is a subject's id.
func Subject(s string) rbac.SubjectID { return rbac.Must(rbac.ParseSubjectID(s)) }

// Role is a role's id.
func Role(s string) rbac.RoleID { return rbac.Must(rbac.ParseRoleID(s)) }

// Resource is a resource's id.
func Resource(s string) rbac.ResourceID { return rbac.Must(rbac.ParseResourceID(s)) }

// Action is an action's id.
func Action(s string) rbac.ActionID { return rbac.Must(rbac.ParseActionID(s)) }
