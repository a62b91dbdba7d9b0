package webhook

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestHeaders(t *testing.T) {
	many := map[string]string{}
	for i := range MaxHeaders + 1 {
		many[fmt.Sprintf("X-%d", i)] = ""
	}
	for name, c := range map[string]struct {
		headers map[string]string
		ok      bool
	}{
		"none":               {nil, true},
		"a few":              {map[string]string{"Authorization": "Bearer s3cret", "x-team": "a b", "X-Empty": ""}, true},
		"too many":           {many, false},
		"too long":           {map[string]string{"X-Long": strings.Repeat("s", MaxHeaderBytes)}, false},
		"of the signature":   {map[string]string{"webhook-id": "s3cret"}, false},
		"host":               {map[string]string{"hOsT": "s3cret"}, false},
		"length":             {map[string]string{"Content-Length": "5"}, false},
		"hop by hop":         {map[string]string{"Transfer-Encoding": "chunked"}, false},
		"of a proxy":         {map[string]string{"Proxy-Authorization": "s3cret"}, false},
		"content type":       {map[string]string{"Content-Type": "text/plain"}, false},
		"no name":            {map[string]string{"": "s3cret"}, false},
		"name with a space":  {map[string]string{"X A": "s3cret"}, false},
		"name with a break":  {map[string]string{"X\r\nHost": "s3cret"}, false},
		"name with a colon":  {map[string]string{"X:": "s3cret"}, false},
		"value with a break": {map[string]string{"X": "s3cret\r\nHost: a"}, false},
		"value with NUL":     {map[string]string{"X": "s3cret\x00"}, false},
		"value beyond ASCII": {map[string]string{"X": "s3crét"}, false},
		"value with edges":   {map[string]string{"X": " s3cret"}, false},
		"one name, two ways": {map[string]string{"X-A": "s3cret", "x-a": "s3cret"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateHeaders(c.headers)
			var wrong *HeaderError
			switch {
			case c.ok && err != nil:
				t.Errorf("refused: %v", err)
			case !c.ok && !errors.As(err, &wrong):
				t.Errorf("got %v", err)
			case !c.ok && (strings.Contains(err.Error(), "s3cr") || strings.ContainsAny(err.Error(), "\r\n")):
				t.Errorf("a value shows in %q", err)
			}
		})
	}
}
