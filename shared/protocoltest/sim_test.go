package protocoltest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/rbac"
	"github.com/wardenhq/warden/shared/retry"
	"github.com/wardenhq/warden/shared/revision"
	"github.com/wardenhq/warden/shared/snapshot"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
	"github.com/wardenhq/warden/shared/table/weak"
	"github.com/wardenhq/warden/shared/write"
)

// epoch is the virtual clock's zero.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// sim is one schedule.
type sim struct {
	seed    uint64
	mutant  *mutation
	rnd     *rand.Rand
	ctx     context.Context
	clock   time.Duration
	steps   int
	trace   *strings.Builder // nil: not wanted
	broken  error            // the first violation
	suspect string           // a fault to be told at rest

	base    table.Store // what is committed
	table   *weak.Table // what actors see of it
	history *history
	actors  []*actor
	floor   int // the newest state that a strong answer was seen to come from
	acked   int // the newest commit that was acknowledged
	tokens  []revision.Token
	served  int // requests so far
	answers int // questions that were judged

	world
}

func newSim(seed uint64, m *mutation, traced bool) *sim {
	s := &sim{seed: seed, mutant: m, rnd: rand.New(rand.NewPCG(seed, 0)), ctx: context.Background(), history: newHistory()}
	if traced {
		s.trace = &strings.Builder{}
	}
	return s
}

func (s *sim) now() time.Time { return epoch.Add(s.clock) }

// event lets those go on who were held until something like this.
func (s *sim) event(kind string) {
	for _, a := range s.actors {
		if a.held == nil || a.held.event != kind {
			continue
		}
		if a.held.count--; a.held.count <= 0 {
			a.held = nil
		}
	}
}

func (s *sim) log(who, format string, args ...any) {
	if s.trace != nil {
		fmt.Fprintf(s.trace, "%4d %9.2fs  %-10s %s\n", s.steps, s.clock.Seconds(), who, fmt.Sprintf(format, args...))
	}
}

func (a *actor) log(format string, args ...any) { a.sim.log(a.name, format, args...) }

// pick is one of several.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// some is a part of several, in their order.
func some[T any](r *rand.Rand, of []T) []T {
	return slices.DeleteFunc(slices.Clone(of), func(T) bool { return r.IntN(2) == 0 })
}

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// process is a warm process: what its writers and checkers share.
type process struct {
	definitions *snapshot.Cache
	items       *decide.Cache
	piece       int
}

func (s *sim) process() *process {
	return &process{
		definitions: snapshot.NewCache(pick(s.rnd, 3, 1000, 1000, 1000)),
		items:       decide.NewCache(1 << 20),
		piece:       cmp.Or(s.piece, pick(s.rnd, 1, 2, 2, 90)),
	}
}

// store is the table as the actor sees it, less the clause under test.
func (a *actor) store() table.Store {
	p := port{Store: a.sim.table, a: a}
	if a.sim.mutant == nil || a.sim.mutant.port == nil {
		return p
	}
	return a.sim.mutant.port(p)
}

func (a *actor) snapshots(t table.Store) *snapshot.Reader {
	return &snapshot.Reader{Table: t, Cache: a.process.definitions, Backoff: a.backoff(), Piece: a.process.piece}
}

func (a *actor) backoff() retry.Backoff {
	return retry.Backoff{Clock: watch{a}, Jitter: a.rnd.Float64, Base: 10 * time.Millisecond, Max: time.Second, Tries: 6}
}

func (a *actor) writer() *write.Writer {
	t := a.store()
	return &write.Writer{
		Table: t, Snapshots: a.snapshots(t), Clock: watch{a}, Backoff: a.backoff(), Changed: a.process.items.Drop,
		EventID: func(time.Time) string { return fmt.Sprintf("evt-%d", a.sim.served) },
	}
}

func (a *actor) checker() *decide.Checker {
	t := a.store()
	return &decide.Checker{
		Table: t, Snapshots: a.snapshots(t), Clock: watch{a}, Cache: a.process.items,
	}
}

const scopeName = "main"

func subjectID(u string) rbac.SubjectID       { return rbac.Must(rbac.ParseSubjectID(u)) }
func roleID(r string) rbac.RoleID             { return rbac.Must(rbac.ParseRoleID(r)) }
func permissionID(p string) rbac.PermissionID { return rbac.Must(rbac.ParsePermissionID(p)) }
func resourceID(r string) rbac.ResourceID     { return rbac.Must(rbac.ParseResourceID(r)) }

var action = rbac.Must(rbac.ParseActionID("use"))

// subjectOf is whose policy an item is.
func (s *sim) subjectOf(k keys.Raw) string {
	for _, u := range s.subjects {
		if keys.Policy(s.scope.ID, subjectID(u)).Raw() == k {
			return u
		}
	}
	return ""
}

// byName sorts the names of a map.
func byName[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
