package decide

import (
	"context"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// run is one call of Check.
type run struct {
	*Checker
	ctx       context.Context
	cred      auth.Credential
	principal auth.Principal
	questions []Question
	answers   []Answer
	// loaded is what this call rests on, with when its read began.
	loaded map[keys.Raw]entry
}

// load reads, in one go, all that the open questions need and that neither this
// call nor the cache has young enough.
func (r *run) load(open []int) error {
	if r.loaded == nil {
		r.loaded = make(map[keys.Raw]entry, 2+len(open))
	}
	var lacking []keys.Raw
	now := r.Clock.Now()
	need := func(k keys.Raw) {
		if e, ok := r.loaded[k]; ok && now.Sub(e.begun) <= MaxAge {
			return
		}
		if e, ok := r.Cache.get(k); ok && now.Sub(e.begun) <= MaxAge {
			r.loaded[k] = e
			return
		}
		r.loaded[k] = entry{begun: now} // asked for once
		lacking = append(lacking, k)
	}
	for _, i := range open {
		q := &r.questions[i]
		need(keys.Access(q.Scope, q.Subject).Raw())
		need(keys.Head(q.Scope).Raw())
	}
	if r.cred.Kind == auth.KindAPIKey {
		need(r.keyKey())
	}
	if len(lacking) > 0 {
		if err := r.read(lacking, now); err != nil {
			return err
		}
	}
	if r.cred.Kind != auth.KindAPIKey {
		return nil
	}
	key, _ := r.loaded[r.keyKey()].value.(*entity.APIKey)
	return r.verify(key)
}

func (r *run) keyKey() keys.Raw { return keys.APIKey(r.cred.Org, r.cred.ID).Raw() }

func (r *run) read(lacking []keys.Raw, begun time.Time) error {
	tickets := make([]ticket, len(lacking))
	for i, k := range lacking {
		tickets[i] = r.Cache.ticket(k)
	}
	items, err := r.Table.BatchGet(r.ctx, lacking, table.Eventual)
	if err != nil {
		return err
	}
	for i, k := range lacking {
		e, err := parse(items[i], begun)
		if err != nil {
			return err
		}
		r.loaded[k] = e
		r.Cache.put(k, tickets[i], e)
	}
	return nil
}

// parse reads what a check needs of an item.
func parse(it *table.Item, begun time.Time) (entry, error) {
	if it == nil {
		return entry{begun: begun}, nil
	}
	switch it.Type {
	case "Access":
		v, err := access.Parse(it.Blob)
		return entry{&document{v, it.Version}, len(it.Blob), begun}, err
	case "Head":
		h, err := head.Decode(it)
		return entry{h, len(it.Blob), begun}, err
	case "APIKey":
		k, err := stored.Decode[entity.APIKey](it)
		return entry{&k, len(it.Body), begun}, err
	}
	return entry{}, fmt.Errorf("decide: unexpected item %s of type %s", it.Key, it.Type)
}

// answerDefault answers what it can from what was loaded. It returns the
// questions whose halves grew too old meanwhile, and those that need a snapshot.
func (r *run) answerDefault(open, strong []int) (again, snapshots []int, err error) {
	live := make(map[keys.Raw]*rbac.Resolution) // by document: each is resolved once
	for _, i := range open {
		q := &r.questions[i]
		docKey := keys.Access(q.Scope, q.Subject).Raw()
		doc, hd := r.loaded[docKey], r.loaded[keys.Head(q.Scope).Raw()]
		now := r.Clock.Now()
		if now.Sub(doc.begun) > MaxAge || now.Sub(hd.begun) > MaxAge {
			again = append(again, i)
			continue
		}
		d, _ := doc.value.(*document)
		h, _ := hd.value.(*head.Head)
		h, d = see(r.principal, q, h, d)
		if q.AtLeast != nil && (h == nil || behind(q, h, d)) {
			strong = append(strong, i)
			continue
		}
		a, err := r.one(q, h, d, now, live, docKey)
		if err != nil {
			return nil, nil, err
		}
		r.answers[i] = a
	}
	return again, strong, nil
}

func (r *run) one(q *Question, h *head.Head, d *document, now time.Time, live map[keys.Raw]*rbac.Resolution, docKey keys.Raw) (Answer, error) {
	if d == nil {
		return noPolicy(q, h), nil
	}
	a, ok, err := fresh(q, h, d, now)
	if err != nil {
		return a, err
	}
	if !ok {
		res := live[docKey]
		if res == nil {
			if res, err = r.live(q, h, d); err != nil {
				return a, err
			}
			live[docKey] = res
		}
		if res == nil { // the scope went meanwhile
			return noPolicy(q, nil), nil
		}
		a = resolved(q, res, r.Clock.Now())
	}
	a.Revision = proved(q, h, d)
	return a, nil
}

// live resolves a stale document's assignments at HEAD's revision, or at a newer
// one when HEAD moved on. nil: the scope is no more.
func (r *run) live(q *Question, h *head.Head, d *document) (res *rbac.Resolution, err error) {
	as, err := d.view.Assignments()
	if err != nil {
		return nil, err
	}
	_, moved, err := r.Snapshots.At(r.ctx, q.Scope, h, wanted(as, &res))
	if err != nil || !moved {
		return res, err
	}
	s, err := r.Snapshots.Read(r.ctx, snapshot.Request{Scope: q.Scope, Wanted: wanted(as, &res)})
	if err != nil {
		return nil, err
	}
	if h, d = see(r.principal, q, s.Head, d); d == nil {
		return nil, nil
	}
	return res, nil
}

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
	if r.cred.Kind == auth.KindAPIKey {
		wantedKeys = append(wantedKeys, r.keyKey())
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
		if r.cred.Kind == auth.KindAPIKey {
			key, _ := got[1].(*entity.APIKey)
			if err := r.verify(key); err != nil {
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
