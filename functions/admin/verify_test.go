package admin_test

import (
	"testing"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

func TestVerifyReportsAndMends(t *testing.T) {
	f := newFixture(t)
	doc := keys.Access(rbac.Must(rbac.ParseScopeID(f.scope)), rbac.Must(rbac.ParseSubjectID("alice"))).Raw()
	if err := f.store.Transact(t.Context(), table.Tx{Ops: []table.Op{table.Delete(doc, table.Any())}}); err != nil {
		t.Fatal(err)
	}
	type report struct {
		Checked int              `json:"checked"`
		Drifted []map[string]any `json:"drifted"`
	}
	verify := func(body string) (r report) {
		t.Helper()
		f.in("POST", body, "verify").is(200).into(&r)
		return r
	}
	n := len(f.changes())
	r := verify("")
	found := r.Drifted
	if r.Checked == 0 || len(found) != 1 || found[0]["subject"] != "alice" || found[0]["kind"] != "no-document" || found[0]["repaired"] != nil {
		t.Fatalf("checked %d, found %v", r.Checked, found)
	}
	events := f.eventsSince(n)
	if len(events) != 1 || events[0].Type != "access.drift_detected" || events[0].Target.ID != "alice" {
		t.Errorf("events %+v", events)
	}
	if mended := verify(`{"repair":true}`).Drifted; len(mended) != 1 || mended[0]["repaired"] != true {
		t.Fatalf("mended %v", mended)
	}
	if left := verify(`{}`).Drifted; len(left) != 0 {
		t.Errorf("left %v", left)
	}
	f.in("POST", `{"cursor":"forged"}`, "verify").problem(400, "bad-cursor")
}
