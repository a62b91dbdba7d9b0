package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wardenhq/warden/shared/fault"
)

// The bounds of ?limit=.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// readQuery holds a query string against what the route declares, and collects
// all that is wrong.
func readQuery(route *Route, raw string) (map[string]string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.Wrap(fault.BadRequest, err, "the query string is malformed")
	}
	declared := route.QueryParams()
	got := make(map[string]string, len(values))
	var wrong []fault.Field
	for name, all := range values {
		i := slices.IndexFunc(declared, func(p QueryParam) bool { return p.Name == name })
		if i < 0 {
			wrong = append(wrong, fault.Field{Field: name, Message: "unknown query parameter"})
			continue
		}
		if declared[i].Kind == Cursor && all[0] == "" && len(all) == 1 {
			continue // the first page, as next_cursor "" would ask for it
		}
		if message := declared[i].refuse(all); message != "" {
			wrong = append(wrong, fault.Field{Field: name, Message: message})
			continue
		}
		got[name] = all[0]
	}
	for _, p := range declared {
		if p.Required && !values.Has(p.Name) {
			wrong = append(wrong, fault.Field{Field: p.Name, Message: "is required"})
		}
	}
	if len(wrong) == 0 {
		return got, nil
	}
	slices.SortFunc(wrong, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	return nil, &fault.Error{
		Code:   fault.Invalid,
		Detail: "query parameter " + wrong[0].Field + ": " + wrong[0].Message,
		Fields: wrong,
	}
}

// refuse says why the values are not what the parameter takes.
func (p *QueryParam) refuse(values []string) string {
	v := values[0]
	switch {
	case len(values) > 1:
		return "stands more than once"
	case p.Kind == Limit:
		if n, err := strconv.Atoi(v); err != nil || n < 1 || n > MaxLimit || v[0] == '+' {
			return "must be a whole number from 1 to " + strconv.Itoa(MaxLimit)
		}
	case v == "":
		return "must not be empty"
	case !utf8.ValidString(v):
		return "must be valid UTF-8"
	case p.Kind == Bool && v != "true" && v != "false":
		return "must be true or false"
	case p.Kind == Enum && !slices.Contains(p.Values, v):
		return "must be one of " + strings.Join(p.Values, ", ")
	}
	return ""
}

// Limit is how many items a page of the list may have.
func (c *Call) Limit() int {
	v, ok := c.Query("limit")
	if !ok {
		return DefaultLimit
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		panic("httpapi: a limit that was accepted is no number: " + err.Error())
	}
	return n
}

// Cursor is where the page begins, empty for the first one.
func (c *Call) Cursor() string {
	v, _ := c.Query("cursor")
	return v
}
