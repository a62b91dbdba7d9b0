package write_test

import (
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
)

func TestDeletedPermissionCanBeReadAndMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.putPermission("a:x")
	id := rbac.Must(rbac.ParsePermissionID("a:x"))
	_, err := w.writer.DeletePermission(w.ctx, w.request(), w.scope, id, nil)
	must(t, err)
	_, err = w.writer.DeletePermission(w.ctx, w.request(), w.scope, id, nil)
	refusedAs(t, err, fault.NotFound)
	_, err = w.putRole("r", "a:x")
	refusedAs(t, err, fault.UnknownReference)
	if out := w.putPermission("a:x"); !out.Created {
		t.Fatal("the deleted permission was not created again")
	}
	w.mustRole("r", "a:x")
}
