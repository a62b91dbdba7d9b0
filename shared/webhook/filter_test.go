package webhook

import (
	"errors"
	"slices"
	"testing"
)

var types = []string{"role.created", "role.deleted", "policy.updated", "policy.role_expired", "scim.user.created", "out_of_band"}

func TestFilterMatches(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"*", types},
		{"role.created", []string{"role.created"}},
		{"role.*", []string{"role.created", "role.deleted"}},
		{"policy.*", []string{"policy.updated", "policy.role_expired"}},
		{"scim.*", []string{"scim.user.created"}},
		{"scim.user.*", []string{"scim.user.created"}},
		{"out_of_band", []string{"out_of_band"}},
		{"role", nil},
		{"rol*", nil},
		{"role.c*", nil},
		{"*.created", nil},
		{".*", nil},
		{"", nil},
		{"ROLE.created", nil},
	} {
		var got []string
		for _, eventType := range types {
			if (Filter{c.pattern}).Matches(eventType) {
				got = append(got, eventType)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q matches %q, want %q", c.pattern, got, c.want)
		}
	}
	if (Filter{}).Matches("role.created") || !(Filter{"scope.*", "role.*"}).Matches("role.created") {
		t.Error("a filter matches what one of its patterns matches")
	}
}

func TestFilterValidate(t *testing.T) {
	for name, c := range map[string]struct {
		filter Filter
		index  int // of the wrong pattern; -2: none is wrong
	}{
		"all":            {Filter{"*"}, -2},
		"mixed":          {Filter{"role.created", "policy.*", "scim.user.*", "out_of_band", "*"}, -2},
		"nothing":        {nil, -1},
		"too many":       {make(Filter, MaxPatterns+1), -1},
		"unknown":        {Filter{"role.*", "role.renamed"}, 1},
		"unknown family": {Filter{"rolls.*"}, 0},
		"no whole type":  {Filter{"role"}, 0},
		"half a segment": {Filter{"rol*"}, 0},
		"inner wildcard": {Filter{"*.created"}, 0},
		"two wildcards":  {Filter{"**"}, 0},
		"type and star":  {Filter{"role.created.*"}, 0},
		"only a suffix":  {Filter{".*"}, 0},
		"empty pattern":  {Filter{"*", ""}, 1},
		"twice":          {Filter{"role.*", "role.*"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.filter.Validate(types)
			var wrong *FilterError
			switch {
			case c.index == -2 && err != nil:
				t.Errorf("refused: %v", err)
			case c.index != -2 && (!errors.As(err, &wrong) || wrong.Index != c.index):
				t.Errorf("got %v, want an error at %d", err, c.index)
			}
		})
	}
}
