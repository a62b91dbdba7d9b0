package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/resource"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/write"
)

const (
	maxBatch = 100
	// batchWorkers is how many policies of a batch are written at a time.
	batchWorkers = 8
	// maxKept is the largest answer that an idempotency record takes, in bytes:
	// an item holds 400 KB, and JSON in base64 grows by a third.
	maxKept = 256 << 10
)

type policyBatch struct {
	Policies []batchedPolicy `json:"policies"`
}

type batchedPolicy struct {
	Subject rbac.SubjectID `json:"subject"`
	Roles   grants         `json:"roles"`
}

// batchAnswer has a result for each policy, in their order.
type batchAnswer struct {
	Results []batchResult `json:"results"`
}

// batchResult is what became of one policy: what putting it alone would have
// answered.
type batchResult struct {
	Subject  rbac.SubjectID   `json:"subject"`
	Status   int              `json:"status"`
	Revision string           `json:"revision,omitzero"`
	Policy   *resource.Policy `json:"policy,omitzero"`
	Problem  *batchProblem    `json:"problem,omitzero"`
}

type batchProblem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail,omitzero"`
	Code   fault.Code    `json:"code"`
	Errors []fault.Field `json:"errors,omitempty"`
}

func (b policyBatch) check() error {
	var f fields
	if len(b.Policies) == 0 {
		f.refuse(fault.Invalid, "policies", "must not be empty")
	}
	f.atMost("policies", len(b.Policies), maxBatch, "policies")
	subjects := make([]rbac.SubjectID, len(b.Policies))
	for i, p := range b.Policies {
		subjects[i] = p.Subject
		p.Roles.check(&f, fmt.Sprintf("policies[%d].", i))
	}
	once(&f, "policies", ".subject", subjects)
	return f.err()
}

// batchPolicies puts each policy by a transaction of its own. Putting is
// repeatable, so a batch whose answer could not be kept may be carried out again
// under its Idempotency-Key and changes nothing then.
func (a *api) batchPolicies(ctx context.Context, c *httpapi.Call, s write.Scope, body policyBatch) (httpapi.Reply[batchAnswer], error) {
	none := httpapi.Reply[batchAnswer]{}
	if err := body.check(); err != nil {
		return none, err
	}
	var reply httpapi.Reply[batchAnswer]
	claim, stored, err := keyed(ctx, a, c, a.request(c), func(write.Outcome) (httpapi.Reply[batchAnswer], error) { return reply, nil })
	if err != nil {
		return none, err
	}
	if stored != nil {
		return httpapi.Again[batchAnswer](*stored), nil
	}
	reply = batchReply(s, a.putPolicies(ctx, c, s, body.Policies))
	if err := ctx.Err(); err != nil { // what it kept from being done is no result
		return none, errors.Join(err, release(ctx, claim))
	}
	if claim == nil {
		return reply, nil
	}
	encoded, err := reply.Encode(c.Route())
	if err != nil {
		return none, err
	}
	if len(encoded.Body) > maxKept {
		return reply, release(ctx, claim)
	}
	return reply, claim.Keep(ctx, write.Outcome{})
}

// putPolicies writes the policies side by side. A panic of one is the call's.
func (a *api) putPolicies(ctx context.Context, c *httpapi.Call, s write.Scope, policies []batchedPolicy) []batchResult {
	results := make([]batchResult, len(policies))
	next := make(chan int, len(policies))
	for i := range policies {
		next <- i
	}
	close(next)
	panics := make(chan any, batchWorkers)
	var workers sync.WaitGroup
	for range min(batchWorkers, len(policies)) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			for i := range next {
				results[i] = a.putBatched(ctx, c, s, policies[i])
			}
		})
	}
	workers.Wait()
	close(panics)
	for p := range panics {
		panic(p)
	}
	return results
}

func (a *api) putBatched(ctx context.Context, c *httpapi.Call, s write.Scope, p batchedPolicy) batchResult {
	out, err := a.writer.PutPolicy(ctx, a.request(c), s, p.Subject, p.Roles.write(), nil)
	var reply httpapi.Reply[resource.Policy]
	if err == nil {
		reply, err = changed(out, resource.OfPolicy)
	}
	if err != nil {
		f := httpapi.Fault(err)
		status := httpapi.Status(f.Code)
		return batchResult{Subject: p.Subject, Status: status, Problem: &batchProblem{
			Type: httpapi.ProblemType(f.Code), Title: httpapi.Title(f.Code), Status: status, Detail: f.Detail, Code: f.Code, Errors: f.Fields,
		}}
	}
	return batchResult{Subject: p.Subject, Status: reply.Status, Revision: reply.Revision, Policy: &reply.Body}
}

// batchReply answers with the results. Its revision is the one policy's when
// there is but one; no token proves several documents, so that of several asks
// for a strong answer.
func batchReply(s write.Scope, results []batchResult) httpapi.Reply[batchAnswer] {
	r := httpapi.Reply[batchAnswer]{Status: http.StatusOK, Body: batchAnswer{results}, Revision: revision.OfMany(s.ID).String()}
	if len(results) == 1 && results[0].Revision != "" {
		r.Revision = results[0].Revision
	}
	return r
}
