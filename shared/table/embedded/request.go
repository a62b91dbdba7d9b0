package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/wardenhq/warden/shared/table"
)

// request is one transaction on its way through the writer.
type request struct {
	tx     table.Tx
	keys   [][]byte // of the operations, in the file
	values [][]byte // the items to put, as stored
	digest [sha256.Size]byte
	size   int
	stage  atomic.Uint32
	done   chan struct{} // closed when outcome is set
	outcome
}

// outcome is a transaction's answer.
type outcome struct {
	err  error
	cost table.Cost
}

// The stages of a request: whoever leaves waiting first decides whether it is
// carried out.
const (
	waiting uint32 = iota
	begun
	abandoned
)

func (r *request) begin() bool   { return r.stage.CompareAndSwap(waiting, begun) }
func (r *request) abandon() bool { return r.stage.CompareAndSwap(waiting, abandoned) }

func (r *request) answer(o outcome) {
	r.outcome = o
	close(r.done)
}

// newRequest does what needs no file, so that the writer has less to do.
func newRequest(tx table.Tx) (*request, error) {
	r := &request{
		tx:     tx,
		keys:   make([][]byte, len(tx.Ops)),
		values: make([][]byte, len(tx.Ops)),
		done:   make(chan struct{}),
	}
	for i, op := range tx.Ops {
		switch op.Action {
		case table.ActionPut:
			r.values[i] = encodeItem(op.Item)
		case table.ActionDelete, table.ActionCheck:
		default:
			return nil, fmt.Errorf("embedded: operation %d: unknown action %d", i, op.Action)
		}
		r.keys[i] = appendItemKey(nil, op.Key)
		r.size += len(r.keys[i]) + len(r.values[i])
	}
	if tx.Token != "" {
		r.digest = digestOf(r)
	}
	return r, nil
}

// digestOf stands for all that a transaction says.
func digestOf(r *request) [sha256.Size]byte {
	h := sha256.New()
	var head []byte
	for i, op := range r.tx.Ops {
		head = append(head[:0], byte(op.Action), byte(op.If.Kind))
		head = binary.AppendUvarint(head, op.If.Version)
		head = binary.AppendUvarint(head, uint64(len(r.keys[i])))
		head = binary.AppendUvarint(head, uint64(len(r.values[i])))
		h.Write(head)
		h.Write(r.keys[i])
		h.Write(r.values[i])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Transact is in table.Writer. It never meets a conflict. A context that ends
// before the transaction is begun leaves it undone; one that ends later gives
// table.ErrUnknownOutcome.
func (s *Store) Transact(ctx context.Context, tx table.Tx) error {
	if err := tx.Validate(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("embedded: %w", err)
	}
	r, err := newRequest(tx)
	if err != nil {
		return err
	}
	select {
	case s.writer.queue <- r:
	case <-ctx.Done():
		return fmt.Errorf("embedded: %w", ctx.Err())
	case <-s.writer.closing:
		return ErrClosed
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.abandon() {
			return fmt.Errorf("embedded: %w", ctx.Err())
		}
		return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, ctx.Err())
	}
	table.Spend(ctx, r.cost)
	return r.err
}
