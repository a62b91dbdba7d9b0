package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problem is a promise that is no longer kept: to those who read new events by
// the old contract, or to those who read old events by the new one.
type Problem struct {
	Schema string
	Path   string // of the member; empty: the whole
	What   string
}

func (p Problem) String() string { return fmt.Sprintf("%s: %q %s", p.Schema, p.Path, p.What) }

// IncompatibleError is a contract that does not keep what was released.
type IncompatibleError struct {
	Problems []Problem
}

func (e *IncompatibleError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "contract: not compatible with " + released + ":\n" + strings.Join(lines, "\n")
}

// Compare is what a contract breaks of an earlier one.
func Compare(was, now Listing) []Problem {
	var problems []Problem
	for _, schema := range slices.Sorted(maps.Keys(was)) {
		members, ok := now[schema]
		if !ok {
			problems = append(problems, Problem{schema, "", "is gone"})
			continue
		}
		for _, path := range slices.Sorted(maps.Keys(was[schema])) {
			m, ok := members[path]
			if !ok {
				problems = append(problems, Problem{schema, path, "is gone"})
				continue
			}
			for _, what := range was[schema][path].broken(m) {
				problems = append(problems, Problem{schema, path, what})
			}
		}
		for _, path := range slices.Sorted(maps.Keys(members)) {
			_, had := was[schema][path]
			_, hadHolder := was[schema][holder(path)]
			if !had && hadHolder && members[path].Required {
				problems = append(problems, Problem{schema, path, "is new and required"})
			}
		}
	}
	return problems
}

// holder is the path of what holds a member.
func holder(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}

func (m Member) broken(now Member) (what []string) {
	switch {
	case m.Required && !now.Required:
		what = append(what, "is no longer required")
	case !m.Required && now.Required:
		what = append(what, "has become required")
	}
	if m.Rule != now.Rule {
		what = append(what, fmt.Sprintf("demands %s, no longer %s", now.Rule, m.Rule))
	}
	if (len(m.Enum) == 0) != (len(now.Enum) == 0) {
		what = append(what, "was an enumeration, or has become one")
	}
	for _, value := range m.Enum {
		if len(now.Enum) > 0 && !slices.Contains(now.Enum, value) {
			what = append(what, fmt.Sprintf("no longer has the value %q", value))
		}
	}
	return what
}
