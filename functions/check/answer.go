package check

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/shared/decide"
	"github.com/wardenhq/warden/shared/rbac"
)

// Answer is the body that answers a check. The declaration is for readers of
// the contract; appendAnswer writes it.
type Answer struct {
	Allowed  bool         `json:"allowed"`
	Reason   rbac.Reason  `json:"reason"`
	Revision string       `json:"revision"`          // for at_least
	Matched  []rbac.Match `json:"matched,omitempty"` // every permission that matches; there when explain was asked for
}

// Results is the body that answers a batch check.
type Results struct {
	Results []Answer `json:"results"` // in the order of the checks
}

func appendAnswer(b []byte, a *decide.Answer, explain bool) []byte {
	b = append(b, `{"allowed":`...)
	b = strconv.AppendBool(b, a.Reason.Allowed())
	b = append(b, `,"reason":"`...)
	b = append(b, a.Reason...)
	b = append(b, `","revision":"`...)
	b = a.Revision.Append(b)
	b = append(b, '"')
	if explain {
		b = append(b, `,"matched":[`...)
		for i := range a.Matched {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendMatch(b, &a.Matched[i])
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func appendMatch(b []byte, m *rbac.Match) []byte {
	b = appendText(append(b, `{"permission":`...), m.Permission.String())
	b = appendText(append(b, `,"role":`...), m.Role.String())
	b = append(b, `,"via":[`...)
	for i, role := range m.Via {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, role.String())
	}
	b = appendText(append(b, `],"effect":`...), string(m.Effect))
	return append(b, '}')
}

// appendText writes an id, which is valid UTF-8 by its grammar.
func appendText(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic("check: an id is no JSON string: " + err.Error())
	}
	return b
}
