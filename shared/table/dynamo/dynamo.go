// Package dynamo is the storage port over DynamoDB and DynamoDB Streams. With
// its schema and its main packages it is all of Warden that knows either.
package dynamo

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/wardenhq/warden/shared/clock"
)

// API is what the adapter calls of *dynamodb.Client.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Options tune a Store. The zero value is what production uses.
type Options struct {
	// BatchRounds is how often BatchGet asks again for keys that were left out,
	// before it gives up with ErrThrottled. 0: 8.
	BatchRounds int
	// BatchBackoff is the longest wait before the first of these rounds; it
	// doubles with each, up to a second. 0: 25 ms.
	BatchBackoff time.Duration
	// Sleep waits between these rounds. Nil: on the machine's clock.
	Sleep func(context.Context, time.Duration) error
	// Jitter draws the part of a wait that is waited, from 0 to 1. Nil: random.
	Jitter func() float64
}

// Store is a table.Store over one DynamoDB table of the Schema. Safe for
// concurrent use.
//
// The client's own retryer carries calls through throttling and conflicts of
// single requests; what is left when it gives up is the port's error.
type Store struct {
	client API
	table  *string
	opt    Options
}

// New is the table of that name.
func New(client API, tableName string, opt Options) *Store {
	if opt.BatchRounds == 0 {
		opt.BatchRounds = 8
	}
	if opt.BatchBackoff == 0 {
		opt.BatchBackoff = 25 * time.Millisecond
	}
	if opt.Sleep == nil {
		opt.Sleep = clock.System{}.Sleep
	}
	if opt.Jitter == nil {
		opt.Jitter = rand.Float64
	}
	return &Store{client: client, table: &tableName, opt: opt}
}
