package protocoltest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/wardenhq/warden/shared/access"
	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/head"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

// longAgo is when the world was made: everything of it is visible everywhere.
const longAgo = -time.Hour

// definitions are all definitions of the scope as they were after one commit.
type definitions struct {
	index       int // of the commit
	revision    rbac.Revision
	deleted     bool // the scope is
	permissions map[string]entity.Permission
	roles       map[string]entity.Role
}

// holding is what a subject held after one commit.
type holding struct {
	index       int
	version     uint64 // of the document
	assignments []entity.Assignment
}

// history is what was committed, written down at the instant of each commit.
type history struct {
	commits     []time.Duration // when; commit 0 is the world as it was made
	definitions []*definitions
	holdings    map[string][]holding
	byRequest   map[string]int           // request id → commit
	items       map[string][]*table.Item // request id → what it wrote
	stream      []changed                // every flux entry there was
	versions    map[keys.Raw]uint64      // of documents
}

// changed is one definition's change, as the fan-out works on it.
type changed struct {
	id       rbac.DefinitionID
	revision rbac.Revision
	head     *head.Head // in which the entry stood
}

func newHistory() *history {
	return &history{holdings: map[string][]holding{}, byRequest: map[string]int{}, items: map[string][]*table.Item{}, versions: map[keys.Raw]uint64{}}
}

// now is the newest state of the definitions.
func (h *history) now() *definitions { return h.definitions[len(h.definitions)-1] }

// definitionsAt are the definitions after the commit.
func (h *history) definitionsAt(index int) *definitions {
	for i := len(h.definitions) - 1; i > 0; i-- {
		if h.definitions[i].index <= index {
			return h.definitions[i]
		}
	}
	return h.definitions[0]
}

// heldAt is what the subject held after the commit.
func (h *history) heldAt(subject string, index int) holding {
	hs := h.holdings[subject]
	for i := len(hs) - 1; i >= 0; i-- {
		if hs[i].index <= index {
			return hs[i]
		}
	}
	return holding{}
}

// at are the definitions at a revision.
func (h *history) at(r rbac.Revision) *definitions {
	for i := len(h.definitions) - 1; i >= 0; i-- {
		if h.definitions[i].revision == r {
			return h.definitions[i]
		}
	}
	return nil
}

// recorder is the store below the weak one: what it accepts is committed.
type recorder struct {
	table.Store
	sim *sim
}

func (r recorder) Transact(ctx context.Context, tx table.Tx) error {
	if err := r.Store.Transact(ctx, tx); err != nil {
		return err
	}
	r.sim.committed(tx.Ops)
	return nil
}

// committed writes the history on. Faults that no answer shows end the schedule.
func (s *sim) committed(ops []table.Op) {
	h := s.history
	index := len(h.commits)
	h.commits = append(h.commits, s.clock)
	for _, op := range ops {
		if op.Action != table.ActionPut || op.Item.RequestID == "" {
			continue
		}
		if first, twice := h.byRequest[op.Item.RequestID]; twice && first != index {
			s.violation("request %s took effect twice: commits %d and %d", op.Item.RequestID, first, index)
		}
		h.byRequest[op.Item.RequestID] = index
		h.items[op.Item.RequestID] = append(h.items[op.Item.RequestID], op.Item)
	}
	if err := s.record(index, ops); err != nil {
		s.violation("a commit can't be read: %v", err)
	}
}

func (s *sim) record(index int, ops []table.Op) error {
	h := s.history
	next := &definitions{index: index, permissions: map[string]entity.Permission{}, roles: map[string]entity.Role{}}
	if len(h.definitions) > 0 {
		last := h.now()
		next.revision, next.deleted = last.revision, last.deleted
		maps.Copy(next.permissions, last.permissions)
		maps.Copy(next.roles, last.roles)
	}
	differs := false
	for _, op := range ops {
		if op.Action == table.ActionCheck {
			continue
		}
		kind := kindOf(op.Key)
		if op.Item == nil && (kind == "PERMISSION" || kind == "ROLE") {
			continue // purged: the scope is no more
		}
		switch kind {
		case "HEAD":
			hd, err := head.Decode(op.Item)
			if err != nil {
				return err
			}
			moved := hd.Revision != next.revision
			differs = differs || moved || hd.Deleted != next.deleted
			next.revision, next.deleted = hd.Revision, hd.Deleted
			if moved && hd.ChangedSince(hd.Last.Hash(), hd.Revision-1) {
				h.stream = append(h.stream, changed{hd.Last, hd.Revision, hd})
			}
			if !moved {
				s.event("Prune")
			}
			s.event("Head")
		case "PERMISSION":
			e, err := stored.Decode[entity.Permission](op.Item)
			if err != nil {
				return err
			}
			next.permissions[e.ID.String()], differs = e, true
		case "ROLE":
			e, err := stored.Decode[entity.Role](op.Item)
			if err != nil {
				return err
			}
			next.roles[e.ID.String()], differs = e, true
		case "ACCESS":
			if err := s.recordDocument(op); err != nil {
				return err
			}
			s.event("Access")
		case "POLICY":
			s.event("Policy")
		case "FENCE":
			s.event("Fence")
		}
	}
	if differs {
		if len(h.definitions) > 0 && !next.deleted && next.revision <= h.now().revision {
			return fmt.Errorf("HEAD's revision goes from %d to %d", h.now().revision, next.revision)
		}
		h.definitions = append(h.definitions, next)
	}
	for _, op := range ops {
		if kindOf(op.Key) == "POLICY" && op.Action != table.ActionCheck {
			if err := s.recordPolicy(index, op, ops); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordDocument holds a document's versions to growing; what breaks that is
// told at rest, so that wrong answers speak first.
func (s *sim) recordDocument(op table.Op) error {
	version := table.VersionOf(op.Item)
	if last := s.history.versions[op.Key]; version <= last && s.suspect == "" {
		s.suspect = fmt.Sprintf("the version of %s goes from %d to %d", short(op.Key), last, version)
	}
	s.history.versions[op.Key] = version
	if op.Item == nil {
		return nil
	}
	_, err := access.Parse(op.Item.Blob)
	return err
}

// recordPolicy notes what the subject holds from now on.
func (s *sim) recordPolicy(index int, op table.Op, ops []table.Op) error {
	now := holding{index: index}
	subject := s.subjectOf(op.Key)
	if op.Item != nil {
		e, err := stored.Decode[entity.Policy](op.Item)
		if err != nil {
			return err
		}
		now.assignments = e.Assignments
	}
	for _, other := range ops {
		if kindOf(other.Key) == "ACCESS" {
			now.version = table.VersionOf(other.Item)
		}
	}
	s.history.holdings[subject] = append(s.history.holdings[subject], now)
	return nil
}
