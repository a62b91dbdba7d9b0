package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// Get implements table.Reader.
func (s *Store) Get(ctx context.Context, key keys.Raw, c table.Consistency) (*table.Item, error) {
	if !key.Valid() {
		return nil, table.ErrInvalidKey
	}
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: s.table, Key: encodeKey(key), ConsistentRead: aws.Bool(bool(c)),
	})
	if err != nil {
		return nil, readError(err)
	}
	it, err := decodeFound(out.Item)
	if err != nil {
		return nil, err
	}
	table.Spend(ctx, table.Cost{Ops: 1, RRU: table.ReadUnits(table.Size(it), c)})
	return it, nil
}

// decodeFound is nil for an absent item.
func decodeFound(m attributes) (*table.Item, error) {
	if len(m) == 0 {
		return nil, nil
	}
	return decode(m)
}

// BatchGet implements table.Reader.
func (s *Store) BatchGet(ctx context.Context, wanted []keys.Raw, c table.Consistency) ([]*table.Item, error) {
	found := make(map[keys.Raw]*table.Item, len(wanted))
	distinct := make([]keys.Raw, 0, len(wanted))
	for _, k := range wanted {
		if !k.Valid() {
			return nil, table.ErrInvalidKey
		}
		if _, again := found[k]; !again {
			found[k] = nil
			distinct = append(distinct, k)
		}
	}
	for start := 0; start < len(distinct); start += table.MaxBatchGet {
		chunk := distinct[start:min(start+table.MaxBatchGet, len(distinct))]
		if err := s.batch(ctx, chunk, c, found); err != nil {
			return nil, err
		}
	}
	items := make([]*table.Item, len(wanted))
	for i, k := range wanted {
		items[i] = found[k]
	}
	return items, nil
}

// batch reads up to 100 distinct keys, and asks again for those that the answer
// leaves out: over 16 MB, or when it is throttled.
func (s *Store) batch(ctx context.Context, distinct []keys.Raw, c table.Consistency, found map[keys.Raw]*table.Item) error {
	ask := types.KeysAndAttributes{ConsistentRead: aws.Bool(bool(c))}
	for _, k := range distinct {
		ask.Keys = append(ask.Keys, encodeKey(k))
	}
	for round := 0; ; round++ {
		out, err := s.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{*s.table: ask},
		})
		if err != nil {
			return readError(err)
		}
		left := out.UnprocessedKeys[*s.table].Keys
		answered, cost := len(ask.Keys)-len(left), table.Cost{Ops: 1}
		for _, m := range out.Responses[*s.table] {
			it, err := decode(m)
			if err != nil {
				return err
			}
			found[it.Key] = it
			cost.RRU += table.ReadUnits(table.Size(it), c)
			answered--
		}
		cost.RRU += float64(answered) * table.ReadUnits(0, c) // absent ones
		table.Spend(ctx, cost)
		if len(left) == 0 {
			return nil
		}
		if round == s.opt.BatchRounds {
			return fmt.Errorf("%w: %d keys of a batch left out %d times", table.ErrThrottled, len(left), round+1)
		}
		ask.Keys = left
		if err := s.opt.Sleep(ctx, s.backoff(round)); err != nil {
			return err
		}
	}
}

// backoff is full jitter over a doubling wait of at most a second.
func (s *Store) backoff(round int) time.Duration {
	longest := min(s.opt.BatchBackoff<<min(round, 20), time.Second)
	return time.Duration(s.opt.Jitter() * float64(longest))
}

// TransactGet implements table.Reader.
func (s *Store) TransactGet(ctx context.Context, wanted []keys.Raw) ([]*table.Item, error) {
	if err := table.ValidateSnapshot(wanted); err != nil {
		return nil, err
	}
	in := &dynamodb.TransactGetItemsInput{TransactItems: make([]types.TransactGetItem, len(wanted))}
	for i, k := range wanted {
		in.TransactItems[i].Get = &types.Get{TableName: s.table, Key: encodeKey(k)}
	}
	out, err := s.client.TransactGetItems(ctx, in)
	if err != nil {
		return nil, readError(err)
	}
	if len(out.Responses) != len(wanted) {
		return nil, fmt.Errorf("dynamo: %d answers for %d keys", len(out.Responses), len(wanted))
	}
	items, cost := make([]*table.Item, len(wanted)), table.Cost{Ops: 1}
	for i, r := range out.Responses {
		if items[i], err = decodeFound(r.Item); err != nil {
			return nil, err
		}
		cost.RRU += table.SnapshotUnits(table.Size(items[i]))
	}
	table.Spend(ctx, cost)
	return items, nil
}
