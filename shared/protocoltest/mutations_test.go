package protocoltest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// portMutations are named as in the specification.
var portMutations = []mutation{
	{name: "head_unconditioned", rule: "1: HEAD is conditioned on its version", port: editing(dutyDefine, headUnconditioned), stage: onlyDefinitions, rebases: true},
	{name: "head_read_late", rule: "1: HEAD's version is read before validating", port: headReadLate, stage: onlyDefinitions, rebases: true},
	{name: "validate_torn", rule: "1: what is listed is complete: the write before was seen", port: unsettled(func(string) bool { return true })},
	{name: "wait_only_deletions", rule: "1: every definition write sees the one before, not only those that list", port: unsettled(func(what string) bool {
		return !strings.HasPrefix(what, "delete")
	}), stage: onlyDefinitions},
	{name: "no_entry_unheld", rule: "1: an entry also when nobody holds the definition", port: noEntryUnheld},
	{name: "no_entry_permission", rule: "1: an entry for a permission's change", port: editing(dutyDefine, noEntry(func(d defined) bool {
		return d.id.Kind() == rbac.KindPermission
	}))},
	{name: "no_entry_delete", rule: "1: an entry for a deletion", port: editing(dutyDefine, noEntry(func(d defined) bool { return d.state.Deleted }))},
	{name: "collapse_drops", rule: "1: past the limit every older document is stale", port: editing(dutyDefine, collapseDrops), stage: crowded},
	{name: "collapse_low", rule: "1: the collapsed entry has the newest revision", port: editing(dutyDefine, collapseLow), stage: crowded},

	{name: "compute_plain", rule: "2: computing reads are snapshots", port: computePlain},
	{name: "pieces_differ", rule: "2: pieces show one revision", port: pinned(func(d duty) bool { return d == dutyDefault || d == dutyAtLeast }, ""), stage: manyDefaults},

	{name: "stale_ignored", rule: "3: a stale document's grants are not used", port: readersSee(func(h *head.Head) { h.Flux, h.All = nil, head.Entry{} })},
	{name: "names_direct", rule: "3: documents name inherited roles", port: naming(func(n named) bool { return n.role == nil || n.direct })},
	{name: "names_no_permissions", rule: "3: documents name permissions", port: naming(func(n named) bool { return n.id.Kind() != rbac.KindPermission })},
	{name: "names_no_empty", rule: "3: documents name definitions that grant nothing", port: naming(func(n named) bool {
		return n.role == nil || !n.role.Deleted && len(n.role.Permissions) > 0
	})},
	{name: "live_other_revision", rule: "3: a strong live answer is of one revision", port: pinned(func(d duty) bool { return d == dutyStrong || d == dutyMixed }, "ACCESS"), stage: manyStrong},

	{name: "strong_plain", rule: "4: strong reads are one snapshot", port: strongPlain},
	{name: "token_no_version", rule: "4: at_least demands the document's version", token: func(t revision.Token) revision.Token { t.Version = 0; return t }},
	{name: "token_no_revision", rule: "4: at_least demands HEAD's revision", token: func(t revision.Token) revision.Token { t.Revision = 0; return t }},
	{name: "deleted_scope_answers", rule: "checks of a deleted scope deny", port: readersSee(func(h *head.Head) { h.Deleted = false })},

	{name: "policy_doc_unconditioned", rule: "5: a policy write conditions the document", port: editing(dutyPolicy, func(_ *port, tx table.Tx) table.Tx {
		return each(tx, "ACCESS", func(op table.Op) table.Op { op.If = table.Any(); return op })
	})},
	{name: "no_document_tombstone", rule: "5: a deleted policy leaves its document", port: editing(dutyPolicy, noTombstone)},

	{name: "no_fence", rule: "6: policy writes check the fence", port: editing(dutyPolicy, func(_ *port, tx table.Tx) table.Tx {
		return each(tx, "FENCE", func(op table.Op) table.Op { op.If = table.Any(); return op })
	})},
	{name: "fence_read_late", rule: "6: the fence is read before the definitions", port: fenceReadLate, stage: lateWriters},

	{name: "lost_is_failure", rule: "a commit whose answer was lost is a success", port: lostIsFailure},
	{name: "lost_by_item", rule: "own success is told by the event item", port: lostByItem},
}

// onlyDefinitions: two who change definitions and nobody else.
func onlyDefinitions(w *world) {
	w.late = false
	w.roles = []string{"r0", "r1", "r2"}
	w.cast = cast{define: 2, changes: 3}
}

func crowded(w *world) { w.crowded = true }

// lateWriters: policy writes that are held up while a fan-out comes to its end.
func lateWriters(w *world) {
	w.late, w.subjects, w.roles = true, []string{"u0"}, []string{"r0"}
	w.cast = cast{define: 1, policy: 2, project: 2, atLeast: 1, changes: 2}
}

// manyDefaults: readers of stale documents in small pieces, while two change
// definitions.
func manyDefaults(w *world) {
	w.late, w.subjects, w.roles, w.crowded, w.piece = true, []string{"u0"}, []string{"r0"}, false, 1
	w.cast = cast{define: 3, byDefault: 2, atLeast: 1, changes: 3}
}

// manyStrong: the same with strong readers.
func manyStrong(w *world) {
	manyDefaults(w)
	w.cast = cast{define: 3, strong: 3, policy: 1, changes: 3}
}

// headUnconditioned raises whatever HEAD stands there.
func headUnconditioned(p *port, tx table.Tx) table.Tx {
	d, ok := definedBy(tx)
	if !ok {
		return tx
	}
	return d.rebase(tx, p.a.sim.headNow(), table.Any(), p.a.sim.now())
}

func headReadLate(p port) table.Store {
	m := altered{port: p}
	m.transact = func(ctx context.Context, tx table.Tx) error {
		d, ok := definedBy(tx)
		if !ok {
			return p.Transact(ctx, tx)
		}
		items, err := p.TransactGet(ctx, []keys.Raw{d.head.Key})
		if err != nil {
			return err
		}
		h, err := head.Decode(items[0])
		if err != nil {
			return err
		}
		return p.Transact(ctx, d.rebase(tx, h, table.VersionIs(h.Version), p.a.sim.now()))
	}
	return m
}

// unsettled lets definition writes of some kinds take what was written last for seen.
func unsettled(which func(what string) bool) func(port) table.Store {
	return func(p port) table.Store {
		m := altered{port: p}
		m.get = func(ctx context.Context, k keys.Raw, c table.Consistency) (*table.Item, error) {
			if kind := kindOf(k); p.a.duty != dutyDefine || kind != "PERMISSION" && kind != "ROLE" || !which(p.a.what) {
				return p.Get(ctx, k, c)
			}
			it, err := p.a.sim.base.Get(ctx, k, c)
			if err != nil {
				return nil, err
			}
			return it, nil
		}
		return m
	}
}

// noEntry leaves flux as it was for some changes.
func noEntry(of func(defined) bool) func(*port, table.Tx) table.Tx {
	return func(p *port, tx table.Tx) table.Tx {
		d, ok := definedBy(tx)
		if !ok || !of(d) {
			return tx
		}
		return d.withHead(tx, func(h *head.Head) {
			if h.All.Revision == h.Revision {
				return
			}
			before := entryOf(p.a.sim.headNow(), d.id)
			h.Flux = slices.DeleteFunc(slices.Clone(h.Flux), func(e head.Entry) bool { return e.Name == d.id.Hash() })
			if before.Revision > 0 {
				h.Flux = append(h.Flux, before)
				sortFlux(h)
			}
		})
	}
}

func noEntryUnheld(p port) table.Store {
	m := altered{port: p}
	m.transact = func(ctx context.Context, tx table.Tx) error {
		d, ok := definedBy(tx)
		r, isRole := d.id.Role()
		if !ok || !isRole {
			return p.Transact(ctx, tx)
		}
		members := keys.RoleMembers(p.a.sim.scope.ID, r)
		page, err := p.Query(ctx, table.Query{PK: members.PK(), Prefix: members.Prefix(), Limit: 1, Consistency: table.Strong})
		if err != nil {
			return err
		}
		inherited := slices.ContainsFunc(byName(p.a.sim.history.now().roles), func(heir string) bool {
			_, inherits := p.a.sim.roleNow(heir)
			return slices.Contains(inherits, r.String())
		})
		if len(page.Items) == 0 && !inherited {
			p.atOnce = noEntry(func(defined) bool { return true })
		}
		return p.Transact(ctx, tx)
	}
	return m
}

// collapseDrops forgets the oldest entry where all are to become one.
func collapseDrops(p *port, tx table.Tx) table.Tx {
	return collapse(p, tx, func(h *head.Head, full []head.Entry, before head.Entry) {
		oldest := slices.IndexFunc(full, func(e head.Entry) bool {
			return !slices.ContainsFunc(full, func(o head.Entry) bool { return o.Revision < e.Revision })
		})
		h.Flux, h.All = slices.Delete(full, oldest, oldest+1), before
		sortFlux(h)
	})
}

// collapseLow gives the collapsed entry the lowest revision.
func collapseLow(p *port, tx table.Tx) table.Tx {
	return collapse(p, tx, func(h *head.Head, full []head.Entry, _ head.Entry) {
		for _, e := range full {
			h.All.Revision = min(h.All.Revision, e.Revision)
		}
	})
}

// collapse edits a HEAD that collapses its entries: full are those it had, with the new one.
func collapse(p *port, tx table.Tx, edit func(h *head.Head, full []head.Entry, before head.Entry)) table.Tx {
	d, ok := definedBy(tx)
	if !ok {
		return tx
	}
	return d.withHead(tx, func(h *head.Head) {
		if h.All.Revision < h.Revision {
			return
		}
		now := p.a.sim.headNow()
		e := h.All
		e.Name = d.id.Hash()
		edit(h, append(slices.Clone(now.Flux), e), now.All)
	})
}

// plainly reads items one after the other instead of in a snapshot.
func plainly(ctx context.Context, p port, wanted []keys.Raw, order ...string) ([]*table.Item, error) {
	places := make([]int, len(wanted))
	for i := range places {
		places[i] = i
	}
	rank := func(i int) int {
		if at := slices.Index(order, kindOf(wanted[i])); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortStableFunc(places, func(a, b int) int { return rank(a) - rank(b) })
	items := make([]*table.Item, len(wanted))
	for _, i := range places {
		var err error
		if items[i], err = p.Get(ctx, wanted[i], table.Strong); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func computePlain(p port) table.Store {
	m := altered{port: p}
	m.snapshot = func(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
		if p.a.duty == dutyPolicy || p.a.duty.checks() && !(stop{keys: wanted}).has("ACCESS") {
			return plainly(ctx, p, wanted, "HEAD")
		}
		return p.TransactGet(ctx, wanted)
	}
	return m
}

func strongPlain(p port) table.Store {
	m := altered{port: p}
	m.snapshot = func(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
		if p.a.duty.checks() && (stop{keys: wanted}).has("ACCESS") {
			return plainly(ctx, p, wanted, "ACCESS", "HEAD")
		}
		return p.TransactGet(ctx, wanted)
	}
	return m
}

// pinned shows in every further piece the HEAD that came with the anchor, as if
// it had not moved. Without an anchor that is the HEAD read alone, or in a batch.
func pinned(whose func(duty) bool, anchor string) func(port) table.Store {
	return func(p port) table.Store {
		if !whose(p.a.duty) {
			return p
		}
		var pin *table.Item
		m := altered{port: p}
		m.snapshot = func(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
			items, err := p.TransactGet(ctx, wanted)
			at := slices.IndexFunc(wanted, func(k keys.Raw) bool { return kindOf(k) == "HEAD" })
			switch {
			case err != nil || at < 0:
			case (stop{keys: wanted}).has(anchor), anchor == "" && len(wanted) == 1:
				pin = items[at]
			case pin != nil && !(stop{keys: wanted}).has("ACCESS"):
				items = slices.Clone(items)
				items[at] = pin
			}
			return items, err
		}
		m.batch = func(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
			items, err := p.BatchGet(ctx, wanted, c)
			at := slices.IndexFunc(wanted, func(k keys.Raw) bool { return kindOf(k) == "HEAD" })
			if err == nil && at >= 0 && anchor == "" {
				pin = items[at]
			}
			return items, err
		}
		return m
	}
}

// readersSee changes the HEAD that checks read.
func readersSee(edit func(*head.Head)) func(port) table.Store {
	return func(p port) table.Store {
		if !p.a.duty.checks() {
			return p
		}
		seen := func(items []*table.Item, err error) ([]*table.Item, error) {
			out := slices.Clone(items)
			for i, it := range items {
				if it == nil || kindOf(it.Key) != "HEAD" {
					continue
				}
				h, bad := head.Decode(it)
				if bad != nil {
					return nil, bad
				}
				edit(h)
				other := *it
				other.Blob = h.Encode()
				out[i] = &other
			}
			return out, err
		}
		m := altered{port: p}
		m.batch = func(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
			return seen(p.BatchGet(ctx, wanted, c))
		}
		m.snapshot = func(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
			return seen(p.TransactGet(ctx, wanted))
		}
		return m
	}
}

func noTombstone(_ *port, tx table.Tx) table.Tx {
	if op, ok := find(tx, "POLICY"); !ok || op.Action != table.ActionDelete {
		return tx
	}
	return each(tx, "ACCESS", func(op table.Op) table.Op { return table.Delete(op.Key, op.If) })
}

func fenceReadLate(p port) table.Store {
	m := altered{port: p}
	m.transact = func(ctx context.Context, tx table.Tx) error {
		if op, ok := find(tx, "FENCE"); ok && p.a.duty == dutyPolicy {
			it, err := p.Get(ctx, op.Key, table.Strong)
			if err != nil {
				return err
			}
			tx = each(tx, "FENCE", func(op table.Op) table.Op { op.If = table.VersionIs(table.VersionOf(it)); return op })
		}
		return p.Transact(ctx, tx)
	}
	return m
}

var errNeverDone = errors.New("protocoltest: never done")

func lostIsFailure(p port) table.Store {
	m := altered{port: p}
	m.transact = func(ctx context.Context, tx table.Tx) error {
		err := p.Transact(ctx, tx)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		for i, r := range canceled.Reasons {
			if r.Failed && kindOf(tx.Ops[i].Key) == "EVENT" {
				return errNeverDone
			}
		}
		return err
	}
	return m
}

func lostByItem(p port) table.Store {
	m := altered{port: p}
	m.transact = func(ctx context.Context, tx table.Tx) error {
		event, ok := find(tx, "EVENT")
		if !ok {
			return p.Transact(ctx, tx)
		}
		tx = each(tx, "EVENT", func(op table.Op) table.Op { op.If = table.Any(); return op })
		err := p.Transact(ctx, tx)
		var canceled *table.CanceledError
		if !errors.As(err, &canceled) {
			return err
		}
		for _, r := range canceled.Reasons {
			if r.Failed && r.Found != nil && r.Found.RequestID == event.Item.RequestID {
				return nil
			}
		}
		return err
	}
	return m
}
