package decide_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write/writetest"
)

func TestAllAtEveryConsistency(t *testing.T) {
	d := newDesk(t)
	for range 2 {
		d.want(d.ask("alice"), rbac.ReasonAllowed)
		d.want(d.strong("alice"), rbac.ReasonAllowed)
		d.want(d.ask("nobody"), rbac.ReasonNoPolicy)
		d.want(d.strong("nobody"), rbac.ReasonNoPolicy)
	}
}

// A read that takes long is not answered from: its beginning counts.
func TestSlowReadsAreReadAgain(t *testing.T) {
	d := newDesk(t)
	d.table.after = func([]keys.Raw) {
		d.DeletePolicy("alice")
		d.Clock.Advance(decide.MaxAge + 1)
	}
	q := d.ask("alice")
	a, err := d.checker.Check(context.Background(), d.cred, []decide.Question{q})
	d.Must(err)
	if a[0].Reason != rbac.ReasonNoPolicy || d.table.reads != 2 {
		t.Errorf("%s after %d reads", a[0].Reason, d.table.reads)
	}
}

// However slow the table is, an answer comes: from a snapshot in the end.
func TestAlwaysSlow(t *testing.T) {
	d := newDesk(t)
	var slow func([]keys.Raw)
	slow = func([]keys.Raw) {
		d.Clock.Advance(decide.MaxAge + 1)
		d.table.after = slow
	}
	slow(nil)
	d.want(d.ask("alice"), rbac.ReasonAllowed)
}

// Resolving a stale document takes reads of its own: when they took long, the
// document is read again.
func TestSlowResolving(t *testing.T) {
	d := newDesk(t)
	d.Role("reader", []string{"invoice:read", "!invoice:read"}) // alice's document is stale
	first := d.table
	first.after = func([]keys.Raw) {
		first.after = func([]keys.Raw) { // of the snapshot
			d.DeletePolicy("alice")
			d.Clock.Advance(decide.MaxAge + 1)
		}
	}
	a, err := d.checker.Check(context.Background(), d.cred, []decide.Question{d.ask("alice")})
	d.Must(err)
	if a[0].Reason != rbac.ReasonNoPolicy {
		t.Errorf("%s: from a document read over 2 s ago", a[0].Reason)
	}
}

// The caller's key is no older than the rest.
func TestSlowResolvingAndARevokedKey(t *testing.T) {
	d := newDesk(t)
	d.Role("reader", []string{"invoice:read", "!invoice:read"})
	d.table.after = func([]keys.Raw) {
		d.table.after = func([]keys.Raw) {
			d.Revoke()
			d.Clock.Advance(decide.MaxAge + 1)
		}
	}
	_, err := d.checker.Check(context.Background(), d.cred, []decide.Question{d.ask("alice")})
	if fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("%v", err)
	}
}

func TestStaleDocuments(t *testing.T) {
	d := newDesk(t)
	d.Role("heir", nil, "reader")
	d.Assign("bob", "heir")
	d.want(d.ask("bob"), rbac.ReasonAllowed)
	d.Role("reader", []string{"invoice:read", "!invoice:read"})
	for _, subject := range []string{"alice", "bob"} {
		d.want(d.strong(subject), rbac.ReasonDenied)
	}
	d.Clock.Advance(decide.MaxAge + 1)
	for _, subject := range []string{"alice", "bob"} {
		d.want(d.ask(subject), rbac.ReasonDenied)
	}
	d.Role("reader", nil)
	d.Clock.Advance(decide.MaxAge + 1)
	d.want(d.ask("bob"), rbac.ReasonNoMatch)
	d.Assign("bob", "heir") // the same again changes nothing, and is answered alike
	d.want(d.strong("bob"), rbac.ReasonNoMatch)
}

// HEAD moves between the read of the document and that of its definitions: the
// newer ones are taken, whole.
func TestHeadMovesWhileResolving(t *testing.T) {
	for _, strong := range []bool{false, true} {
		t.Run(fmt.Sprint(strong), func(t *testing.T) {
			d := newDesk(t)
			d.Role("reader", []string{"!invoice:read"})
			d.table.after = func([]keys.Raw) { d.Role("reader", []string{"invoice:read"}) }
			q := d.ask("alice")
			q.Strong = strong
			a, err := d.checker.Check(context.Background(), d.cred, []decide.Question{q})
			d.Must(err)
			if a[0].Reason != rbac.ReasonAllowed {
				t.Errorf("%s", a[0].Reason)
			}
		})
	}
}

// The scope goes while a stale document of it is resolved.
func TestScopeGoesWhileResolving(t *testing.T) {
	d := newDesk(t)
	d.Role("reader", []string{"!invoice:read"})
	d.table.after = func([]keys.Raw) {
		d.Role("reader", []string{"invoice:read"})
		d.DeleteScope()
	}
	a, err := d.checker.Check(context.Background(), d.cred, []decide.Question{d.ask("alice")})
	d.Must(err)
	if a[0].Reason != rbac.ReasonNoPolicy {
		t.Errorf("%s", a[0].Reason)
	}
}

func TestDeletedScope(t *testing.T) {
	d := newDesk(t)
	d.want(d.ask("alice"), rbac.ReasonAllowed)
	d.DeleteScope()
	d.want(d.strong("alice"), rbac.ReasonNoPolicy)
	d.want(d.ask("alice"), rbac.ReasonAllowed) // cached
	d.Clock.Advance(decide.MaxAge + 1)
	d.want(d.ask("alice"), rbac.ReasonNoPolicy)
}

// A document under the scope's key that is another org's, or of another life of
// the scope, is as none.
func TestForeignDocuments(t *testing.T) {
	for name, header := range map[string]func(*desk) access.Header{
		"another org": func(d *desk) access.Header {
			return access.Header{Org: rbac.Must(rbac.ParseOrgID("other")), Incarnation: d.Scope.Incarnation, Revision: 9}
		},
		"another life": func(d *desk) access.Header {
			return access.Header{Org: d.Scope.Org, Incarnation: d.Scope.Incarnation + 1, Revision: 9}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.document("alice", header(d), 1)
			d.want(d.ask("alice"), rbac.ReasonNoPolicy)
			d.want(d.strong("alice"), rbac.ReasonNoPolicy)
		})
	}
}

// document writes an access document that allows reading the invoice by n permissions.
func (d *desk) document(subject string, h access.Header, n int) {
	d.T.Helper()
	defs := new(rbac.Definitions)
	role := rbac.Role{ID: writetest.Role("many"), State: rbac.State{Incarnation: 1, Revision: 1}}
	for i := range n {
		p := rbac.Permission{
			ID: rbac.Must(rbac.ParsePermissionID(fmt.Sprintf("p%d", i))), Resource: writetest.Resource("invoice"), Action: writetest.Action("read"),
			Effect: rbac.Allow, State: rbac.State{Incarnation: 1, Revision: 1},
		}
		if i > 0 {
			p.Resource = writetest.Resource(fmt.Sprintf("resource-%0100d", i))
		}
		defs.PutPermission(p.ID, &p)
		role.Permissions = append(role.Permissions, rbac.PermissionRef{ID: p.ID, Incarnation: 1})
	}
	defs.PutRole(role.ID, &role)
	as := []rbac.Assignment{{Role: rbac.RoleRef{ID: role.ID, Incarnation: 1}, Source: rbac.Direct()}}
	blob, err := access.Encode(h, rbac.Resolve(as, defs))
	d.Must(err)
	d.PutItem(&table.Item{Key: keys.Access(d.Scope.ID, writetest.Subject(subject)).Raw(), Type: "Access", Version: 9, Format: entity.Format, Blob: blob})
}

// A document too big for its grants is answered from its assignments.
func TestDocumentWithoutGrants(t *testing.T) {
	d := newDesk(t)
	var ids []string
	for i := range 700 {
		resource := fmt.Sprintf("resource-%0100d", i)
		d.PermissionAs(fmt.Sprintf("p%d", i), resource, "read", rbac.Allow)
		ids = append(ids, fmt.Sprintf("p%d", i))
	}
	d.Role("many", append(ids, "invoice:read"))
	d.Assign("carol", "many")
	it, err := d.Table.Get(context.Background(), keys.Access(d.Scope.ID, writetest.Subject("carol")).Raw(), table.Strong)
	d.Must(err)
	v, err := access.Parse(it.Blob)
	d.Must(err)
	if v.GrantsKept() {
		t.Fatalf("a document of %d bytes keeps its grants", len(it.Blob))
	}
	d.want(d.ask("carol"), rbac.ReasonAllowed)
	d.want(d.strong("carol"), rbac.ReasonAllowed)
	d.Role("many", ids)
	d.want(d.strong("carol"), rbac.ReasonNoMatch)
}

func TestAtLeast(t *testing.T) {
	d := newDesk(t)
	d.want(d.ask("alice"), rbac.ReasonAllowed)
	d.want(d.ask("bob"), rbac.ReasonNoPolicy)
	granted := d.Assign("bob", "reader")
	d.want(d.ask("bob"), rbac.ReasonNoPolicy) // cached
	d.want(d.atLeast("bob", granted), rbac.ReasonAllowed)
	d.want(d.atLeast("alice", granted), rbac.ReasonAllowed)
	left := d.DeletePolicy("bob")
	d.want(d.atLeast("bob", left), rbac.ReasonNoPolicy)
	changed := d.Role("reader", nil)
	d.want(d.ask("alice"), rbac.ReasonAllowed) // cached
	d.want(d.atLeast("alice", changed), rbac.ReasonNoMatch)

	next := revision.OfDefinition(d.Scope.ID, d.Head().Revision+1)
	d.ahead(d.atLeast("alice", next.String()))
	version := revision.OfPolicy(d.Scope.ID, 1, writetest.Subject("alice"), 99)
	d.ahead(d.atLeast("alice", version.String()))
	strong := d.atLeast("alice", next.String())
	strong.Strong = true
	d.ahead(strong)
	// What others' documents are at says nothing of alice's.
	d.want(d.atLeast("alice", revision.OfPolicy(d.Scope.ID, 1, writetest.Subject("bob"), 99).String()), rbac.ReasonAllowed)
}

func TestAnswersShowWhatTheyProve(t *testing.T) {
	d := newDesk(t)
	token := d.Assign("bob", "reader")
	for _, q := range []decide.Question{d.ask("bob"), d.strong("bob"), d.atLeast("bob", token)} {
		a, err := d.checker.One(context.Background(), d.cred, &q)
		d.Must(err)
		if a.Revision.String() != token {
			t.Errorf("shows %v, the write returned %s", a.Revision, token)
		}
	}
	// Of a scope that the caller can't see, nothing.
	q := d.ask("bob")
	q.Scope = rbac.Must(rbac.ParseScopeID("elsewhere"))
	a, err := d.checker.One(context.Background(), d.cred, &q)
	d.Must(err)
	if a.Revision != revision.OfDefinition(q.Scope, 0) {
		t.Errorf("shows %+v of a scope that is none", a.Revision)
	}
}

func TestAdmit(t *testing.T) {
	d := newDesk(t)
	p, err := d.checker.Admit(context.Background(), d.cred)
	d.Must(err)
	if p.ID() != d.Key.ID.String() || p.Org() != d.Scope.Org {
		t.Errorf("%s of %s", p.ID(), p.Org())
	}
	d.Edit(func(k *entity.APIKey) { k.Permissions = []entity.Right{entity.RightAdminRead} })
	d.Clock.Advance(decide.MaxAge + time.Nanosecond)
	if _, err := d.checker.Admit(context.Background(), d.cred); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("%v", err)
	}
	d.refused(d.ask("alice"), fault.Forbidden)
	d.refused(d.strong("alice"), fault.Forbidden)
	d.Revoke()
	d.refused(d.strong("alice"), fault.Unauthenticated)
	d.refused(d.ask("alice"), fault.Forbidden) // cached
	d.Clock.Advance(decide.MaxAge + time.Nanosecond)
	d.refused(d.ask("alice"), fault.Unauthenticated)
}

// Strong questions about more subjects and scopes than one snapshot takes.
func TestManyStrong(t *testing.T) {
	d := newDesk(t)
	second := d.NewScope("second")
	second.Permission("invoice", "read", rbac.Allow)
	second.Role("reader", []string{"invoice:read"})
	var qs []decide.Question
	var want []rbac.Reason
	for i := range 250 {
		subject := fmt.Sprintf("s%d", i)
		q, reason := d.strong(subject), rbac.ReasonNoPolicy
		switch i % 3 {
		case 0:
			d.Assign(subject, "reader")
			reason = rbac.ReasonAllowed
		case 1:
			second.Assign(subject, "reader")
			q.Scope, reason = second.Scope.ID, rbac.ReasonAllowed
		}
		qs, want = append(qs, q), append(want, reason)
	}
	as, err := d.checker.Check(context.Background(), d.cred, qs)
	d.Must(err)
	for i, a := range as {
		if a.Reason != want[i] {
			t.Errorf("question %d: %s, want %s", i, a.Reason, want[i])
		}
	}
}

func TestCallersAreChargedOnceACall(t *testing.T) {
	d := newDesk(t)
	charged := 0
	d.checker.Charge = func(_ auth.Principal, n int) error {
		if charged += n; charged > 5 {
			return fault.New(fault.TooManyRequests, "enough")
		}
		return nil
	}
	ask := d.ask("alice")
	for _, strong := range []bool{false, false, true} { // cold, warm, by a snapshot
		ask.Strong = strong
		if _, err := d.checker.One(t.Context(), d.cred, &ask); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.checker.Check(t.Context(), d.cred, []decide.Question{d.ask("alice"), d.ask("bob")}); err != nil || charged != 5 {
		t.Fatalf("charged %d, %v", charged, err)
	}
	ask.Strong = false
	if a, err := d.checker.One(t.Context(), d.cred, &ask); fault.CodeOf(err) != fault.TooManyRequests {
		t.Errorf("beyond the limit: %+v, %v", a, err)
	}
}
