// Package queue is the port for work that is handed on: at least once, in no
// promised order, retried a bounded number of times, then kept in a dead-letter
// queue. Its adapters are SQS and package local.
package queue

import "context"

// Limits of SQS that both adapters hold to (SQS developer guide, "Quotas").
const (
	MaxBatch      = 10
	MaxBatchBytes = 1 << 20 // of one message, and of all messages of one call
)

// Message is one piece of work.
type Message struct {
	ID      string // given by the queue
	Group   string // the tenant: groups take turns, so that none waits behind another's backlog
	Body    []byte
	Attempt int // how often it was handed out, this time included
}

// Sender hands work on.
type Sender interface {
	// Send returns once all messages will survive a crash. On an error some may
	// have been sent.
	Send(ctx context.Context, messages []Message) error
}

// Handler does work. It returns the ids of the messages that are to be handed
// out again; all others are done. Faults of whom the work is about are results
// to record, not failures to return.
type Handler func(ctx context.Context, batch []Message) (failed []string)
