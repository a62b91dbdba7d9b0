package webhook

import (
	"fmt"
	"slices"
	"strings"
)

// MaxPatterns is the most patterns a filter may have.
const MaxPatterns = 100

const anyType = "*"

// Filter chooses types of events: by name ("role.created"), by leading segments
// ("role.*", "scim.user.*") or all of them ("*").
type Filter []string

// FilterError says which pattern of a filter is wrong.
type FilterError struct {
	Index   int // of the pattern; -1: the filter as a whole
	Problem string
}

func (e *FilterError) Error() string {
	if e.Index < 0 {
		return "webhook: events: " + e.Problem
	}
	return fmt.Sprintf("webhook: events[%d]: %s", e.Index, e.Problem)
}

// Validate tests a new filter against the types there are: each pattern must
// choose at least one. The error is a *FilterError.
func (f Filter) Validate(known []string) error {
	if len(f) == 0 || len(f) > MaxPatterns {
		return &FilterError{-1, fmt.Sprintf("must have 1 to %d patterns", MaxPatterns)}
	}
	for i, pattern := range f {
		wild := strings.TrimSuffix(pattern, ".*")
		switch {
		case pattern == anyType:
		case wild == "" || strings.Contains(wild, "*"):
			return &FilterError{i, `must be a type, leading segments and ".*", or "*"`}
		case !slices.ContainsFunc(known, func(t string) bool { return matches(pattern, t) }):
			return &FilterError{i, "no type of event matches"}
		case slices.Contains(f[:i], pattern):
			return &FilterError{i, "stands there twice"}
		}
	}
	return nil
}

// Matches says whether the filter chooses a type of event. A pattern that no
// rule allows chooses nothing.
func (f Filter) Matches(eventType string) bool {
	return slices.ContainsFunc(f, func(pattern string) bool { return matches(pattern, eventType) })
}

func matches(pattern, eventType string) bool {
	if pattern == anyType || pattern == eventType {
		return true
	}
	segments, wild := strings.CutSuffix(pattern, anyType)
	return wild && len(segments) > 1 && strings.HasSuffix(segments, ".") && strings.HasPrefix(eventType, segments)
}
