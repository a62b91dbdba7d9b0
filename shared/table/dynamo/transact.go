package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
)

// Transact implements table.Writer.
//
// A transaction without a token gets one from the SDK, so that the client's own
// retries never take effect twice and never meet their own success as a failed
// condition. Every call spends what the store says it consumed; where it says
// nothing, what table.OpUnits says, with what stood there before guessed from
// the condition.
func (s *Store) Transact(ctx context.Context, tx table.Tx) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := tx.Validate(); err != nil {
		return err
	}
	in := &dynamodb.TransactWriteItemsInput{
		TransactItems:          make([]types.TransactWriteItem, len(tx.Ops)),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	if tx.Token != "" {
		in.ClientRequestToken = &tx.Token
	}
	for i, op := range tx.Ops {
		in.TransactItems[i] = s.operation(op)
	}
	var sent attempts
	out, err := s.client.TransactWriteItems(ctx, in, sent.watch)
	if err != nil {
		return s.transactError(ctx, tx, err, sent.unknown)
	}
	table.Spend(ctx, writeCost(tx, out.ConsumedCapacity))
	return nil
}

func (s *Store) operation(op table.Op) types.TransactWriteItem {
	condition, values := express(op)
	const show = types.ReturnValuesOnConditionCheckFailureAllOld
	switch op.Action {
	case table.ActionDelete:
		return types.TransactWriteItem{Delete: &types.Delete{
			TableName: s.table, Key: encodeKey(op.Key), ReturnValuesOnConditionCheckFailure: show,
			ConditionExpression: condition, ExpressionAttributeValues: values,
		}}
	case table.ActionCheck:
		return types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: s.table, Key: encodeKey(op.Key), ReturnValuesOnConditionCheckFailure: show,
			ConditionExpression: condition, ExpressionAttributeValues: values,
		}}
	case table.ActionPut:
	}
	return types.TransactWriteItem{Put: &types.Put{
		TableName: s.table, Item: encode(op.Item), ReturnValuesOnConditionCheckFailure: show,
		ConditionExpression: condition, ExpressionAttributeValues: values,
	}}
}

// express is the operation's condition as an expression; nil demands nothing.
func express(op table.Op) (*string, attributes) {
	var e string
	switch op.If.Kind {
	case table.IsAbsent:
		e = "attribute_not_exists(PK)"
	case table.IsPresent:
		e = "attribute_exists(PK)"
	case table.HasVersion:
		e = "Version = :version"
		return &e, attributes{":version": number(op.If.Version)}
	case table.Unconditional:
		if op.Action != table.ActionCheck {
			return nil, nil
		}
		e = "attribute_exists(PK) OR attribute_not_exists(PK)" // a check must have one
	}
	return &e, nil
}

// writeCost is the consumed capacity, or without one an estimate.
func writeCost(tx table.Tx, consumed []types.ConsumedCapacity) table.Cost {
	cost := table.Cost{Ops: 1}
	if len(consumed) > 0 && consumed[0].CapacityUnits != nil {
		for _, c := range consumed {
			if c.WriteCapacityUnits == nil && c.ReadCapacityUnits != nil {
				cost.RRU += *c.ReadCapacityUnits // a token's second call only reads
				continue
			}
			cost.WRU += *c.CapacityUnits
		}
		return cost
	}
	for _, op := range tx.Ops {
		cost.WRU += table.OpUnits(op, guessBefore(op))
	}
	return cost
}

// guessBefore is what an operation whose condition held probably found: nothing
// where it demanded absence, else an item of the written one's size and indexes.
func guessBefore(op table.Op) *table.Item {
	if op.If.Kind == table.IsAbsent || op.Item == nil {
		return nil
	}
	before := *op.Item
	before.Version--
	return &before
}

// transactError is the port's error. When an earlier try of the client may have
// been carried out, only what its token makes certain is believed.
func (s *Store) transactError(ctx context.Context, tx table.Tx, err error, unknown bool) error {
	if canceled := new(types.TransactionCanceledException); errors.As(err, &canceled) {
		failed, cerr := conditionFailures(canceled.CancellationReasons, len(tx.Ops))
		if cerr != nil {
			return cerr
		}
		if failed != nil {
			spendCanceled(ctx, tx, failed)
			return failed
		}
	}
	if mismatch := new(types.IdempotentParameterMismatchException); errors.As(err, &mismatch) {
		return fmt.Errorf("%w: %w", table.ErrTokenReused, err)
	}
	if unknown || outcomeUnknown(err) {
		return fmt.Errorf("%w: %w", table.ErrUnknownOutcome, err)
	}
	return readError(err)
}

// spendCanceled counts two units for each KB of what stood there: what was to
// be written is not charged when it was refused.
func spendCanceled(ctx context.Context, tx table.Tx, failed *table.CanceledError) {
	cost := table.Cost{Ops: 1}
	for i, op := range tx.Ops {
		cost.WRU += table.OpUnits(table.Check(op.Key, op.If), failed.Reasons[i].Found)
	}
	table.Spend(ctx, cost)
}

// conditionFailures are the reasons as the port tells them, nil when no
// condition failed. A failed condition outweighs a conflict beside it: trying
// again could not succeed.
func conditionFailures(reasons []types.CancellationReason, ops int) (*table.CanceledError, error) {
	failed := &table.CanceledError{Reasons: make([]table.Reason, ops)}
	anyFailed := false
	for i, r := range reasons {
		if r.Code == nil || *r.Code != reasonConditionFailed || i >= ops {
			continue
		}
		found, err := decodeFound(r.Item)
		if err != nil {
			return nil, err
		}
		failed.Reasons[i], anyFailed = table.Reason{Failed: true, Found: found}, true
	}
	if !anyFailed {
		return nil, nil
	}
	return failed, nil
}
