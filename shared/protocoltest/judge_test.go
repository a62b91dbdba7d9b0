package protocoltest

import (
	"fmt"
	"time"

	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/revision"
)

// The bounds that answers are held to.
const (
	visible = 20 * time.Second // an accepted transaction shows in plain reads, item by item, within this
	lag     = time.Second      // an eventual read may show what was visible this long ago
	age     = 2 * time.Second  // decide.MaxAge
)

// violation is how a schedule ends that shows a fault.
type violation struct{ text string }

func (v violation) Error() string { return v.text }

// violation ends the schedule.
func (s *sim) violation(format string, args ...any) {
	v := violation{fmt.Sprintf(format, args...)}
	if s.broken == nil {
		s.broken = v
		s.log("VIOLATION", "%s", v.text)
	}
}

// asked is one question and its answer.
type asked struct {
	subject, resource string
	reason            rbac.Reason
	token             *revision.Token // demanded
}

// judgeStrong holds answers that rest on one snapshot to one state between the
// floor and now.
func (s *sim) judgeStrong(qs []asked, nows []time.Time, floor int) {
	for index := floor; index < len(s.history.commits); index++ {
		for _, now := range nows {
			if s.right(qs, index, now) {
				s.floor = max(s.floor, index)
				return
			}
		}
	}
	s.violation("strong: %s; no state from commit %d to %d gives that", show(qs), floor, len(s.history.commits)-1)
}

func (s *sim) right(qs []asked, index int, now time.Time) bool {
	defs := s.history.definitionsAt(index)
	for _, q := range qs {
		if oracle(s.history.heldAt(q.subject, index).assignments, defs, q.resource, now) != q.reason {
			return false
		}
	}
	return true
}

// judgeWindow holds a default or at-least answer to policies and definitions
// that are each new enough for having been computed at that time or later.
func (s *sim) judgeWindow(d duty, q asked, nows []time.Time, computed time.Duration) {
	h := s.history
	oldest := 0
	for i, at := range h.commits {
		if at <= computed-age-lag-visible {
			oldest = i
		}
	}
	lowPolicy, lowDefs := oldest, oldest
	if q.token != nil {
		for _, d := range h.definitions {
			if d.revision >= q.token.Revision {
				lowDefs = max(lowDefs, d.index)
				break
			}
		}
		if q.token.About(subjectID(q.subject)) {
			for _, held := range h.holdings[q.subject] { // versions grow; the fan-out's own come in between
				if held.version <= q.token.Version {
					lowPolicy = max(lowPolicy, held.index)
				}
			}
		}
	}
	policies := []holding{h.heldAt(q.subject, lowPolicy)}
	for _, held := range h.holdings[q.subject] {
		if held.index > lowPolicy {
			policies = append(policies, held)
		}
	}
	defs := []*definitions{h.definitionsAt(lowDefs)}
	for _, d := range h.definitions {
		if d.index > lowDefs {
			defs = append(defs, d)
		}
	}
	for _, p := range policies {
		for _, d := range defs {
			for _, now := range nows {
				if oracle(p.assignments, d, q.resource, now) == q.reason {
					return
				}
			}
		}
	}
	s.violation("%s: %s; no policy from commit %d on with definitions from commit %d on gives that", d, show([]asked{q}), lowPolicy, lowDefs)
}

func show(qs []asked) string {
	text := ""
	for i, q := range qs {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s may %s? said %q", q.subject, q.resource, q.reason)
	}
	return text
}
