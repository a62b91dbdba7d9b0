package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
)

// ETag is the strong entity tag of a version.
func ETag(version uint64) string { return `"` + strconv.FormatUint(version, 10) + `"` }

// conditions are a request's If-Match and If-None-Match (RFC 9110, section 13.1).
type conditions struct{ match, noneMatch tags }

// tags is a list of entity tags, or `*`. The zero value: no such header.
type tags struct {
	given bool
	any   bool
	list  []string // as they stand, W/ included
}

func readConditions(r *http.Request) (conditions, error) {
	match, ok := parseTags(r, "If-Match")
	if !ok {
		return conditions{}, fault.New(fault.BadRequest, `If-Match must be * or a list of entity tags like "3"`)
	}
	noneMatch, ok := parseTags(r, "If-None-Match")
	if !ok {
		return conditions{}, fault.New(fault.BadRequest, `If-None-Match must be * or a list of entity tags like "3"`)
	}
	return conditions{match, noneMatch}, nil
}

func parseTags(r *http.Request, name string) (tags, bool) {
	values := r.Header[name]
	if len(values) == 0 {
		return tags{}, true
	}
	rest := strings.Trim(strings.Join(values, ","), " \t")
	if rest == "*" {
		return tags{given: true, any: true}, true
	}
	t := tags{given: true}
	for {
		rest = strings.TrimLeft(rest, " \t,") // empty elements are allowed (section 5.6.1)
		if rest == "" {
			return t, len(t.list) > 0
		}
		n := tagLength(rest)
		if n == 0 {
			return tags{}, false
		}
		t.list = append(t.list, rest[:n])
		rest = strings.TrimLeft(rest[n:], " \t")
		if rest != "" && rest[0] != ',' {
			return tags{}, false
		}
	}
}

// tagLength is the length of the entity tag that s begins with, 0 for none:
// `"` etagc* `"`, maybe after `W/` (section 8.8.3).
func tagLength(s string) int {
	body := strings.TrimPrefix(s, "W/")
	if body == "" || body[0] != '"' {
		return 0
	}
	for i := 1; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			return len(s) - len(body) + i + 1
		case c <= ' ' || c == 0x7f:
			return 0
		}
	}
	return 0
}

// CheckPreconditions holds If-Match and If-None-Match against the resource as it
// stands, and is fault.PreconditionFailed when they ask for another state. A
// handler calls it before it writes, with the version that its write is then
// conditioned on; a resource that is to be there and is not, is NotFound first.
//
// If-Match compares strongly: a weak tag never matches. GET does not look at
// If-None-Match: answers may show state beyond the version.
func (c *Call) CheckPreconditions(exists bool, version uint64) error {
	tag := ETag(version)
	m, n := c.conditions.match, c.conditions.noneMatch
	switch {
	case m.given && !exists:
		return fault.New(fault.PreconditionFailed, "If-Match: the resource does not exist")
	case m.given && !m.any && !slices.Contains(m.list, tag):
		return fault.New(fault.PreconditionFailed, "If-Match: the resource has version %s", tag)
	case n.given && exists && (n.any || slices.Contains(n.list, tag) || slices.Contains(n.list, "W/"+tag)):
		return fault.New(fault.PreconditionFailed, "If-None-Match: the resource exists, in version %s", tag)
	}
	return nil
}
