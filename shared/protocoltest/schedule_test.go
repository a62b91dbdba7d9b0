package protocoltest

import (
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/recompute"
)

// What a fan-out waits: the reference one for short, so that more schedules get
// past it, and still for longer than what hides a commit from a default reader;
// the real one as it does.
const (
	minute     = 30 * time.Second
	minAge     = 100 * time.Second
	realMinute = recompute.Settle
	realMinAge = recompute.MinimumAge
)

// temper is how a schedule goes about it.
type temper struct {
	change, jump, hold, nap float64
}

// schedule runs the actors to their ends, or for as many steps as are enough: the runnable one
// of highest priority goes on. Priorities change at random, so some run in
// bursts and some stand for long; the clock and the table take part.
func (s *sim) schedule() {
	r := s.rnd
	t := temper{
		change: pick(r, 0.03, 0.1, 0.3, 0.6), jump: pick(r, 0.1, 0.3, 0.6),
		hold: pick(r, 0.0, 0.02, 0.06, 0.15), nap: pick(r, 0.0, 0.0, 0.02),
	}
	priority := make(map[*actor]float64, len(s.actors))
	for _, a := range s.actors {
		priority[a] = r.Float64()
	}
	clock, table := r.Float64(), r.Float64() // their priorities
	for len(s.actors) > 0 && s.steps < s.enough && s.broken == nil {
		s.steps++
		var who *actor
		held, asleep := 0, time.Duration(0)
		for _, a := range s.actors {
			switch {
			case a.wake > s.clock:
				if asleep == 0 || a.wake < asleep {
					asleep = a.wake
				}
			case a.held != nil:
				held++
			case who == nil || priority[a] > priority[who]:
				who = a
			}
		}
		if who == nil && held > 0 && asleep == 0 {
			s.release()
			continue
		}
		ticks, mine := asleep > 0 || chance(r, 0.3), -1.0
		if who != nil {
			mine = priority[who]
		}
		if table > mine && (!ticks || table > clock) && s.table.Advance() {
			s.log("table", "shows an item")
			if chance(r, t.change) {
				table = r.Float64()
			}
			continue
		}
		if who == nil || ticks && clock > mine {
			if chance(r, t.change) {
				clock = r.Float64() / 2
			}
			d := pick(r, 100*time.Millisecond, 500*time.Millisecond, time.Second, 2500*time.Millisecond)
			if asleep > 0 && chance(r, t.jump) {
				d = asleep - s.clock
			}
			s.advance(d)
			continue
		}
		if chance(r, t.change) {
			priority[who] = r.Float64()
		}
		if s.keep(who, t) {
			continue
		}
		if !who.step() {
			who.log("done; acknowledged up to commit %d", s.acked)
			s.actors = slices.DeleteFunc(s.actors, func(a *actor) bool { return a == who })
		}
	}
	s.end()
}

// end kills who is left: a request that nobody waits for any more.
func (s *sim) end() {
	for _, a := range s.actors {
		a.kill()
	}
	s.actors = nil
}

// release lets one go on who waits for what may never come.
func (s *sim) release() {
	var held []*actor
	for _, a := range s.actors {
		if a.held != nil {
			held = append(held, a)
		}
	}
	pick(s.rnd, held...).held = nil
}

func (s *sim) advance(d time.Duration) {
	s.clock += max(0, d) + time.Microsecond
	s.log("clock", "+%.2fs", d.Seconds())
}

// keep leaves an actor standing before its call, for a time or until something
// was committed.
func (s *sim) keep(a *actor, t temper) bool {
	if a.at.kind == callAnswer || a.at.kind == callSleep {
		return false
	}
	r := s.rnd
	if s.late && chance(r, 0.4) && s.ambush(a) {
		a.at.kind = callAnswer // once a call
		return true
	}
	if chance(r, t.hold) {
		a.held = &hold{pick(r, "Head", "Prune", "Access", "Policy", "Fence"), pick(r, 1, 1, 2, 3)}
		return true
	}
	if chance(r, t.nap) {
		a.wake = s.clock + pick(r, s.minute/2, s.minute+5*time.Second, s.minAge+5*time.Second, s.minAge+3*s.minute)
		return true
	}
	return false
}

// ambush is where the rare faults are: a writer before its commit, a reader
// between its two reads.
func (s *sim) ambush(a *actor) bool {
	r := s.rnd
	until := func(events ...hold) bool {
		h := pick(r, events...)
		a.held = &h
		return true
	}
	sleep := func(d ...time.Duration) bool {
		a.wake = s.clock + pick(r, d...)
		return true
	}
	switch at := a.at; {
	case at.kind == callTransact && a.duty == dutyPolicy:
		if r.IntN(2) == 0 {
			return sleep(s.minute, s.minAge*9/10, s.minAge+5*time.Second, s.minAge+s.minute*3/2, s.minAge+3*s.minute)
		}
		return until(hold{"Fence", 1}, hold{"Fence", 2}, hold{"Access", 1}, hold{"List", 2})
	case at.kind == callTransact && a.duty == dutyProject && at.has("ACCESS"):
		if r.IntN(3) == 0 {
			return sleep(s.minute, s.minAge)
		}
		return until(hold{"Policy", 1}, hold{"Access", 1}, hold{"Prune", 1})
	case at.kind == callTransact && a.duty == dutyDefine:
		return until(hold{"Head", 1}, hold{"Policy", 1})
	case at.kind == callSnapshot && a.duty != dutyProject && a.duty != dutyDefine:
		if r.IntN(3) == 0 {
			return sleep(time.Second)
		}
		return until(hold{"Head", 1}, hold{"Head", 2}, hold{"Policy", 1})
	case at.kind == callBatch && len(at.keys) == 1 && at.has("HEAD"):
		return until(hold{"Prune", 1}, hold{"Head", 1})
	case at.kind == callBatch:
		if r.IntN(8) == 0 {
			return sleep(s.minAge)
		}
		return until(hold{"Prune", 1}, hold{"Prune", 1}, hold{"List", 1}, hold{"List", 2}, hold{"List", 4}, hold{"Fence", 2}, hold{"Head", 1}, hold{"Access", 1})
	}
	return false
}
