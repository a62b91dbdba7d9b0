package protocoltest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// port is the table as one actor sees it: the actor stops before each call and
// before it sees the answer.
type port struct {
	table.Store

	a      *actor
	atOnce func(*port, table.Tx) table.Tx // a mutation: what is committed instead, decided at the instant of the commit
}

var _ table.Store = port{}

func (p port) Get(ctx context.Context, key keys.Raw, c table.Consistency) (*table.Item, error) {
	if err := p.a.pause(stop{kind: callGet, keys: []keys.Raw{key}, eventual: c == table.Eventual}); err != nil {
		return nil, err
	}
	it, err := p.Store.Get(ctx, key, c)
	if p.a.sim.trace != nil {
		p.a.log("get %s -> %s%s", short(key), shownItem(it), shownError(err))
	}
	return it, p.answered(err)
}

// BatchGet reads the keys one after the other: a batch is no snapshot, and the
// actor may stand between any two.
func (p port) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	found := make([]*table.Item, len(wanted))
	apart := len(wanted) < 8 && p.a.rnd.IntN(2) == 0
	if !apart {
		if err := p.a.pause(stop{kind: callBatch, keys: wanted, eventual: c == table.Eventual}); err != nil {
			return nil, err
		}
	}
	for _, i := range p.a.rnd.Perm(len(wanted)) {
		if apart {
			if err := p.a.pause(stop{kind: callBatch, keys: wanted[i : i+1], eventual: c == table.Eventual}); err != nil {
				return nil, err
			}
		}
		got, err := p.Store.BatchGet(ctx, wanted[i:i+1], c)
		if err != nil {
			return nil, p.answered(err)
		}
		found[i] = got[0]
		if p.a.sim.trace != nil {
			p.a.log("batch %s -> %s", short(wanted[i]), shownItem(found[i]))
		}
	}
	return found, p.answered(nil)
}

func (p port) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if err := p.a.pause(stop{kind: callSnapshot, keys: wanted}); err != nil {
		return nil, err
	}
	items, err := p.Store.TransactGet(ctx, wanted)
	p.a.fromSnapshot = p.a.fromSnapshot || stop{keys: wanted}.has("ACCESS")
	if p.a.sim.trace != nil {
		var b strings.Builder
		for i, it := range items {
			fmt.Fprintf(&b, " %s=%s", short(wanted[i]), shownItem(it))
		}
		p.a.log("snapshot%s%s", b.String(), shownError(err))
	}
	return items, p.answered(err)
}

func (p port) Query(ctx context.Context, q table.Query) (table.Page, error) {
	if err := p.a.pause(stop{kind: callQuery, prefix: q.Prefix}); err != nil {
		return table.Page{}, err
	}
	if strings.HasPrefix(q.Prefix, "ROLE_MEMBER#") {
		p.a.sim.event("List")
	}
	page, err := p.Store.Query(ctx, q)
	if p.a.sim.trace != nil {
		var b strings.Builder
		for _, it := range page.Items {
			fmt.Fprintf(&b, " %s=%s", short(it.Key), shownItem(it))
		}
		p.a.log("query %s ->%s more=%v%s", q.Prefix, b.String(), page.Cursor != "", shownError(err))
	}
	return page, p.answered(err)
}

func (p port) Transact(ctx context.Context, tx table.Tx) error {
	touched := make([]keys.Raw, len(tx.Ops))
	for i, op := range tx.Ops {
		touched[i] = op.Key
	}
	if err := p.a.pause(stop{kind: callTransact, keys: touched}); err != nil {
		return err
	}
	if p.atOnce != nil {
		tx = p.atOnce(&p, tx)
	}
	err := p.Store.Transact(ctx, tx)
	if p.a.sim.trace != nil {
		var b strings.Builder
		for _, op := range tx.Ops {
			fmt.Fprintf(&b, " %s", shownOp(op))
		}
		p.a.log("transact%s%s", b.String(), shownError(err))
	}
	return p.answered(err)
}

// answered leaves the actor standing with an answer that it has not seen.
func (p port) answered(err error) error {
	if killed := p.a.pause(stop{kind: callAnswer}); killed != nil {
		return killed
	}
	return err
}

// watch is virtual time as an actor sees it.
type watch struct{ a *actor }

func (w watch) Now() time.Time {
	now := w.a.sim.now()
	if n := len(w.a.nows); n == 0 || !w.a.nows[n-1].Equal(now) {
		w.a.nows = append(w.a.nows, now)
	}
	return now
}

func (w watch) Sleep(_ context.Context, d time.Duration) error {
	return w.a.pause(stop{kind: callSleep, sleep: d})
}

// kindOf is the first part of the key that tells its item's kind.
func kindOf(k keys.Raw) string {
	kind, _, _ := strings.Cut(k.SK(), "#")
	return kind
}

func short(k keys.Raw) string {
	switch kind := kindOf(k); kind {
	case "HEAD":
		return kind
	case "ACCESS":
		return strings.Replace(k.PK(), "ACCESS#"+scopeName+"#", "ACCESS#", 1)
	}
	return k.SK()
}

func shownError(err error) string {
	if err == nil {
		return ""
	}
	return " ! " + strings.TrimPrefix(err.Error(), "table: ")
}
