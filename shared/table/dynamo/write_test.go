package dynamo_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/dynamo"
	"github.com/wardenhq/warden/shared/table/keys"
)

func twoOps() table.Tx {
	return table.Tx{Ops: []table.Op{
		table.Put(item("a", 2), table.VersionIs(1)), table.Check(key("b"), table.Present()),
	}}
}

func canceled(codes ...string) *types.TransactionCanceledException {
	e := &types.TransactionCanceledException{}
	for i, code := range codes {
		r := types.CancellationReason{Code: aws.String(code)}
		if code == "ConditionalCheckFailed" && i == 0 {
			r.Item = stored("a", "7")
		}
		e.CancellationReasons = append(e.CancellationReasons, r)
	}
	return e
}

func failing(err error) *dynamo.Store {
	return dynamo.New(fake{
		write: func(*dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error) { return nil, err },
	}, "T", dynamo.Options{})
}

func TestWriteErrors(t *testing.T) {
	for name, c := range map[string]struct{ from, want error }{
		"conflict":             {canceled("None", "TransactionConflict"), table.ErrConflict},
		"in progress":          {&types.TransactionInProgressException{}, table.ErrConflict},
		"throttled inside":     {canceled("ThrottlingError", "None"), table.ErrThrottled},
		"over capacity":        {&types.ProvisionedThroughputExceededException{}, table.ErrThrottled},
		"token reused":         {&types.IdempotentParameterMismatchException{}, table.ErrTokenReused},
		"internal error":       {&types.InternalServerError{}, table.ErrUnknownOutcome},
		"conflict before rest": {canceled("TransactionConflict", "ThrottlingError"), table.ErrConflict},
	} {
		if err := failing(c.from).Transact(t.Context(), twoOps()); !errors.Is(err, c.want) || !errors.Is(err, c.from) {
			t.Errorf("%s: error %v, want %v with its cause", name, err, c.want)
		}
	}
	refused := canceled("ValidationError", "None")
	if err := failing(refused).Transact(t.Context(), twoOps()); !errors.Is(err, refused) || errors.Is(err, table.ErrUnknownOutcome) {
		t.Errorf("error %v of a refused transaction", err)
	}
}

func TestReasons(t *testing.T) {
	found := &table.Item{Key: key("a"), Type: "test", Version: 7, Format: 1}
	for name, c := range map[string]struct {
		codes []string
		want  []table.Reason
	}{
		"the first":              {[]string{"ConditionalCheckFailed", "None"}, []table.Reason{{Failed: true, Found: found}, {}}},
		"the second, of nothing": {[]string{"None", "ConditionalCheckFailed"}, []table.Reason{{}, {Failed: true}}},
		"both":                   {[]string{"ConditionalCheckFailed", "ConditionalCheckFailed"}, []table.Reason{{Failed: true, Found: found}, {Failed: true}}},
		"beside a conflict":      {[]string{"ConditionalCheckFailed", "TransactionConflict"}, []table.Reason{{Failed: true, Found: found}, {}}},
		"fewer than operations":  {[]string{"ConditionalCheckFailed"}, []table.Reason{{Failed: true, Found: found}, {}}},
	} {
		var m table.Meter
		err := failing(canceled(c.codes...)).Transact(table.WithMeter(t.Context(), &m), twoOps())
		failed, ok := errors.AsType[*table.CanceledError](err)
		if !ok || !reflect.DeepEqual(failed.Reasons, c.want) {
			t.Errorf("%s: %v, want %+v", name, err, c.want)
		}
		if cost := m.Cost(); cost != (table.Cost{Ops: 1, WRU: 4}) {
			t.Errorf("%s: cost %v", name, cost)
		}
	}
	foreign := canceled("ConditionalCheckFailed")
	foreign.CancellationReasons[0].Item["Version"] = s("x")
	if err := failing(foreign).Transact(t.Context(), twoOps()); !errors.Is(err, table.ErrFormat) {
		t.Errorf("error %v of a foreign item", err)
	}
}

// answer is what one try of a client meets: an answer, or none.
type answer struct {
	status int
	body   string
}

var lost = answer{}

// script answers a client's tries one by one, and keeps their bodies.
type script struct {
	answers []answer
	bodies  []string
}

var errReset = errors.New("connection reset by peer")

func (s *script) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies = append(s.bodies, string(body))
	next := s.answers[0]
	s.answers = s.answers[1:]
	if next == lost {
		return nil, errReset
	}
	return &http.Response{
		StatusCode: next.status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(next.body)),
	}, nil
}

func refusal(name string) answer {
	return answer{http.StatusBadRequest, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s"}`, name)}
}

type atOnce struct{}

func (atOnce) BackoffDelay(int, error) (time.Duration, error) { return 0, nil }

func scripted(s *script) *dynamo.Store {
	return dynamo.New(dynamodb.New(dynamodb.Options{
		Region: "local", BaseEndpoint: aws.String("http://scripted"), HTTPClient: s,
		Credentials: aws.CredentialsProviderFunc(credentials),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.Backoff = 2, atOnce{}
		}),
	}), "T", dynamo.Options{})
}

// TestLostAnswers: what the last try says is believed only as far as the token
// makes it certain.
func TestLostAnswers(t *testing.T) {
	conditionFailed := answer{http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
		"CancellationReasons":[{"Code":"ConditionalCheckFailed"},{"Code":"None"}]}`}
	for name, c := range map[string]struct {
		tries []answer
		want  error // nil: success
	}{
		"all lost":            {[]answer{lost, lost}, table.ErrUnknownOutcome},
		"lost, then done":     {[]answer{lost, {http.StatusOK, `{}`}}, nil},
		"lost, then throttle": {[]answer{lost, refusal("ThrottlingException")}, table.ErrUnknownOutcome},
		"lost, then at work":  {[]answer{lost, refusal("TransactionInProgressException")}, table.ErrUnknownOutcome},
		"throttle, then lost": {[]answer{refusal("ThrottlingException"), lost}, table.ErrUnknownOutcome},
		"server error, then throttle": {
			[]answer{{http.StatusInternalServerError, `{"__type":"InternalServerError"}`}, refusal("ThrottlingException")},
			table.ErrUnknownOutcome,
		},
		"throttled twice":  {[]answer{refusal("ThrottlingException"), refusal("ThrottlingException")}, table.ErrThrottled},
		"broken answer":    {[]answer{{http.StatusOK, `{"Consumed`}, {http.StatusOK, `{"Consumed`}}, table.ErrUnknownOutcome},
		"bad gateway":      {[]answer{{http.StatusBadGateway, `<html>`}, {http.StatusBadGateway, `<html>`}}, table.ErrUnknownOutcome},
		"lost, then reuse": {[]answer{lost, refusal("IdempotentParameterMismatchException")}, table.ErrTokenReused},
	} {
		s := &script{answers: c.tries}
		if err := scripted(s).Transact(t.Context(), twoOps()); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		for _, body := range s.bodies {
			if body != s.bodies[0] || !strings.Contains(body, `"ClientRequestToken"`) {
				t.Errorf("%s: the tries differ or have no token:\n%s", name, strings.Join(s.bodies, "\n"))
			}
		}
	}
	var failed *table.CanceledError
	if err := scripted(&script{answers: []answer{lost, conditionFailed}}).Transact(t.Context(), twoOps()); !errors.As(err, &failed) {
		t.Errorf("error %v: under its token a second try that fails was the first to be carried out", err)
	}
	err := scripted(&script{answers: []answer{lost, lost}}).Transact(t.Context(), twoOps())
	if !errors.Is(err, errReset) {
		t.Errorf("error %v lost its cause", err)
	}
}

func TestWriteCost(t *testing.T) {
	consumed := func(c ...types.ConsumedCapacity) *dynamo.Store {
		return dynamo.New(fake{write: func(in *dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error) {
			if in.ReturnConsumedCapacity != types.ReturnConsumedCapacityTotal {
				t.Errorf("asked for capacity %q", in.ReturnConsumedCapacity)
			}
			return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: c}, nil
		}}, "T", dynamo.Options{})
	}
	indexed := item("a", 2)
	indexed.Index[0] = keys.StoredIndexKey("I", "i")
	for name, c := range map[string]struct {
		store *dynamo.Store
		op    table.Op
		want  table.Cost
	}{
		"as the store says": {
			consumed(types.ConsumedCapacity{CapacityUnits: aws.Float64(14), WriteCapacityUnits: aws.Float64(14)}),
			table.Put(item("a", 2), table.VersionIs(1)),
			table.Cost{Ops: 1, WRU: 14},
		},
		"a repetition only reads": {
			consumed(types.ConsumedCapacity{CapacityUnits: aws.Float64(2), ReadCapacityUnits: aws.Float64(2)}),
			table.Put(item("a", 2), table.VersionIs(1)),
			table.Cost{Ops: 1, RRU: 2},
		},
		"estimated":         {consumed(), table.Put(indexed, table.VersionIs(1)), table.Cost{Ops: 1, WRU: 3}},
		"estimated new":     {consumed(), table.Put(indexed, table.Absent()), table.Cost{Ops: 1, WRU: 3}},
		"estimated removal": {consumed(), table.Delete(key("a"), table.Any()), table.Cost{Ops: 1, WRU: 2}},
	} {
		var m table.Meter
		if err := c.store.Transact(table.WithMeter(t.Context(), &m), table.Tx{Ops: []table.Op{c.op}}); err != nil {
			t.Fatal(err)
		}
		if got := m.Cost(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
