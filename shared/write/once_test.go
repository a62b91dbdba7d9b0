package write_test

import (
	"crypto/sha256"
	"testing"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/write"
)

var onceID, onceAsked = sha256.Sum256([]byte("caller, route, key")), sha256.Sum256([]byte("body"))

// claim claims the key for a request, whose answer is that text.
func (w *world) claim(req *write.Request, answer string) (*write.Once, *write.Kept, error) {
	return w.writer.Claim(w.ctx, req, onceID, onceAsked, func(write.Outcome) (write.Kept, error) {
		return write.Kept{Answer: []byte(answer)}, nil
	})
}

func TestTheChangeKeepsItsAnswer(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	req := w.request()
	once, kept, err := w.claim(req, "first")
	must(t, err)
	if once == nil || kept != nil {
		t.Fatalf("claimed %v, kept %v", once, kept)
	}
	_, _, err = w.claim(w.request(), "second")
	refusedAs(t, err, fault.IdempotencyInProgress)
	_, err = w.writer.AssignRole(w.ctx, req, w.scope, subject("u"), grants("r")[0], nil)
	must(t, err)
	once, kept, err = w.claim(w.request(), "second")
	must(t, err)
	if once != nil || kept == nil || string(kept.Answer) != "first" {
		t.Errorf("claimed %v, kept %+v", once, kept)
	}
	_, _, err = w.writer.Claim(w.ctx, w.request(), onceID, sha256.Sum256([]byte("other")), nil)
	refusedAs(t, err, fault.IdempotencyKeyReused)
}

// Answers of the store may be lost at every step.
func TestClaimsSurviveLostAnswers(t *testing.T) {
	for name, release := range map[string]bool{"kept": false, "released": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.script(lost, lost, fails(table.ErrConflict))
			once, _, err := w.claim(w.request(), "a")
			must(t, err)
			if once == nil {
				t.Fatal("not claimed")
			}
			if release {
				must(t, once.Release(w.ctx))
			} else {
				must(t, once.Keep(w.ctx, write.Outcome{}))
			}
			again, kept, err := w.claim(w.request(), "b")
			must(t, err)
			if (again != nil) != release || (kept != nil) == release {
				t.Errorf("claimed %v, kept %v", again, kept)
			}
		})
	}
}

// Releasing what has become the answer leaves the answer.
func TestReleaseLeavesAnswers(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	req := w.request()
	once, _, err := w.claim(req, "a")
	must(t, err)
	_, err = w.writer.AssignRole(w.ctx, req, w.scope, subject("u"), grants("r")[0], nil)
	must(t, err)
	must(t, once.Release(w.ctx))
	if _, kept, err := w.claim(w.request(), "b"); err != nil || kept == nil {
		t.Errorf("kept %v, %v", kept, err)
	}
}

// A record that was removed while its request was at work stops the change: what
// the key stands for is not known any more.
func TestAChangeNeedsItsClaim(t *testing.T) {
	w := newWorld(t)
	w.mustRole("r")
	req := w.request()
	once, _, err := w.claim(req, "a")
	must(t, err)
	must(t, w.table.Transact(w.ctx, table.Tx{Ops: []table.Op{table.Delete(keys.Idempotency(onceID).Raw(), table.Any())}}))
	before := w.events()
	_, err = w.writer.AssignRole(w.ctx, req, w.scope, subject("u"), grants("r")[0], nil)
	refusedAs(t, err, fault.IdempotencyInProgress)
	if got := w.events(); got != before {
		t.Errorf("%d events", got-before)
	}
	must(t, once.Keep(w.ctx, write.Outcome{}))
}
