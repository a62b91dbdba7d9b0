package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// attempts watches the client's tries of one call. The last try's error alone
// does not tell the outcome: a first one may have been carried out with its
// answer lost, and a second throttled.
type attempts struct{ unknown bool }

// watch is an option of one call.
func (a *attempts) watch(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(s *middleware.Stack) error {
		return s.Finalize.Insert(middleware.FinalizeMiddlewareFunc("WatchAttempts", a.observe), "Retry", middleware.After)
	})
}

func (a *attempts) observe(
	ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
) (middleware.FinalizeOutput, middleware.Metadata, error) {
	out, metadata, err := next.HandleFinalize(ctx, in)
	if err != nil && outcomeUnknown(err) {
		a.unknown = true
	}
	return out, metadata, err
}
