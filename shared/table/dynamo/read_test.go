package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
	"github.com/wardenhq/warden/shared/table/keys"
)

// answering leaves out all keys but the first of each call, for as many calls.
func answering(leaveOut int, asked *[]int) fake {
	return fake{batch: func(in *dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) {
		ask := in.RequestItems["T"]
		*asked = append(*asked, len(ask.Keys))
		out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
		answer := ask.Keys
		if len(*asked) <= leaveOut {
			answer = ask.Keys[:1]
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{"T": {Keys: ask.Keys[1:]}}
		}
		for _, k := range answer {
			out.Responses["T"] = append(out.Responses["T"], attributes{"PK": k["PK"], "SK": k["SK"], "Version": n("1")})
		}
		return out, nil
	}}
}

func TestBatchGetAsksAgain(t *testing.T) {
	var asked []int
	var waits []time.Duration
	store := dynamo.New(answering(2, &asked), "T", dynamo.Options{
		Sleep:  func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
		Jitter: func() float64 { return 1 },
	})
	var m table.Meter
	got, err := store.BatchGet(table.WithMeter(t.Context(), &m), []keys.Raw{key("a"), key("b"), key("c"), key("d")}, table.Strong)
	if err != nil {
		t.Fatal(err)
	}
	for i, sk := range []string{"a", "b", "c", "d"} {
		if got[i].Key != key(sk) {
			t.Errorf("answer %d is %v", i, got[i].Key)
		}
	}
	if !slices.Equal(asked, []int{4, 3, 2}) {
		t.Errorf("asked for %v keys", asked)
	}
	if !slices.Equal(waits, []time.Duration{25 * time.Millisecond, 50 * time.Millisecond}) {
		t.Errorf("waited %v", waits)
	}
	if c := m.Cost(); c != (table.Cost{Ops: 3, RRU: 4}) {
		t.Errorf("cost %v", c)
	}
}

func TestBatchGetGivesUp(t *testing.T) {
	never := fake{batch: func(in *dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) {
		return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}, nil
	}}
	var waits []time.Duration
	store := dynamo.New(never, "T", dynamo.Options{
		BatchRounds: 10,
		Sleep:       func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil },
		Jitter:      func() float64 { return 1 },
	})
	if _, err := store.BatchGet(t.Context(), []keys.Raw{key("a")}, table.Strong); !errors.Is(err, table.ErrThrottled) {
		t.Errorf("error %v", err)
	}
	if len(waits) != 10 || slices.Max(waits) != time.Second {
		t.Errorf("waited %v, want ten waits of at most a second", waits)
	}
	ended := errors.New("the context ended")
	store = dynamo.New(never, "T", dynamo.Options{Sleep: func(context.Context, time.Duration) error { return ended }})
	if _, err := store.BatchGet(t.Context(), []keys.Raw{key("a")}, table.Strong); !errors.Is(err, ended) {
		t.Errorf("error %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	other := errors.New("something else")
	for name, c := range map[string]struct{ from, want error }{
		"conflict": {&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")},
		}}, table.ErrConflict},
		"in progress": {&types.TransactionInProgressException{}, table.ErrConflict},
		"throttled inside": {&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("ThrottlingError")},
		}}, table.ErrThrottled},
		"over capacity inside": {&types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
			{Code: aws.String("ProvisionedThroughputExceeded")},
		}}, table.ErrThrottled},
		"over capacity":            {&types.ProvisionedThroughputExceededException{}, table.ErrThrottled},
		"throttled":                {&types.ThrottlingException{}, table.ErrThrottled},
		"over the account's limit": {&types.RequestLimitExceeded{}, table.ErrThrottled},
		"anything else":            {other, other},
	} {
		store := dynamo.New(fake{
			read:  func(*dynamodb.TransactGetItemsInput) (*dynamodb.TransactGetItemsOutput, error) { return nil, c.from },
			get:   func(*dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) { return nil, c.from },
			batch: func(*dynamodb.BatchGetItemInput) (*dynamodb.BatchGetItemOutput, error) { return nil, c.from },
			query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) { return nil, c.from },
		}, "T", dynamo.Options{})
		_, snapshotErr := store.TransactGet(t.Context(), []keys.Raw{key("a")})
		_, getErr := store.Get(t.Context(), key("a"), table.Strong)
		_, batchErr := store.BatchGet(t.Context(), []keys.Raw{key("a")}, table.Strong)
		_, queryErr := store.Query(t.Context(), table.Query{PK: "P", Prefix: "a", Limit: 1})
		for _, err := range []error{snapshotErr, getErr, batchErr, queryErr} {
			if !errors.Is(err, c.want) || !errors.Is(err, c.from) {
				t.Errorf("%s: error %v, want %v with its cause", name, err, c.want)
			}
		}
	}
}

func TestForeignAttributesAreRefused(t *testing.T) {
	for name, foreign := range map[string]types.AttributeValue{
		"Version":   s("1"),
		"Format":    n("1.5"),
		"TTL":       n("-1"),
		"Body":      &types.AttributeValueMemberB{Value: []byte("{}")},
		"Blob":      s("x"),
		"CreatedAt": s("yesterday"),
		"UpdatedAt": n("1"),
		"GSI3SK":    n("1"),
		"Actor":     &types.AttributeValueMemberNULL{Value: true},
	} {
		it := stored("a", "1")
		it[name] = foreign
		store := dynamo.New(fake{
			get: func(*dynamodb.GetItemInput) (*dynamodb.GetItemOutput, error) {
				return &dynamodb.GetItemOutput{Item: it}, nil
			},
			query: func(*dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
				return &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{it}}, nil
			},
		}, "T", dynamo.Options{})
		if _, err := store.Get(t.Context(), key("a"), table.Strong); !errors.Is(err, table.ErrFormat) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := store.Query(t.Context(), table.Query{PK: "P", Prefix: "a", Limit: 1}); !errors.Is(err, table.ErrFormat) {
			t.Errorf("%s: error %v of a query", name, err)
		}
	}
}
