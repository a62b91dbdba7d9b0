// Package decide answers questions from access documents by the protocol of the
// design (rules 2 to 4): one round trip, at three consistencies. It reads only.
// Whatever keeps it from deciding is an error, never an answer.
package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/clock"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
)

// MaxAge is how long ago the read of what a default answer rests on may have
// begun when the answer is computed.
const MaxAge = 2 * time.Second

// Checker answers questions. Safe for concurrent use.
type Checker struct {
	Table     table.Reader
	Snapshots *snapshot.Reader
	Clock     clock.Clock
	Cache     *Cache
	// GivenKey is the hash of the operator key that was given for this run and is
	// stored nowhere; nil: none was.
	GivenKey []byte
	// Charge counts questions against a caller's rate; its error refuses them. nil:
	// no limit. It is asked once a call, when the caller is known.
	Charge func(p auth.Principal, questions int) error
}

func (c *Checker) charge(p auth.Principal, questions int) error {
	if c.Charge == nil {
		return nil
	}
	return c.Charge(p, questions)
}

// Question is one question of a caller.
type Question struct {
	Scope   rbac.ScopeID
	Subject rbac.SubjectID
	Ask     rbac.Question
	Strong  bool
	AtLeast *revision.Token // nil: none
	Explain bool
}

// Answer is the answer to one question.
type Answer struct {
	Reason   rbac.Reason
	Revision revision.Token
	Matched  []rbac.Match // for Explain
	// Unseen says that there is no such scope within the caller's reach. What was
	// read for it must not be told: it would tell of other tenants.
	Unseen bool
}

// rounds is how often halves that grew too old are read again before the answer
// is sought by a snapshot.
const rounds = 4

// strongTries is how often a strong answer starts again with a new snapshot.
const strongTries = 12

// Check answers the questions, in their order, for the bearer of a credential:
// one read for all that the caches lack. Errors: fault.Unauthenticated,
// Forbidden, TooManyRequests, Busy; *RevisionUnknownError.
func (c *Checker) Check(ctx context.Context, cred auth.Credential, qs []Question) ([]Answer, error) {
	r, err := c.begin(ctx, cred, qs)
	if err != nil {
		return nil, err
	}
	open := make([]int, 0, len(qs))
	var strong []int
	for i := range qs {
		if qs[i].Strong {
			strong = append(strong, i)
		} else {
			open = append(open, i)
		}
	}
	for n := 0; len(open) > 0 && n < rounds; n++ {
		if err := r.load(open); err != nil {
			return nil, err
		}
		if open, strong, err = r.answerDefault(open, strong); err != nil {
			return nil, err
		}
	}
	if err := r.answerStrong(append(strong, open...)); err != nil {
		return nil, err
	}
	return r.answers, nil
}

// Admit says who the bearer of a credential is, when they may ask: for requests
// that have no question to answer. What it rests on is as old as a default
// answer's. Errors: fault.Unauthenticated, Forbidden, Busy.
func (c *Checker) Admit(ctx context.Context, cred auth.Credential) (auth.Principal, error) {
	r, err := c.begin(ctx, cred, nil)
	if err == nil {
		err = r.load(nil)
	}
	if err != nil {
		return auth.Principal{}, err
	}
	return r.principal, nil
}

// document is an access document as it was read.
type document struct {
	view    access.View
	version uint64
}

func (d *document) revision() rbac.Revision {
	if d == nil {
		return 0
	}
	return d.view.Revision()
}

func (d *document) at() uint64 {
	if d == nil {
		return 0
	}
	return d.version
}

// see hides what the caller must not see: a scope that is deleted, or beyond
// its reach, is as none, and so is a document of another life of the scope.
func see(p auth.Principal, q *Question, h *head.Head, d *document) (*head.Head, *document) {
	if h == nil || h.Deleted || !p.InScope(h.Org, q.Scope) {
		return nil, nil
	}
	if d != nil && !d.view.Of(h.Org, h.Incarnation) {
		d = nil
	}
	return h, d
}

// noPolicy is the answer without a document; h is nil when there is no scope either.
func noPolicy(q *Question, h *head.Head) Answer {
	return Answer{Reason: rbac.ReasonNoPolicy, Revision: proved(q, h, nil), Unseen: h == nil}
}

// proved is the revision that an answer shows: nothing of a scope that is not seen.
func proved(q *Question, h *head.Head, d *document) revision.Token {
	if h == nil {
		return revision.OfDefinition(q.Scope, 0)
	}
	return revision.OfPolicy(q.Scope, max(h.Revision, d.revision()), q.Subject, d.at())
}

// unproved says whether what was read, maybe not all at one moment, leaves open
// that the token's write is in it.
func unproved(q *Question, h *head.Head, d *document) bool {
	return h == nil || q.AtLeast.Many() || behind(q, h, d)
}

// behind says whether what was read does not prove the token's write.
func behind(q *Question, h *head.Head, d *document) bool {
	if max(h.Revision, d.revision()) < q.AtLeast.Revision {
		return true
	}
	return q.AtLeast.About(q.Subject) && d.at() < q.AtLeast.Version
}

// RevisionUnknownError says that a question demands a revision ahead of the table.
type RevisionUnknownError struct{ Question int }

func (e *RevisionUnknownError) Error() string {
	return fmt.Sprintf("decide: question %d demands a revision ahead of the table", e.Question)
}

// fresh answers from a document's own grants. ok is false when it is stale or
// holds none: then it is answered from its assignments.
func fresh(q *Question, h *head.Head, d *document, now time.Time) (a Answer, ok bool, err error) {
	if !d.view.GrantsKept() || h.Stale(&d.view) {
		return a, false, nil
	}
	if a.Reason, err = d.view.Decide(q.Ask, now); err != nil {
		return a, false, err
	}
	if q.Explain {
		d, err := d.view.Explain(q.Ask, now)
		return Answer{Reason: d.Reason, Matched: d.Matched}, true, err
	}
	return a, true, nil
}

// resolved answers from a resolution.
func resolved(q *Question, r *rbac.Resolution, now time.Time) (a Answer) {
	if !q.Explain {
		a.Reason = r.Decide(q.Ask, now)
		return a
	}
	d := r.Explain(q.Ask, now)
	a.Reason, a.Matched = d.Reason, d.Matched
	return a
}

// wanted asks for the definitions that resolving needs, and keeps the resolution.
func wanted(as []rbac.Assignment, into **rbac.Resolution) func(snapshot.State) ([]rbac.DefinitionID, error) {
	return func(s snapshot.State) ([]rbac.DefinitionID, error) {
		*into = rbac.Resolve(as, s.Defs)
		return (*into).Missing, nil
	}
}

var errNotDecided = errors.New("decide: the scope keeps changing")
