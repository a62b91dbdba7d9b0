package dynamo_test

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
	"github.com/wardenhq/warden/shared/table/keys"
)

// fake answers with its functions; a call without one panics.
type fake struct {
	dynamo.API

	batch func(*dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error)
	get   func(*dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error)
	read  func(*dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error)
	write func(*dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error)
	query func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
}

type options = func(*dynamodb.Options)

func (f fake) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...options) (*dynamodb.BatchGetItemOutput, error) {
	return f.batch(in)
}

func (f fake) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...options) (*dynamodb.GetItemOutput, error) {
	return f.get(in)
}

func (f fake) TransactGetItems(_ context.Context, in *dynamodb.TransactGetItemsInput, _ ...options) (*dynamodb.TransactGetItemsOutput, error) {
	return f.read(in)
}

func (f fake) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...options) (*dynamodb.TransactWriteItemsOutput, error) {
	return f.write(in)
}

func (f fake) Query(_ context.Context, in *dynamodb.QueryInput, _ ...options) (*dynamodb.QueryOutput, error) {
	return f.query(in)
}

type attributes = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// stored is an item as the table holds it.
func stored(sk, version string) attributes {
	return attributes{"PK": s("P"), "SK": s(sk), "Type": s("test"), "Version": n(version), "Format": n("1")}
}

func key(sk string) keys.Raw { return keys.Stored("P", sk) }

func item(sk string, version uint64) *table.Item {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return &table.Item{Key: key(sk), Type: "test", Version: version, Format: 1, CreatedAt: at, UpdatedAt: at}
}
