package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/wardenhq/warden/functions/warden/bench/loadgen"
)

const (
	checkPath = "/v1/access/check"
	batchPath = "/v1/access/batch-check"

	operatorKey = "operator-key-of-the-benchmarks" // of servers that live for minutes

	// What a scope holds besides its subjects.
	roles        = 20
	actionsARole = 10
	rolesASubj   = 3
	// Subjects that are asked about, in a scope of any size.
	asked = 100
	// Checks in a batch.
	batchSize = 50
)

// tenant is an org with one scope, as the API's callers see it. Role r allows
// ten actions on resource r; subject i holds the roles i, i+7 and i+14 (mod 20).
type tenant struct {
	scope string
	key   string
}

func (t *tenant) path(rest string) string { return "/v1/scopes/" + t.scope + rest }

func resource(r int) string { return fmt.Sprintf("resource-%d", r%roles) }
func action(a int) string   { return fmt.Sprintf("action-%d", a%actionsARole) }
func role(r int) string     { return fmt.Sprintf("role-%d", r%roles) }
func subject(i int) string  { return fmt.Sprintf("subject-%06d", i) }

// provision makes the org, its scope, and the definitions in it.
func provision(ctx context.Context, addr string) (*tenant, error) {
	t := &tenant{scope: "bench"}
	var made struct {
		APIKey struct {
			Key string `json:"key"`
		} `json:"api_key"`
	}
	org := map[string]any{"id": t.scope, "name": "Bench", "owner": "owner"}
	if err := call(ctx, addr, http.MethodPost, "/v1/orgs", operatorKey, org, &made); err != nil {
		return nil, err
	}
	t.key = made.APIKey.Key
	for r := range roles {
		var permissions []string
		for a := range actionsARole {
			id := resource(r) + ":" + action(a)
			permissions = append(permissions, id)
			permission := map[string]any{"resource": resource(r), "action": action(a), "effect": "allow"}
			if err := call(ctx, addr, http.MethodPut, t.path("/permissions/"+id), t.key, permission, nil); err != nil {
				return nil, err
			}
		}
		definition := map[string]any{"permissions": permissions}
		if err := call(ctx, addr, http.MethodPut, t.path("/roles/"+role(r)), t.key, definition, nil); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// call sends one request of administration and decodes its answer into out, if not nil.
func call(ctx context.Context, addr, method, path, key string, body, out any) error {
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	a, err := loadgen.Ask(ctx, addr, loadgen.Render(method, path, key, sent))
	if err != nil {
		return err
	}
	if a.Status != http.StatusCreated {
		return fmt.Errorf("%s %s was answered %d %s", method, path, a.Status, a.Body)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(a.Body, out)
}

// policies writes the policies of the subjects 0 to n-1, each by a PUT of its own.
func (t *tenant) policies(ctx context.Context, addr string, n, connections int) (*loadgen.Result, error) {
	return loadgen.Run(ctx, loadgen.Load{
		Addr: addr, Connections: connections, Count: n,
		Request: func(i int) loadgen.Request {
			body := []byte(`{"roles":[`)
			for k := range rolesASubj {
				if k > 0 {
					body = append(body, ',')
				}
				body = fmt.Appendf(body, `{"role":%q}`, role(i+7*k))
			}
			body = append(body, "]}"...)
			return loadgen.Request{
				Wire:  loadgen.Render(http.MethodPut, t.path("/policies/"+subject(i)), t.key, body),
				Right: func(a loadgen.Answer) bool { return a.Status == http.StatusCreated },
			}
		},
	})
}

// ask is the i-th question and its answer: the even ones are allowed, the odd
// ones name a resource that none of the subject's roles is about.
func (t *tenant) ask(i int) (question, bool) {
	allowed := i%2 == 0
	about := i
	if !allowed {
		about++
	}
	return question{Scope: t.scope, Subject: subject(i % asked), Resource: resource(about), Action: action(i)}, allowed
}

// singles are the questions about all subjects that are asked about.
func (t *tenant) singles(strong bool) ([]loadgen.Request, error) {
	list := make([]loadgen.Request, asked)
	for i := range list {
		q, allowed := t.ask(i)
		if strong {
			q.Consistency = "strong"
		}
		body, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		list[i] = loadgen.Request{Wire: loadgen.Render(http.MethodPost, checkPath, t.key, body), Right: single(allowed)}
	}
	return list, nil
}

// questions are the questions in all their forms.
type questions struct{ singles, strong, batches []loadgen.Request }

func (t *tenant) questions() (q questions, err error) {
	var errs [3]error
	q.singles, errs[0] = t.singles(false)
	q.strong, errs[1] = t.singles(true)
	q.batches, errs[2] = t.batches()
	return q, errors.Join(errs[:]...)
}

// batches are the same questions, a batch at a time.
func (t *tenant) batches() ([]loadgen.Request, error) {
	var list []loadgen.Request
	for from := 0; from < asked; from += batchSize {
		checks := make([]question, batchSize)
		want := make([]bool, batchSize)
		for i := range checks {
			checks[i], want[i] = t.ask(from + i)
		}
		body, err := json.Marshal(map[string]any{"checks": checks})
		if err != nil {
			return nil, err
		}
		list = append(list, loadgen.Request{Wire: loadgen.Render(http.MethodPost, batchPath, t.key, body), Right: several(want)})
	}
	return list, nil
}

var (
	allowedYes = []byte(`"allowed":true`)
	allowedNo  = []byte(`"allowed":false`)
)

func verdict(allowed bool) []byte {
	if allowed {
		return allowedYes
	}
	return allowedNo
}

func single(allowed bool) func(loadgen.Answer) bool {
	want := verdict(allowed)
	return func(a loadgen.Answer) bool { return a.Status == http.StatusOK && bytes.Contains(a.Body, want) }
}

// several holds the verdicts of a batch against those wanted, in order and number.
func several(want []bool) func(loadgen.Answer) bool {
	return func(a loadgen.Answer) bool {
		rest, name := a.Body, []byte(`"allowed":`)
		for _, allowed := range want {
			at := bytes.Index(rest, name)
			if at < 0 || !bytes.HasPrefix(rest[at:], verdict(allowed)) {
				return false
			}
			rest = rest[at+len(name):]
		}
		return a.Status == http.StatusOK && !bytes.Contains(rest, name)
	}
}

// unjudged are the same requests for a server that decides nothing.
func unjudged(list []loadgen.Request) []loadgen.Request {
	list = slices.Clone(list)
	for i := range list {
		list[i].Right = func(a loadgen.Answer) bool { return a.Status == http.StatusOK }
	}
	return list
}
