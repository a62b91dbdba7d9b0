// Package topology declares what Warden is made of when it runs: which
// functions there are, what they serve, what they may touch and how large they
// are, and the one table under them.
//
// It is plain data without AWS: the CDK stack loops over it to make
// constructs and grants, the local server loops over it to wire the same
// handlers in one process, and a test holds the synthesized template against
// it. Nothing about wiring is written twice.
package topology

import (
	"strings"
	"time"
)

// Function is one function: a Lambda on AWS, a handler in the local server.
type Function struct {
	// Name is the function's folder under functions/.
	Name string
	// Routes are what it serves over HTTP. No two functions' routes overlap.
	Routes []Route
	// Stream is set for a function that consumes the table's changes.
	Stream *Stream
	// Works are the queues whose messages it is handed, Sends those it sends to.
	Works, Sends []QueueName
	// Every is how often the clock invokes it; 0: it does not.
	Every time.Duration
	// Reads and Writes are its grants: the entities whose items it may read,
	// and those it may put, delete or check in a transaction.
	Reads, Writes []Entity
	// Environment names what it must be told to start.
	Environment []Variable

	// MemoryMB also sets its share of a processor: 1,769 MB are one (AWS Lambda
	// developer guide, "Configure Lambda function memory").
	MemoryMB int
	// Timeout ends an invocation; below the HTTP API's 30 s, so that the
	// function answers and not the gateway.
	Timeout time.Duration
	// ReservedConcurrency is what no other function can take from it, and what
	// it can't pass either.
	ReservedConcurrency int
}

// Route is a path and everything below it, for any method: a function answers
// 405 itself, as only it knows what to put into Allow.
type Route struct {
	// Prefix begins with a slash and ends without one.
	Prefix string
}

// Covers says whether the route serves the path. Segments are whole:
// /v1/orgs covers /v1/orgs and /v1/orgs/a, not /v1/orgs-a.
func (r Route) Covers(path string) bool {
	rest, ok := strings.CutPrefix(path, r.Prefix)
	return ok && (rest == "" || rest[0] == '/')
}

// Variable is the name of an environment variable that a function is started with.
type Variable string

// TableName names the table.
const TableName Variable = "WARDEN_TABLE"

// Functions are all functions there are.
func Functions() []Function {
	return []Function{
		{
			Name:        "check",
			Routes:      []Route{{Prefix: "/v1/access"}},
			Reads:       []Entity{Access, APIKey, GroupMapping, Head, OperatorKey, Permission, Role},
			Environment: []Variable{TableName},

			MemoryMB:            1769,
			Timeout:             5 * time.Second,
			ReservedConcurrency: 500,
		},
		{
			Name:   "admin",
			Routes: []Route{{Prefix: "/v1/orgs"}, {Prefix: "/v1/scopes"}},
			Reads: []Entity{
				Access, APIKey, Delivery, Fence, GroupMapping, Head, Idempotency, Member, OperatorKey, Org, OrgAudit, OrgChain, OrgCheckpoint, OrgEvent,
				Permission, Policy, Recomputation, Role, RoleMember, Scope, ScopeAudit, ScopeChain, ScopeCheckpoint, ScopeEvent, SubjectScope, Unique, Webhook, WebhookState,
			},
			Writes: []Entity{
				Access, APIKey, Delivery, Fence, Head, Idempotency, Member, Org, OrgEvent,
				Permission, Policy, Role, RoleMember, Scope, ScopeEvent, SubjectScope, Unique, Webhook, WebhookState,
			},
			Sends:       []QueueName{Deliveries},
			Environment: []Variable{TableName},

			MemoryMB:            1024,
			Timeout:             25 * time.Second,
			ReservedConcurrency: 100,
		},
		{
			Name:        "projector",
			Stream:      &Stream{Batch: 100, Attempts: 10, MaxAge: 6 * time.Hour},
			Works:       []QueueName{Recompute},
			Sends:       []QueueName{Recompute},
			Reads:       []Entity{Access, Fence, Head, Permission, Policy, Recomputation, Role, RoleMember, SubjectScope},
			Writes:      []Entity{Access, Fence, Head, Policy, Recomputation, RoleMember, ScopeEvent, SubjectScope},
			Environment: []Variable{TableName},

			MemoryMB:            1024,
			Timeout:             29 * time.Second,
			ReservedConcurrency: 20,
		},
		{
			Name:   "audit",
			Stream: &Stream{Batch: 100, Attempts: 10, MaxAge: 6 * time.Hour},
			Reads:  []Entity{Org, OrgAudit, OrgChain, OrgCheckpoint, OrgEvent, ScopeAudit, ScopeChain, ScopeCheckpoint, ScopeEvent, Suspicion},
			Writes: []Entity{OrgAudit, OrgChain, OrgCheckpoint, OrgEvent, ScopeAudit, ScopeChain, ScopeCheckpoint, ScopeEvent, Suspicion},

			Environment: []Variable{TableName},

			MemoryMB:            1024,
			Timeout:             29 * time.Second,
			ReservedConcurrency: 20,
		},
		{
			Name:        "fanout",
			Works:       []QueueName{Fanout},
			Sends:       []QueueName{Deliveries},
			Reads:       []Entity{Delivery, Scope, Webhook},
			Writes:      []Entity{Delivery},
			Environment: []Variable{TableName},

			MemoryMB:            512,
			Timeout:             29 * time.Second,
			ReservedConcurrency: 20,
		},
		{
			Name:        "deliver",
			Works:       []QueueName{Deliveries},
			Sends:       []QueueName{Deliveries},
			Reads:       []Entity{Delivery, Head, Webhook, WebhookState},
			Writes:      []Entity{Delivery, ScopeEvent, Webhook, WebhookState},
			Environment: []Variable{TableName},

			MemoryMB:            512,
			Timeout:             29 * time.Second,
			ReservedConcurrency: 50,
		},
		{
			Name:  "scheduler",
			Every: time.Minute,
			Sends: []QueueName{Recompute, Deliveries},
			Reads: []Entity{
				Access, APIKey, Delivery, Fence, Head, Member, Org, Permission, Policy, Recomputation, Role, RoleMember, Scope, SubjectScope, Task, Webhook, WebhookState,
			},
			Writes: []Entity{
				Access, APIKey, Delivery, Fence, Head, Member, Org, Permission, Policy, Recomputation, Role, RoleMember, Scope, ScopeEvent, SubjectScope, Task, Unique, Webhook, WebhookState,
			},
			Environment: []Variable{TableName},

			MemoryMB:            512,
			Timeout:             29 * time.Second,
			ReservedConcurrency: 1,
		},
	}
}

// Serving is the function that serves the path, and false when none does.
func Serving(path string) (Function, bool) {
	for _, f := range Functions() {
		for _, r := range f.Routes {
			if r.Covers(path) {
				return f, true
			}
		}
	}
	return Function{}, false
}
