package embedded

import (
	"errors"
	"fmt"

	"github.com/wardenhq/warden/shared/table"
)

// ErrClosed means that the store was closed before the call was taken up. Nothing was written.
var ErrClosed = errors.New("embedded: store is closed")

// LockedError means that another process holds the data directory.
type LockedError struct{ Dir string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("embedded: data directory %s is in use by another process", e.Dir)
}

// FormatError means that the data directory has a format this build can't read, most
// often because a newer one wrote it. It is a table.ErrFormat.
type FormatError struct {
	Dir       string
	Got, Want uint64 // Got is 0 for a file that holds no table of Warden
}

func (e *FormatError) Error() string {
	if e.Got == 0 {
		return fmt.Sprintf("embedded: data directory %s holds another program's file", e.Dir)
	}
	return fmt.Sprintf("embedded: data directory %s has format %d, this build reads up to %d: use the newer build", e.Dir, e.Got, e.Want)
}

// Unwrap makes it a table.ErrFormat.
func (e *FormatError) Unwrap() error { return table.ErrFormat }

// StoppedError means that a commit failed in a way that leaves open what a power loss
// would keep, so the store takes no writes until it is opened again. Nothing of
// the refused transaction was written; it is a table.ErrThrottled.
type StoppedError struct{ Cause error }

func (e *StoppedError) Error() string {
	return fmt.Sprintf("embedded: no writes until the store is opened again, after: %v", e.Cause)
}

// Unwrap gives table.ErrThrottled and the cause.
func (e *StoppedError) Unwrap() []error { return []error{table.ErrThrottled, e.Cause} }
