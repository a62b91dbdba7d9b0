package access

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/wardenhq/warden/shared/rbac"
)

// A cell.
const (
	cellMark     = 0 // low bits of the pair's hash
	cellResource = 2 // texts
	cellAction   = 4
	cellAllow    = 6 // number of an instant, from 1 on; 0: never allowed
	cellDeny     = 8
	cellEntries  = 10 // index of the first entry; they go on to the next cell's
)

// pattern is one of the four pairs that can match a question.
type pattern struct {
	hash             uint64
	resource, action string
}

// patterns are those of the four that the document has cells of; the exact pair
// comes first. A `*` in the question meets the wildcard's own cell twice.
func (v *View) patterns(q rbac.Question) (ps [4]pattern, n int) {
	resource, action := q.Resource.String(), q.Action.String()
	hr, ha := xxhash.Sum64String(resource), xxhash.Sum64String(action)
	ps[0] = pattern{pairHash(hr, ha), resource, action}
	n = 1
	if v.flags&flagAnyAction != 0 {
		ps[n] = pattern{pairHash(hr, wildcardHash), resource, rbac.Wildcard}
		n++
	}
	if v.flags&flagAnyResource != 0 {
		ps[n] = pattern{pairHash(wildcardHash, ha), rbac.Wildcard, action}
		n++
	}
	if v.flags&flagAnyAny != 0 {
		ps[n] = pattern{pairHash(wildcardHash, wildcardHash), rbac.Wildcard, rbac.Wildcard}
		n++
	}
	return ps, n
}

// Decide answers a question at an instant as rbac.Resolution.Decide does. It does not allocate. With an error the reason is
// rbac.ReasonUndecided: ErrNoGrants, ErrCorrupt.
func (v *View) Decide(q rbac.Question, now time.Time) (rbac.Reason, error) {
	if !v.InForce(now) {
		return rbac.ReasonNoPolicy, nil
	}
	if !v.GrantsKept() {
		return rbac.ReasonUndecided, ErrNoGrants
	}
	reason, at := rbac.ReasonNoMatch, instantOf(now)
	ps, n := v.patterns(q)
	for i := range ps[:n] {
		found, err := v.find(&ps[i])
		if err != nil {
			return rbac.ReasonUndecided, err
		}
		if found == noCell {
			continue
		}
		cell := v.cell(found)
		deny, ok1 := v.before(at, u16(cell[cellDeny:]))
		allow, ok2 := v.before(at, u16(cell[cellAllow:]))
		switch {
		case !ok1 || !ok2:
			return rbac.ReasonUndecided, ErrCorrupt
		case deny:
			return rbac.ReasonDenied, nil
		case allow:
			reason = rbac.ReasonAllowed
		}
	}
	return reason, nil
}

const noCell = -1

// find is the index of a pair's cell, noCell when there is none.
func (v *View) find(p *pattern) (int, error) {
	count := len(v.cells) / cellBytes
	if count == 0 {
		return noCell, nil
	}
	at := bucket(p.hash, count) * bucketBytes
	from, to := int(u16(v.buckets[at:])), int(u16(v.buckets[at+bucketBytes:]))
	if from > to || to > count {
		return noCell, ErrCorrupt
	}
	for i := from; i < to; i++ {
		cell := v.cell(i)
		if u16(cell[cellMark:]) != uint16(p.hash) {
			continue
		}
		resource, ok1 := v.text(u16(cell[cellResource:]))
		action, ok2 := v.text(u16(cell[cellAction:]))
		if !ok1 || !ok2 {
			return noCell, ErrCorrupt
		}
		if string(resource) == p.resource && string(action) == p.action {
			return i, nil
		}
	}
	return noCell, nil
}

func (v *View) cell(i int) []byte { return v.cells[i*cellBytes:][:cellBytes] }

// before says whether now is before the instant of that number; ok is false when
// there is no such instant.
func (v *View) before(now instant, number uint16) (before, ok bool) {
	if number == 0 {
		return false, true
	}
	at := (int(number) - 1) * instantBytes
	if at >= len(v.instants) {
		return false, false
	}
	b := v.instants[at:][:instantBytes]
	return now.before(instant{int64(u64(b)), u32(b[8:])}), true
}
