package protocoltest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

// fanout is rule 7 in the least code: it brings the documents of a changed
// definition's holders up and takes its entry out of flux. Policy writes and
// checks are only put to the test while somebody does.
type fanout struct {
	*actor
	table     table.Store
	snapshots *snapshot.Reader
}

// all is the entry that names every definition.
var all = rbac.DefinitionID{}

// errGivenUp ends one piece of work; the entry stays for the next one.
var errGivenUp = errors.New("protocoltest: given up")

// projector works from stream records, which come late, twice and in any order,
// and from what flux holds, as a sweeper does.
func (s *sim) projector(rounds int) func(*actor) {
	return func(a *actor) {
		f := newFanout(a)
		for range rounds {
			if err := f.round(); err != nil {
				if a.dead {
					return
				}
				a.log("gives up: %v", err)
			}
		}
	}
}

func newFanout(a *actor) *fanout {
	t := a.store()
	return &fanout{actor: a, table: t, snapshots: a.snapshots(t)}
}

func (f *fanout) round() error {
	c, err := f.choose()
	if err != nil || c.head == nil {
		return err
	}
	return f.work(c)
}

// choose is a change to work on. Without any it waits, and there is none.
func (f *fanout) choose() (changed, error) {
	entries := slices.Clone(f.sim.history.stream)
	if len(entries) == 0 || f.rnd.IntN(2) == 0 {
		h, err := f.head()
		if err != nil {
			return changed{}, err
		}
		entries = f.entries(h)
	}
	if len(entries) == 0 {
		return changed{}, f.sleep(pick(f.rnd, time.Second/2, f.sim.minute))
	}
	return pick(f.rnd, entries...), nil
}

// entries are those of flux that are of definitions of this world.
func (f *fanout) entries(h *head.Head) []changed {
	var out []changed
	if h.All.Revision > 0 {
		out = append(out, changed{all, h.All.Revision, h})
	}
	for _, e := range h.Flux {
		if !isFiller(e.Name) {
			out = append(out, changed{f.named(e.Name), e.Revision, h})
		}
	}
	return out
}

func (f *fanout) named(hash uint64) rbac.DefinitionID {
	now := f.sim.history.now()
	for _, id := range byName(now.permissions) {
		if d := rbac.OfPermission(permissionID(id)); d.Hash() == hash {
			return d
		}
	}
	for _, id := range byName(now.roles) {
		if d := rbac.OfRole(roleID(id)); d.Hash() == hash {
			return d
		}
	}
	panic("an entry of flux of no definition")
}

func entryOf(h *head.Head, id rbac.DefinitionID) head.Entry {
	if id == all {
		return h.All
	}
	for _, e := range h.Flux {
		if e.Name == id.Hash() {
			return e
		}
	}
	return head.Entry{}
}

func (f *fanout) sleep(d time.Duration) error { return watch{f.actor}.Sleep(f.sim.ctx, d) }

func (f *fanout) until(at time.Time) error { return f.sleep(max(0, at.Sub(f.sim.now()))) }

func (f *fanout) head() (*head.Head, error) {
	items, err := f.snapshots.Get(f.sim.ctx, []keys.Raw{keys.Head(f.sim.scope.ID).Raw()})
	if err != nil {
		return nil, err
	}
	return head.Decode(items[0])
}

// work is one entry: catch up, raise the fences, wait, catch up again, wait, and
// only then take the entry out. The minimum age has no fixed place among these.
func (f *fanout) work(e changed) error {
	h, err := f.head()
	if err != nil {
		return err
	}
	entry := entryOf(h, e.id)
	if entry.Revision != e.revision {
		return nil
	}
	old, early := entry.Since.Add(f.sim.minAge), f.rnd.IntN(2) == 0
	steps := []func() error{
		func() error { return f.catchUp(e) },
		func() error {
			if !early {
				return nil
			}
			return f.until(old)
		},
		f.raiseFences,
		func() error { return f.sleep(f.sim.minute) },
		func() error { return f.catchUp(e) },
		func() error { return f.sleep(f.sim.minute) },
		func() error { return f.until(old) },
		func() error { return f.prune(e) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// prune takes an entry out of flux while it is unchanged.
func (f *fanout) prune(e changed) error {
	for range 6 {
		h, err := f.head()
		if err != nil {
			return err
		}
		if entryOf(h, e.id).Revision != e.revision {
			return nil
		}
		next := *h
		if e.id == all {
			next.All = head.Entry{}
		} else {
			next.Flux = slices.DeleteFunc(slices.Clone(h.Flux), func(x head.Entry) bool { return x.Name == e.id.Hash() })
		}
		next.Floor = max(h.Floor, e.revision)
		next.Version++
		it := f.item(keys.Head(f.sim.scope.ID).Raw(), "Head", next.Version)
		it.Blob = next.Encode()
		if done, err := f.commit(table.Put(it, table.VersionIs(h.Version))); done || err != nil {
			return err
		}
	}
	return errGivenUp
}

func (f *fanout) item(k keys.Raw, kind string, version uint64) *table.Item {
	return &table.Item{Key: k, Type: kind, Version: version, Format: entity.Format, UpdatedAt: f.sim.now(), Actor: "system:fanout"}
}

// commit carries out one operation; false when its condition failed.
func (f *fanout) commit(op table.Op) (bool, error) {
	for range 6 {
		err := f.table.Transact(f.sim.ctx, table.Tx{Ops: []table.Op{op}})
		var canceled *table.CanceledError
		switch {
		case err == nil:
			return true, nil
		case errors.As(err, &canceled):
			return false, nil
		case !errors.Is(err, table.ErrConflict) && !errors.Is(err, table.ErrUnknownOutcome):
			return false, err
		}
	}
	return false, errGivenUp
}

// raiseFences makes every policy write in flight fail: those of the world's
// subjects are all there are.
func (f *fanout) raiseFences() error {
	for _, u := range f.sim.subjects {
		key := write.FenceOf(f.sim.scope.ID, subjectID(u)).Raw()
		for {
			items, err := f.snapshots.Get(f.sim.ctx, []keys.Raw{key})
			if err != nil {
				return err
			}
			v := table.VersionOf(items[0])
			if done, err := f.commit(table.Put(f.item(key, "Fence", v+1), table.VersionIs(v))); err != nil {
				return err
			} else if done {
				break
			}
		}
	}
	return nil
}

// holders are the members of every role that comes to the definition.
func (f *fanout) holders(id rbac.DefinitionID) ([]string, error) {
	found := map[string]bool{}
	if id == all {
		err := stored.All(f.sim.ctx, f.table, keys.Policies(f.sim.scope.ID), func(p stored.Row[entity.Policy]) bool {
			found[p.Entity.Subject.String()] = true
			return true
		})
		return byName(found), err
	}
	defs := &definitions{roles: map[string]entity.Role{}}
	err := stored.All(f.sim.ctx, f.table, keys.Roles(f.sim.scope.ID), func(r stored.Row[entity.Role]) bool {
		defs.roles[r.Entity.ID.String()] = r.Entity
		return true
	})
	if err != nil {
		return nil, err
	}
	for _, r := range byName(defs.roles) {
		if !comesTo(defs, r, id) {
			continue
		}
		err := stored.All(f.sim.ctx, f.table, keys.RoleMembers(f.sim.scope.ID, roleID(r)), func(m stored.Row[entity.RoleMember]) bool {
			found[m.Entity.Subject.String()] = true
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return byName(found), nil
}

// comesTo says whether a role is the definition, inherits it or has it, however
// deep. A dead role has members still whose documents name it.
func comesTo(defs *definitions, role string, id rbac.DefinitionID) bool {
	if r, ok := id.Role(); ok {
		return defs.reaches(role, r.String())
	}
	for _, other := range byName(defs.roles) {
		e := defs.roles[other]
		has := slices.ContainsFunc(e.Permissions, func(p rbac.PermissionRef) bool { return rbac.OfPermission(p.ID) == id })
		if has && !e.Deleted && defs.reaches(role, other) {
			return true
		}
	}
	return false
}

// catchUp brings every holder's document to the entry's revision.
func (f *fanout) catchUp(e changed) error {
	holders, err := f.holders(e.id)
	if err != nil {
		return err
	}
	for _, u := range holders {
		if err := f.bringUp(u, e.revision); err != nil {
			return err
		}
	}
	return nil
}

func (f *fanout) bringUp(u string, r rbac.Revision) error {
	key := keys.Access(f.sim.scope.ID, subjectID(u)).Raw()
	for range 12 {
		it, err := f.table.Get(f.sim.ctx, key, table.Strong)
		if err != nil {
			return err
		}
		if it == nil { // half of a transaction shows
			if err := f.sleep(visible / 4); err != nil {
				return err
			}
			continue
		}
		v, err := access.Parse(it.Blob)
		if err != nil {
			return err
		}
		if v.Revision() >= r {
			return nil
		}
		next, err := f.compute(&v)
		if err != nil {
			return err
		}
		doc := f.item(key, "Access", it.Version+1)
		doc.Blob = next
		if done, err := f.commit(table.Put(doc, table.VersionIs(it.Version))); done || err != nil {
			return err
		}
		if err := f.sleep(time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s", errGivenUp, u)
}

func (f *fanout) compute(v *access.View) ([]byte, error) {
	as, err := v.Assignments()
	if err != nil {
		return nil, err
	}
	var res *rbac.Resolution
	s, err := f.snapshots.Read(f.sim.ctx, snapshot.Request{Scope: f.sim.scope.ID, Wanted: func(s snapshot.State) ([]rbac.DefinitionID, error) {
		res = rbac.Resolve(as, s.Defs)
		return res.Missing, nil
	}})
	if err != nil {
		return nil, err
	}
	return access.Encode(access.Header{Org: s.Head.Org, Incarnation: s.Head.Incarnation, Revision: s.Head.Revision}, res)
}
