package protocoltest

import (
	"math/rand/v2"
	"testing"

	"github.com/wardenhq/warden/shared/purge"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/recompute"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak"
	"github.com/wardenhq/warden/shared/write"
)

// story is one schedule by hand, too rare for chance. Every other item that is
// committed stays hidden from plain reads until time passes; the seed says which.
func story(t *testing.T, seed uint64) *sim {
	t.Helper()
	s := newSim(seed, nil, true)
	s.world = world{
		subjects: []string{"u0"}, resources: []string{"x"}, permissions: []string{"p0"}, roles: []string{"r0"},
		real: true, minute: realMinute, minAge: realMinAge, told: true, piece: 90,
	}
	s.build()
	s.table = weak.New(s.base, weak.Options{Knobs: weak.Knobs{Torn: 0.5, Visible: visible}, Rand: rand.New(rand.NewPCG(seed, 2)), Now: s.now})
	return s
}

// goOn lets an actor go on until it stands before such a call, or is done. Its
// sleeps pass at once.
func (s *sim) goOn(a *actor, before func(stop) bool) {
	for a.step() {
		if a.wake > s.clock {
			s.advance(a.wake - s.clock)
		}
		if before != nil && before(a.at) {
			return
		}
	}
}

// about is a stop before a call of that kind on such an item.
func about(kind callKind, item string) func(stop) bool {
	return func(at stop) bool { return at.kind == kind && at.has(item) }
}

// finish brings a story to rest.
func (s *sim) finish(t *testing.T) {
	t.Helper()
	s.end()
	if s.broken == nil {
		s.rest()
	}
	if s.broken != nil {
		t.Fatalf("%s %d: %v\n%s", wrongSeed, s.seed, s.broken, s.trace)
	}
}

func (s *sim) effect(e rbac.Effect) func(*actor) {
	return func(a *actor) {
		want := s.permission("p0", e)
		a.change("put permission p0", references{}, func(w *write.Writer, req *write.Request) (write.Outcome, error) {
			return w.PutPermission(s.ctx, req, s.scope, want, nil)
		})
	}
}

// seeds tells a story once for each of many ways in which items may show late.
// The story says whether it came to what it is about.
func seeds(t *testing.T, tell func(s *sim) (reached bool)) {
	t.Helper()
	reached := 0
	for seed := range uint64(200) {
		s := story(t, seed)
		if tell(s) {
			reached++
		}
		s.finish(t)
	}
	if reached == 0 {
		t.Error("no seed came to what the story is about: that shows nothing")
	}
}

// assigning stands before it commits r0 for u0.
func (s *sim) assigning() *actor {
	a := s.spawn(dutyPolicy, s.process(), func(a *actor) { a.assign(subjectID("u0"), write.Grant{Role: roleID("r0")}) })
	s.goOn(a, about(callTransact, "ACCESS"))
	return a
}

func (s *sim) defines(e rbac.Effect) { s.goOn(s.spawn(dutyDefine, s.process(), s.effect(e)), nil) }

// raising stands before it raises the first fence, after its first pass.
func (s *sim) raising() *actor {
	a := s.spawn(dutyProject, s.process(), s.engine(1))
	s.goOn(a, about(callTransact, "FENCE"))
	return a
}

// A fan-out raises the fences right after another one did: that one's raise is
// older than the definitions that an assignment in between has read, and no
// plain read shows it yet.
func TestFencesAreRaisedByEachFanOut(t *testing.T) {
	seeds(t, func(s *sim) bool {
		s.defines(rbac.Deny)
		s.advance(visible)
		fences := 0
		s.goOn(s.spawn(dutyProject, s.process(), s.engine(1)), func(at stop) bool {
			if about(callTransact, "FENCE")(at) {
				fences++
			}
			return fences == keys.Fences && about(callTransact, "RECOMPUTE")(at)
		})
		late := s.assigning()
		s.defines(rbac.Allow)
		s.goOn(s.spawn(dutyProject, s.process(), s.engine(1)), nil)
		ended := len(s.headNow().Flux) == 0
		s.goOn(late, nil)
		return ended
	})
}

// An assignment commits an old document after the first pass and right before
// the fences: the second pass finds it, also when nothing of it shows at first.
func TestSecondPassFindsWhatWasAcceptedBeforeTheFences(t *testing.T) {
	seeds(t, func(s *sim) bool {
		late := s.assigning()
		s.defines(rbac.Deny)
		fanOut := s.raising()
		s.goOn(late, nil)
		s.goOn(fanOut, nil)
		return len(s.headNow().Flux) == 0
	})
}

// A reader holds a document from before the second pass and reads HEAD after it.
// The entry is old enough to go, so only the wait after the pass keeps it.
func TestReadersOutliveTheSecondPass(t *testing.T) {
	seeds(t, func(s *sim) bool {
		late := s.assigning()
		s.defines(rbac.Deny)
		s.advance(realMinAge)
		fanOut := s.raising()
		s.goOn(late, nil)
		s.goOn(fanOut, about(callTransact, "ACCESS"))
		reader := s.spawn(dutyDefault, s.process(), s.checker(1))
		s.goOn(reader, func(at stop) bool { return at.kind == callBatch && !at.has("ACCESS") && len(at.keys) == 1 })
		held := s.clock
		s.goOn(fanOut, about(callTransact, "RECOMPUTE"))
		s.goOn(fanOut, func(at stop) bool { return at.kind == callAnswer && len(s.headNow().Flux) == 0 })
		s.goOn(reader, nil)
		return len(s.headNow().Flux) == 0 && s.clock > held
	})
}

// An assignment outlasts the deletion of its scope and the whole purge: it must
// leave nothing behind.
func TestPurgeKeepsFences(t *testing.T) {
	s := story(t, 0)
	late := s.assigning()
	s.goOn(s.spawn(dutyDefine, s.process(), s.scopeDeleter), nil)
	s.advance(visible)
	s.goOn(s.spawn(dutyProject, s.process(), s.purge), nil)
	if it := must(s.base.Get(s.ctx, keys.Scope(s.scope.Org, s.scope.ID).Raw(), table.Strong)); it != nil {
		t.Fatal("the purge did not come to its end")
	}
	s.goOn(late, nil)
	if it := must(s.base.Get(s.ctx, keys.Policy(s.scope.ID, subjectID("u0")).Raw(), table.Strong)); it != nil {
		t.Errorf("a policy after the purge: %s\n%s", it.Body, s.trace)
	}
	s.end()
}

func (s *sim) purge(a *actor) {
	store := a.store()
	p := purge.Purger{Engine: &recompute.Engine{Table: store, Snapshots: a.snapshots(store), Clock: watch{a}, Backoff: a.backoff()}}
	for {
		e, it, err := stored.Get(s.ctx, store, keys.Scope(s.scope.Org, s.scope.ID), table.Strong)
		if err != nil || it == nil {
			return
		}
		next, err := p.Scope(s.ctx, it, e)
		if err != nil || next.Done || a.pause(stop{kind: callSleep, sleep: next.Wait + visible}) != nil {
			return
		}
	}
}
