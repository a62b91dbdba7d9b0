package check

import (
	"slices"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
)

// tell decides what cost an answer shows. When the question is about a scope that
// the caller does not see, or the caller is nobody, that is a figure which follows
// from the question alone: what was read, how large it was and what was cached
// would tell of another tenant.
func (x *exchange) tell(cred auth.Credential, err error, q *decide.Question, a *decide.Answer) {
	if refused(cred, err) || a.Unseen {
		x.told = new(nominal(cred, []decide.Question{*q}))
	}
}

// tellAll is tell for a batch: one such question hides what all of it cost.
func (x *exchange) tellAll(cred auth.Credential, err error, qs []decide.Question, as []decide.Answer) {
	unseen := func(a decide.Answer) bool { return a.Unseen }
	if refused(cred, err) || slices.ContainsFunc(as, unseen) {
		x.told = new(nominal(cred, qs))
	}
}

// refused says whether the caller was refused after something was read; a bearer
// that no key can have is refused before.
func refused(cred auth.Credential, err error) bool {
	code := fault.CodeOf(err)
	return cred.Kind != auth.KindUnknown && (code == fault.Unauthenticated || code == fault.Forbidden)
}

// nominal is the cost of reading each thing once, none of it cached and all of it
// small: what questions about scopes that don't exist cost at first.
func nominal(cred auth.Credential, qs []decide.Question) (c table.Cost) {
	type document struct {
		scope   rbac.ScopeID
		subject rbac.SubjectID
	}
	items, snapshots := make(map[document]bool), make(map[document]bool)
	add := func(to map[document]bool, q *decide.Question) {
		to[document{q.Scope, q.Subject}] = true
		to[document{scope: q.Scope}] = true // HEAD
		if cred.Kind != auth.KindUnknown {
			to[document{}] = true // the key
		}
	}
	for i := range qs {
		if qs[i].Strong || qs[i].AtLeast != nil {
			add(snapshots, &qs[i])
		} else {
			add(items, &qs[i])
		}
	}
	if n := len(items); n > 0 {
		c = c.Add(table.Cost{Ops: (n + table.MaxBatchGet - 1) / table.MaxBatchGet, RRU: table.ReadUnits(0, table.Eventual) * float64(n)})
	}
	if n := len(snapshots); n > 0 {
		c = c.Add(table.Cost{Ops: (n + table.MaxSnapshotGet - 1) / table.MaxSnapshotGet, RRU: table.SnapshotUnits(0) * float64(n)})
	}
	return c
}
