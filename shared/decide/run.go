package decide

import (
	"context"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/entity"
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
	caller    caller
	principal auth.Principal
	questions []Question
	answers   []Answer
	// loaded is what this call rests on, with when its read began.
	loaded  map[keys.Raw]entry
	halves  []halves // of each question
	charged bool
}

// halves are what a question is answered from.
type halves struct{ document, head keys.Raw }

// begin starts a call. A caller that no read could prove is refused before any.
func (c *Checker) begin(ctx context.Context, cred auth.Credential, qs []Question) (r run, err error) {
	r = run{Checker: c, ctx: ctx, caller: c.caller(cred), questions: qs, answers: make([]Answer, len(qs))}
	if !r.caller.stored {
		err = r.admit(nil)
	}
	return r, err
}

// load reads, in one go, all that the open questions need and that neither this
// call nor the cache has young enough, and verifies the caller.
func (r *run) load(open []int) error {
	if r.loaded == nil {
		r.loaded = make(map[keys.Raw]entry, 2+len(open))
		r.halves = make([]halves, len(r.questions))
	}
	var lacking []keys.Raw
	now := r.Clock.Now()
	need := func(k keys.Raw) {
		if e, ok := r.loaded[k]; ok && e.young(now) {
			return
		}
		if e, ok := r.Cache.get(k); ok && e.young(now) {
			r.loaded[k] = e
			return
		}
		r.loaded[k] = entry{begun: now} // asked for once
		lacking = append(lacking, k)
	}
	for _, i := range open {
		q, h := &r.questions[i], &r.halves[i]
		if h.document == (keys.Raw{}) {
			*h = halves{keys.Access(q.Scope, q.Subject).Raw(), keys.Head(q.Scope).Raw()}
		}
		need(h.document)
		need(h.head)
	}
	if r.caller.stored {
		need(r.caller.key)
	}
	if len(lacking) > 0 {
		if err := r.read(lacking, now); err != nil {
			return err
		}
	}
	if !r.caller.stored {
		return nil
	}
	return r.admit(r.loaded[r.caller.key].value)
}

func (r *run) admit(found any) (err error) {
	if r.principal, err = r.verify(&r.caller, found); err != nil || r.charged {
		return err
	}
	r.charged = true
	return r.charge(r.principal, len(r.questions))
}

// young says whether all that the question and its caller rest on is young
// enough to answer from now. head is when HEAD's read began.
func (r *run) young(h *halves, head, now time.Time) bool {
	if r.caller.stored && !r.loaded[r.caller.key].young(now) {
		return false
	}
	return r.loaded[h.document].young(now) && now.Sub(head) <= MaxAge
}

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
	case "OperatorKey":
		k, err := stored.Decode[entity.OperatorKey](it)
		return entry{&k, len(it.Body), begun}, err
	}
	return entry{}, fmt.Errorf("decide: unexpected item %s of type %s", it.Key, it.Type)
}

// answerDefault answers what it can from what was loaded. It returns the
// questions whose halves grew too old meanwhile, and those that need a snapshot.
func (r *run) answerDefault(open, strong []int) (again, snapshots []int, err error) {
	live := make(map[keys.Raw]*resolution) // by document: each is resolved once
	for _, i := range open {
		q, at := &r.questions[i], &r.halves[i]
		doc, hd := r.loaded[at.document], r.loaded[at.head]
		now := r.Clock.Now()
		if !r.young(at, hd.begun, now) {
			again = append(again, i)
			continue
		}
		d, _ := doc.value.(*document)
		h, _ := hd.value.(*head.Head)
		h, d = see(r.principal, q, h, d)
		if q.AtLeast != nil && unproved(q, h, d) {
			strong = append(strong, i)
			continue
		}
		if d == nil {
			r.answers[i] = noPolicy(q, h)
			continue
		}
		a, ok, err := fresh(q, h, d, now)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			res := live[at.document]
			if res == nil {
				if res, err = r.live(q, h, d, hd.begun); err != nil {
					return nil, nil, err
				}
				live[at.document] = res
			}
			if now = r.Clock.Now(); !r.young(at, res.begun, now) { // resolving took its time
				again = append(again, i)
				continue
			}
			if res.gone {
				r.answers[i] = noPolicy(q, nil)
				continue
			}
			a = resolved(q, res.of, now)
		}
		a.Revision = proved(q, h, d)
		r.answers[i] = a
	}
	return again, strong, nil
}

// resolution is what a stale document's assignments come to.
type resolution struct {
	of    *rbac.Resolution
	begun time.Time // when the read of the HEAD began at whose revision they were resolved
	gone  bool      // the scope is no more
}

// live resolves a stale document's assignments at HEAD's revision, or at a newer
// one when HEAD moved on. begun is when HEAD's read began.
func (r *run) live(q *Question, h *head.Head, d *document, begun time.Time) (*resolution, error) {
	as, err := d.view.Assignments()
	if err != nil {
		return nil, err
	}
	res := &resolution{begun: begun}
	_, moved, err := r.Snapshots.At(r.ctx, q.Scope, h, wanted(as, &res.of))
	if err != nil || !moved {
		return res, err
	}
	res.begun = r.Clock.Now()
	s, err := r.Snapshots.Read(r.ctx, snapshot.Request{Scope: q.Scope, Wanted: wanted(as, &res.of)})
	if err != nil {
		return nil, err
	}
	_, d = see(r.principal, q, s.Head, d)
	res.gone = d == nil
	return res, nil
}
