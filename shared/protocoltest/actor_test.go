package protocoltest

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/wardenhq/warden/shared/table/keys"
)

// errKilled ends an actor that the schedule has no more time for.
var errKilled = errors.New("protocoltest: killed")

// callKind is what an actor is stopped at.
type callKind string

const (
	callGet      callKind = "get"
	callBatch    callKind = "batch"
	callSnapshot callKind = "snapshot"
	callQuery    callKind = "query"
	callTransact callKind = "transact"
	callSleep    callKind = "sleep"
	callAnswer   callKind = "answer" // the call is done; its answer was not seen yet
)

// stop is a place where an actor may be left standing.
type stop struct {
	kind     callKind
	keys     []keys.Raw // what the call is about
	eventual bool
	prefix   string        // of a query
	sleep    time.Duration // of callSleep
}

// has says whether the call is about an item of that type.
func (s stop) has(kind string) bool {
	return slices.ContainsFunc(s.keys, func(k keys.Raw) bool { return kindOf(k) == kind })
}

// duty is what an actor is there for.
type duty string

const (
	dutyPolicy  duty = "policy"
	dutyDefine  duty = "define"
	dutyProject duty = "project"
	dutyStrong  duty = "strong"
	dutyDefault duty = "default"
	dutyAtLeast duty = "at_least"
	dutyMixed   duty = "mixed"
)

// checks says whether the actor asks questions.
func (d duty) checks() bool {
	switch d {
	case dutyStrong, dutyDefault, dutyAtLeast, dutyMixed:
		return true
	case dutyPolicy, dutyDefine, dutyProject:
	}
	return false
}

// actor is a coroutine: it runs only while the schedule waits for it.
type actor struct {
	sim     *sim
	name    string
	duty    duty
	what    string // the change it asks for
	rnd     *rand.Rand
	process *process

	resume func() (stop, bool)
	kill   func()
	yield  func(stop) bool
	dead   bool

	nows         []time.Time // every look at the clock since the last question
	fromSnapshot bool        // a document was read by a snapshot since then

	at   stop
	wake time.Duration // asleep until then
	held *hold         // until something was committed
}

// hold keeps an actor back until so many events of a kind.
type hold struct {
	event string
	count int
}

// spawn makes an actor of a body; it stands before its first call.
func (s *sim) spawn(d duty, p *process, body func(*actor)) *actor {
	a := &actor{
		sim: s, name: string(d) + string(rune('0'+len(s.actors)%10)), duty: d, process: p,
		rnd: rand.New(rand.NewPCG(s.rnd.Uint64(), 1)),
	}
	a.resume, a.kill = iter.Pull(func(yield func(stop) bool) {
		a.yield = yield
		if a.pause(stop{kind: callAnswer}) == nil {
			body(a)
		}
	})
	s.actors = append(s.actors, a)
	return a
}

// pause leaves the actor standing until the schedule lets it go on.
func (a *actor) pause(at stop) error {
	if !a.dead && !a.yield(at) {
		a.dead = true
	}
	if a.dead {
		return errKilled
	}
	return nil
}

// step lets the actor go on to its next stop; false when it is done.
func (a *actor) step() bool {
	at, more := a.resume()
	a.at = at
	if more && at.kind == callSleep {
		a.wake = a.sim.clock + at.sleep
	}
	return more
}
