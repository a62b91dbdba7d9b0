package audit_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/wardenhq/warden/events/chain"
	"github.com/wardenhq/warden/functions/audit"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// proofOf is a proof's answer.
func (w *world) proofOf(path string) (p audit.Proof) {
	w.Helper()
	w.Must(json.Unmarshal([]byte(w.get(operator, path).is(200).body), &p))
	return p
}

func TestCheckpointsEveryHourAlsoWhenIdle(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 3)
	w.drain()
	const proof = "/v1/scopes/acme/audit/proof?from_seq=1&to_seq=3"
	for minute := range 3 * 60 {
		w.Clock.Advance(time.Minute)
		w.Must(w.audit.Checkpoint(t.Context(), w.Clock.Now()))
		if want := min(1, (minute+1)/60); (len(w.proofOf(proof).Checkpoints) > 0) != (want > 0) {
			t.Fatalf("minute %d: %+v", minute+1, w.proofOf(proof).Checkpoints)
		}
	}
	from, to := keys.CheckpointsBetween(0, 100)
	for _, pk := range []string{keys.ScopeChain(acme.Scope.ID).Raw().PK(), keys.OrgChain(acme.Key.Org).Raw().PK()} {
		page, err := w.Table.Query(t.Context(), table.Query{PK: pk, From: from, To: to, Limit: 100, Consistency: table.Strong})
		w.Must(err)
		if len(page.Items) != 3 {
			t.Errorf("%s: %d checkpoints in three hours", pk, len(page.Items))
		}
	}
	p := w.proofOf(proof)
	export := w.lines(operator, "/v1/scopes/acme/audit?order=asc")
	for _, c := range p.Checkpoints {
		w.Must(c.Verify(ed25519.PublicKey(signing[ed25519.SeedSize:])))
	}
	w.verified(export, chain.Expectation{Checkpoints: p.Checkpoints})
	var cut *chain.BrokenError
	_, err := chain.Verify(each(export[:len(export)/3]), chain.Expectation{Checkpoints: p.Checkpoints})
	if !errors.As(err, &cut) {
		t.Errorf("a cut tail: %v", err)
	}
}

func TestTwoSchedulersSignOnce(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 1)
	w.drain()
	w.Clock.Advance(time.Hour)
	other := w.over(w.Table)
	w.Must(errors.Join(w.audit.Checkpoint(t.Context(), w.Clock.Now()), other.Checkpoint(t.Context(), w.Clock.Now())))
	from, to := keys.CheckpointsBetween(0, 100)
	page, err := w.Table.Query(t.Context(), table.Query{PK: keys.ScopeChain(acme.Scope.ID).Raw().PK(), From: from, To: to, Limit: 100})
	w.Must(err)
	if len(page.Items) != 1 {
		t.Errorf("%d checkpoints", len(page.Items))
	}
}

// A chain whose events are all past their retention rests, and begins again.
func TestAChainPastItsRetentionRests(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 1)
	w.drain()
	head := keys.ScopeChain(acme.Scope.ID).Raw()
	due := func() bool {
		it, err := w.Table.Get(t.Context(), head, table.Strong)
		w.Must(err)
		return !it.Index[keys.GSI4-1].IsZero()
	}
	w.Clock.Advance(366 * 24 * time.Hour)
	w.Must(w.audit.Checkpoint(t.Context(), w.Clock.Now()))
	if due() {
		t.Error("still due")
	}
	w.busy(acme, 1)
	w.drain()
	if !due() {
		t.Error("not due again")
	}
}

func TestWhatTheStreamLostIsTakenUp(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 2)
	w.drain()
	w.busy(acme, 3)
	w.skip()
	w.busy(acme, 1)
	w.drain()
	minutes := func(n int) {
		for range n {
			w.Clock.Advance(time.Minute)
			w.Must(errors.Join(w.audit.Sweep(t.Context(), w.Clock.Now()), w.audit.Checkpoint(t.Context(), w.Clock.Now())))
		}
	}
	minutes(70)
	export := w.lines(operator, "/v1/scopes/acme/audit?order=asc")
	if head := w.verified(export, chain.Expectation{}); head.Seq != 6 {
		t.Fatalf("seq %d", head.Seq)
	}
	w.skip() // the function's own writes
	n := len(w.published)
	if n != 7 {
		t.Errorf("%d events were published", n)
	}
	var m table.Meter
	w.Clock.Advance(time.Minute)
	w.Must(w.audit.Sweep(table.WithMeter(t.Context(), &m), w.Clock.Now()))
	w.Must(w.audit.Checkpoint(table.WithMeter(t.Context(), &m), w.Clock.Now()))
	if got := m.Cost(); got.Ops != 2*keys.DueShards || got.WRU != 0 {
		t.Errorf("a quiet minute costs %s", got)
	}
	if len(w.published) != n {
		t.Error("something was published again")
	}
}

func TestAChainThatNeverBeganIsTakenUp(t *testing.T) {
	w := newWorld(t)
	acme := w.Provision("acme", nil)
	w.busy(acme, 3)
	w.skip()
	w.Must(w.audit.Sweep(t.Context(), w.Clock.Now()))
	if len(w.published) > 0 {
		t.Error("events of this moment count as lost")
	}
	w.Clock.Advance(59 * time.Minute)
	w.Must(w.audit.Sweep(t.Context(), w.Clock.Now()))
	if len(w.published) > 0 {
		t.Error("all scopes are visited more than once an hour")
	}
	w.Clock.Advance(time.Minute)
	w.Must(w.audit.Sweep(t.Context(), w.Clock.Now()))
	if head := w.verified(w.lines(operator, "/v1/scopes/acme/audit?order=asc"), chain.Expectation{}); head.Seq != 3 || len(w.published) != 4 {
		t.Errorf("seq %d, %d published", head.Seq, len(w.published))
	}
}

func TestOneFailureDoesNotKeepOthersFromTheirs(t *testing.T) {
	w := newWorld(t)
	acme, other := w.Provision("acme", nil), w.Provision("other", nil)
	w.busy(acme, 1)
	w.busy(other, 1)
	w.drain()
	it, err := w.Table.Get(t.Context(), keys.ScopeChain(acme.Scope.ID).Raw(), table.Strong)
	w.Must(err)
	broken := *it
	broken.Version, broken.Body = it.Version+1, []byte(`{}`)
	w.PutItem(&broken)
	w.Clock.Advance(time.Hour)
	if err := w.audit.Checkpoint(t.Context(), w.Clock.Now()); err == nil {
		t.Error("a chain whose head can't be read is no error")
	}
	if p := w.proofOf("/v1/scopes/other/audit/proof?from_seq=1&to_seq=1"); len(p.Checkpoints) != 1 {
		t.Errorf("checkpoints %+v", p.Checkpoints)
	}
}
