package protocoltest

import (
	"context"

	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// mutation takes one clause of the protocol away, outside the real code: at the
// port that an actor sees, or of what it demands. Those that can't be taken away
// there are in sourceMutations.
type mutation struct {
	name  string
	rule  string
	port  func(port) table.Store
	token func(revision.Token) revision.Token
	stage func(*world) // the worlds in which the clause matters most; nil: any
	// rebases: HEAD's revision is made at the port, so that an answer can't prove it.
	rebases bool
}

// altered is a port with some calls of another kind.
type altered struct {
	port

	get      func(context.Context, keys.Raw, table.Consistency) (*table.Item, error)
	batch    func(context.Context, []keys.Raw, table.Consistency) ([]*table.Item, error)
	snapshot func(context.Context, []keys.Raw) ([]*table.Item, error)
	transact func(context.Context, table.Tx) error
}

func (a altered) Get(ctx context.Context, k keys.Raw, c table.Consistency) (*table.Item, error) {
	if a.get != nil {
		return a.get(ctx, k, c)
	}
	return a.port.Get(ctx, k, c)
}

func (a altered) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	if a.batch != nil {
		return a.batch(ctx, wanted, c)
	}
	return a.port.BatchGet(ctx, wanted, c)
}

func (a altered) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if a.snapshot != nil {
		return a.snapshot(ctx, wanted)
	}
	return a.port.TransactGet(ctx, wanted)
}

func (a altered) Transact(ctx context.Context, tx table.Tx) error {
	if a.transact != nil {
		return a.transact(ctx, tx)
	}
	return a.port.Transact(ctx, tx)
}

// editing changes what an actor of that duty commits, at the instant of the commit.
func editing(d duty, edit func(*port, table.Tx) table.Tx) func(port) table.Store {
	return func(p port) table.Store {
		if p.a.duty == d {
			p.atOnce = edit
		}
		return p
	}
}

// each changes some operations of a transaction.
func each(tx table.Tx, kind string, edit func(table.Op) table.Op) table.Tx {
	ops := make([]table.Op, len(tx.Ops))
	for i, op := range tx.Ops {
		if kindOf(op.Key) == kind {
			op = edit(op)
		}
		ops[i] = op
	}
	return table.Tx{Token: tx.Token, Ops: ops}
}

// find is the operation on an item of that kind.
func find(tx table.Tx, kinds ...string) (table.Op, bool) {
	for _, op := range tx.Ops {
		for _, kind := range kinds {
			if kindOf(op.Key) == kind {
				return op, true
			}
		}
	}
	return table.Op{}, false
}
