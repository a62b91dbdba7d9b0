package topology

import "time"

// Stream is how a function consumes the table's change stream. DynamoDB serves
// two readers a shard at most (developer guide, "DynamoDB Streams and Lambda").
type Stream struct {
	Batch    int           // changes an invocation, at most
	Attempts int           // at one change, before it is parked with its data
	MaxAge   time.Duration // after which a change is parked whatever its attempts
}

// QueueName names a queue.
type QueueName string

// The queues.
const (
	Recompute  QueueName = "recompute"  // steps of fan-outs, for the projector
	Fanout     QueueName = "fanout"     // events from the bus, for the endpoints that want them
	Deliveries QueueName = "deliveries" // deliveries to endpoints
)

// Queue is a queue and how it is worked on. Groups, which are tenants, take turns.
type Queue struct {
	Name QueueName
	// Batch is how many messages an invocation gets, at most.
	Batch int
	// Workers is how many invocations work at one time, at most; PerGroup how many
	// messages of one tenant are at work then.
	Workers, PerGroup int
	// MaxReceive is how often a message is handed out before it is dead. Receivers'
	// failures are no failures of a message: only our own faults get there.
	MaxReceive int
}

// Queues are all queues there are. Every one has a dead-letter queue.
func Queues() []Queue {
	return []Queue{
		{Name: Recompute, Batch: 1, Workers: 2, PerGroup: 1, MaxReceive: 10},
		{Name: Fanout, Batch: 10, Workers: 4, PerGroup: 2, MaxReceive: 10},
		{Name: Deliveries, Batch: 1, Workers: 256, PerGroup: 64, MaxReceive: 10},
	}
}

// Rule is a rule of the event bus: events of the source go to the queue.
type Rule struct {
	Name   string
	Source string
	Types  []string // none: every type
	Target QueueName
}

// BusSource is the source of Warden's events on the bus.
const BusSource = "warden"

// Rules are all rules of the bus.
func Rules() []Rule {
	return []Rule{{Name: "fanout", Source: BusSource, Target: Fanout}}
}
