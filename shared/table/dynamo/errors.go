package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/wardenhq/warden/shared/table"
)

// Codes of cancellation reasons (API reference, TransactWriteItems).
const (
	reasonConditionFailed = "ConditionalCheckFailed"
	reasonConflict        = "TransactionConflict"
	reasonThrottled       = "ThrottlingError"
	reasonOverCapacity    = "ProvisionedThroughputExceeded"
)

// readError is the port's error of a call that wrote nothing. The cause stays
// within reach; one that the port has no name for is returned as it is.
func readError(err error) error {
	switch {
	case isConflict(err):
		return fmt.Errorf("%w: %w", table.ErrConflict, err)
	case isThrottled(err):
		return fmt.Errorf("%w: %w", table.ErrThrottled, err)
	}
	return err
}

func isConflict(err error) bool {
	return as[*types.TransactionConflictException](err) ||
		as[*types.TransactionInProgressException](err) ||
		canceledFor(err, reasonConflict)
}

func isThrottled(err error) bool {
	return as[*types.ProvisionedThroughputExceededException](err) ||
		as[*types.RequestLimitExceeded](err) ||
		as[*types.ThrottlingException](err) ||
		canceledFor(err, reasonThrottled) || canceledFor(err, reasonOverCapacity)
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func canceledFor(err error, code string) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return false
	}
	for _, r := range canceled.CancellationReasons {
		if r.Code != nil && *r.Code == code {
			return true
		}
	}
	return false
}

// outcomeUnknown says whether a write that gave this error may have been
// carried out: the request left, and no answer came that says it was refused.
// DynamoDB does not say so with a server error either (developer guide, "Error
// handling": an internal server error of a write must be looked into).
func outcomeUnknown(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorFault() == smithy.FaultServer || serverStatus(err)
	}
	return as[*smithyhttp.RequestSendError](err) || as[*smithyhttp.ResponseError](err) ||
		as[*smithy.DeserializationError](err) || as[*smithy.CanceledError](err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

func serverStatus(err error) bool {
	r, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && r.HTTPStatusCode() >= 500
}
