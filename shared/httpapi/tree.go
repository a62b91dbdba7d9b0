package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi/segment"
)

// endpoint is an Endpoint with what routing needs of its pattern.
type endpoint struct {
	Endpoint
	pattern []string       // its segments
	params  map[string]int // name to position in the path
	errors  map[fault.Code]bool
}

// node is a place in the tree of patterns.
type node struct {
	literals map[string]*node
	param    *node
	byMethod map[string]*endpoint
}

func newEndpoint(e Endpoint) *endpoint {
	pattern, _ := segment.Split(e.Route.Pattern)
	ep := &endpoint{Endpoint: e, pattern: pattern, params: map[string]int{}, errors: map[fault.Code]bool{}}
	for i, s := range pattern {
		if name, ok := paramName(s); ok {
			ep.params[name] = i
		}
	}
	for _, c := range e.Route.AllErrors() {
		ep.errors[c] = true
	}
	return ep
}

// add puts an endpoint into the tree below the node.
func (n *node) add(e *endpoint) {
	at := n
	for _, s := range e.pattern {
		at = at.child(s)
	}
	if at.byMethod == nil {
		at.byMethod = map[string]*endpoint{}
	}
	at.byMethod[e.Route.Method] = e
}

// child is the node that a segment of a pattern leads to, made when missing.
func (n *node) child(patternSegment string) *node {
	if _, param := paramName(patternSegment); param {
		if n.param == nil {
			n.param = &node{}
		}
		return n.param
	}
	if n.literals == nil {
		n.literals = map[string]*node{}
	}
	if n.literals[patternSegment] == nil {
		n.literals[patternSegment] = &node{}
	}
	return n.literals[patternSegment]
}

// places appends the nodes that a path leads to. Several patterns can fit one
// path (`policies/batch` is also `policies/{subject}`); as no two routes of one
// method do, an id may have any name that is a literal elsewhere.
func (n *node) places(path []string, found []*node) []*node {
	if len(path) == 0 {
		if n.byMethod == nil {
			return found
		}
		return append(found, n)
	}
	if next := n.literals[path[0]]; next != nil {
		found = next.places(path[1:], found)
	}
	if n.param != nil {
		found = n.param.places(path[1:], found)
	}
	return found
}

// allowed are the methods of the places, as Allow lists them.
func allowed(places []*node) string {
	all := map[string]bool{}
	for _, p := range places {
		for m := range p.byMethod {
			all[m] = true
			if m == http.MethodGet {
				all[http.MethodHead] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// clash says whether some request would match both routes.
func clash(a, b *endpoint) error {
	if a.Route.Name == b.Route.Name {
		return fmt.Errorf("two routes are named %q", a.Route.Name)
	}
	if a.Route.Method != b.Route.Method || len(a.pattern) != len(b.pattern) {
		return nil
	}
	for i, s := range a.pattern {
		_, param := paramName(s)
		_, otherParam := paramName(b.pattern[i])
		if !param && !otherParam && s != b.pattern[i] {
			return nil
		}
	}
	return fmt.Errorf("%s %s and %s match the same requests", a.Route.Method, a.Route.Pattern, b.Route.Pattern)
}
