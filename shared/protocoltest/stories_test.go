package protocoltest

import (
	"math/rand/v2"
	"testing"

	"github.com/wardenhq/warden/shared/rbac"
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

// A fan-out raises the fences right after another one did: that one's raise is
// older than the definitions that an assignment in between has read, and no
// plain read shows it yet.
func TestFencesAreRaisedByEachFanOut(t *testing.T) {
	ended := 0
	for seed := range uint64(200) {
		s := story(t, seed)
		s.goOn(s.spawn(dutyDefine, s.process(), s.effect(rbac.Deny)), nil)
		s.advance(visible)
		fences := 0
		s.goOn(s.spawn(dutyProject, s.process(), s.engine(1)), func(at stop) bool {
			if about(callTransact, "FENCE")(at) {
				fences++
			}
			return fences == keys.Fences && about(callTransact, "RECOMPUTE")(at)
		})
		late := s.spawn(dutyPolicy, s.process(), func(a *actor) { a.assign(subjectID("u0"), write.Grant{Role: roleID("r0")}) })
		s.goOn(late, about(callTransact, "ACCESS"))
		s.goOn(s.spawn(dutyDefine, s.process(), s.effect(rbac.Allow)), nil)
		s.goOn(s.spawn(dutyProject, s.process(), s.engine(1)), nil)
		if len(s.headNow().Flux) == 0 {
			ended++
		}
		s.goOn(late, nil)
		s.finish(t)
	}
	if ended == 0 {
		t.Error("no second fan-out came to its end while the first one stood still: that shows nothing")
	}
}
