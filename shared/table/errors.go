package table

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of the port. Test for them with errors.Is.
var (
	// ErrConflict: another transaction is at work on one of the items. Nothing was written; try again with jitter.
	ErrConflict = errors.New("table: transaction conflict")
	// ErrThrottled: the store can't take it now. Nothing was written.
	ErrThrottled = errors.New("table: throttled")
	// ErrUnknownOutcome: the answer was lost; the transaction may have been committed.
	ErrUnknownOutcome = errors.New("table: outcome unknown")
	// ErrTokenReused: the token stands for a transaction with other content.
	ErrTokenReused = errors.New("table: token reused with other content")
	// ErrBadCursor: a cursor that is damaged or belongs to another query.
	ErrBadCursor = errors.New("table: bad cursor")
	// ErrInvalidKey: a key that is empty in a part or over DynamoDB's lengths.
	ErrInvalidKey = errors.New("table: invalid key")
	// ErrInvalidQuery: a query without a prefix on the table, or out of limits.
	ErrInvalidQuery = errors.New("table: invalid query")
	// ErrFormat: a stored item this build can't read.
	ErrFormat = errors.New("table: unknown format")
)

// LimitError says which of DynamoDB's limits a call passed.
type LimitError struct {
	Limit string // "item size", "transaction items", "transaction size", "snapshot items", "same item twice"
	Got   int
	Max   int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("table: %s: %d, at most %d", e.Limit, e.Got, e.Max)
}

// Reason is why one operation of a canceled transaction did not hold.
type Reason struct {
	Failed bool  // the condition did not hold
	Found  *Item // what stood there, for failed conditions; nil: nothing
}

// CanceledError says that at least one condition did not hold; nothing was written.
type CanceledError struct {
	Reasons []Reason // one an operation, in order
}

func (e *CanceledError) Error() string {
	var at []string
	for i, r := range e.Reasons {
		if r.Failed {
			at = append(at, fmt.Sprintf("%d (found version %d)", i, VersionOf(r.Found)))
		}
	}
	return "table: condition failed at operation " + strings.Join(at, ", ")
}
