package protocoltest

import (
	"errors"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
)

// checker asks at one consistency, or at all of them in one call.
func (s *sim) checker(count int) func(*actor) {
	return func(a *actor) {
		r := a.rnd
		for range count {
			n := 1
			if a.duty == dutyMixed || chance(r, 0.2) {
				n = pick(r, 2, 3)
			}
			duties, qs := make([]duty, n), make([]decide.Question, n)
			for i := range qs {
				duties[i], qs[i] = a.question()
			}
			a.ask(duties, qs)
			if a.dead || s.broken != nil {
				return
			}
			if chance(r, 0.5) && a.pause(stop{kind: callSleep, sleep: pick(r, 300*time.Millisecond, time.Second, 1900*time.Millisecond, 70*time.Second)}) != nil {
				return
			}
		}
	}
}

func (a *actor) question() (duty, decide.Question) {
	s, r, d := a.sim, a.rnd, a.duty
	if d == dutyMixed {
		d = pick(r, dutyStrong, dutyDefault, dutyAtLeast)
	}
	q := decide.Question{
		Scope: s.scope.ID, Subject: subjectID(pick(r, s.subjects...)), Strong: d == dutyStrong, Explain: r.IntN(5) == 0,
		Ask: rbac.Question{Resource: resourceID(pick(r, s.resources...)), Action: action},
	}
	if d == dutyAtLeast && len(s.tokens) > 0 {
		q.AtLeast = &s.tokens[r.IntN(len(s.tokens))]
	}
	return d, q
}

// ask makes one call and judges its answers.
func (a *actor) ask(duties []duty, qs []decide.Question) {
	s := a.sim
	floor, begun := max(s.acked, s.floor), s.clock
	a.nows, a.fromSnapshot = nil, false
	answers, err := a.check(a.demanded(qs))
	if a.dead {
		return
	}
	var ahead *decide.RevisionUnknownError
	switch {
	case errors.As(err, &ahead):
		s.violation("%v: %+v was acknowledged", err, *qs[ahead.Question].AtLeast)
		return
	case fault.CodeOf(err) == fault.Busy:
		a.log("busy")
		return
	case err != nil:
		s.violation("a check failed: %v", err)
		return
	}
	var strong []asked
	nows, earliest := slices.Clone(a.nows), begun
	if len(qs) == 1 { // the last look at the clock is the one that decides
		nows = nows[len(nows)-1:]
		if !a.fromSnapshot { // what a snapshot's answer says may be as old as the question
			earliest = s.clock
		}
	}
	for i, ans := range answers {
		s.answers++
		q := asked{subject: qs[i].Subject.String(), resource: qs[i].Ask.Resource.String(), reason: ans.Reason, token: qs[i].AtLeast}
		a.log("asked at %.2fs (%s): %s", begun.Seconds(), duties[i], show([]asked{q}))
		if qs[i].Explain {
			s.judgeExplained(q, ans)
		}
		if duties[i] == dutyStrong {
			strong = append(strong, q)
		} else {
			s.judgeWindow(duties[i], q, nows, earliest)
		}
		if a.rnd.IntN(4) == 0 {
			s.tokens = append(s.tokens, ans.Revision) // what an answer proves may be demanded too
		}
	}
	if len(strong) > 0 {
		s.judgeStrong(strong, nows, floor)
	}
}

// check asks many at once, or one alone by the short way.
func (a *actor) check(qs []decide.Question) ([]decide.Answer, error) {
	c, cred := a.checker(), provisioned().credential
	if len(qs) > 1 || chance(a.rnd, 0.3) {
		return c.Check(a.sim.ctx, cred, qs)
	}
	one, err := c.One(a.sim.ctx, cred, &qs[0])
	return []decide.Answer{one}, err
}

// demanded are the questions as they are asked, less the clause under test.
func (a *actor) demanded(qs []decide.Question) []decide.Question {
	m := a.sim.mutant
	if m == nil || m.token == nil {
		return qs
	}
	qs = slices.Clone(qs)
	for i := range qs {
		if qs[i].AtLeast != nil {
			t := m.token(*qs[i].AtLeast)
			qs[i].AtLeast = &t
		}
	}
	return qs
}

// judgeExplained holds what matched to the reason.
func (s *sim) judgeExplained(q asked, a decide.Answer) {
	denied := slices.ContainsFunc(a.Matched, func(m rbac.Match) bool { return m.Effect == rbac.Deny })
	reason := rbac.ReasonAllowed
	if denied {
		reason = rbac.ReasonDenied
	}
	if len(a.Matched) > 0 && a.Reason != reason || len(a.Matched) == 0 && (a.Reason == rbac.ReasonAllowed || a.Reason == rbac.ReasonDenied) {
		s.violation("%s, explained by %v", show([]asked{q}), a.Matched)
	}
}
