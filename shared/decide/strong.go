package decide

import (
	"time"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// answerStrong answers by snapshots: document, HEAD and the caller's key as they
// were together at one moment.
func (r *run) answerStrong(ids []int) error {
	for len(ids) > 0 {
		scope, n := r.questions[ids[0]].Scope, 0
		group := ids[:0:0]
		rest := ids[:0:0]
		subjects := make(map[rbac.SubjectID]bool)
		for _, i := range ids {
			q := &r.questions[i]
			if q.Scope != scope || (n >= maxStrong && !subjects[q.Subject]) {
				rest = append(rest, i)
				continue
			}
			if !subjects[q.Subject] {
				subjects[q.Subject] = true
				n++
			}
			group = append(group, i)
		}
		if err := r.strongGroup(scope, group); err != nil {
			return err
		}
		ids = rest
	}
	return nil
}

// maxStrong is how many documents one snapshot takes beside HEAD and the key.
const maxStrong = table.MaxSnapshotGet - 2

// strongGroup answers questions about one scope from one snapshot. When a stale
// document's definitions can't be read at the snapshot's revision any more, it
// starts again with a new one.
func (r *run) strongGroup(scope rbac.ScopeID, ids []int) error {
	wantedKeys := []keys.Raw{keys.Head(scope).Raw()}
	if r.caller.stored {
		wantedKeys = append(wantedKeys, r.caller.key)
	}
	place := make(map[rbac.SubjectID]int)
	for _, i := range ids {
		u := r.questions[i].Subject
		if _, ok := place[u]; !ok {
			place[u] = len(wantedKeys)
			wantedKeys = append(wantedKeys, keys.Access(scope, u).Raw())
		}
	}
	for range strongTries {
		items, err := r.Snapshots.Get(r.ctx, wantedKeys)
		if err != nil {
			return err
		}
		got := make([]any, len(items))
		for i, it := range items {
			e, err := parse(it, time.Time{})
			if err != nil {
				return err
			}
			got[i] = e.value
		}
		if r.caller.stored {
			if err := r.admit(got[1]); err != nil {
				return err
			}
		}
		h, _ := got[0].(*head.Head)
		done, err := r.strongAnswers(ids, h, func(u rbac.SubjectID) *document {
			d, _ := got[place[u]].(*document)
			return d
		})
		if done || err != nil {
			return err
		}
	}
	return fault.BusyAfter(time.Second, errNotDecided)
}

func (r *run) strongAnswers(ids []int, h *head.Head, doc func(rbac.SubjectID) *document) (done bool, err error) {
	live := make(map[rbac.SubjectID]*rbac.Resolution)
	for _, i := range ids {
		q := &r.questions[i]
		h, d := see(r.principal, q, h, doc(q.Subject))
		if h != nil && q.AtLeast != nil && behind(q, h, d) {
			return false, &RevisionUnknownError{Question: i}
		}
		if d == nil {
			r.answers[i] = noPolicy(q, h)
			continue
		}
		a, ok, err := fresh(q, h, d, r.Clock.Now())
		if err != nil {
			return false, err
		}
		if !ok {
			res := live[q.Subject]
			if res == nil {
				as, err := d.view.Assignments()
				if err != nil {
					return false, err
				}
				_, moved, err := r.Snapshots.At(r.ctx, q.Scope, h, wanted(as, &res))
				if err != nil || moved {
					return false, err
				}
				live[q.Subject] = res
			}
			a = resolved(q, res, r.Clock.Now())
		}
		a.Revision = proved(q, h, d)
		r.answers[i] = a
	}
	return true, nil
}
