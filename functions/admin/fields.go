package admin

import (
	"fmt"
	"unicode"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/rbac"
)

// fields collects what is wrong with a body beyond its types. Its fault has the
// code of the first one.
type fields struct {
	code  fault.Code
	wrong []fault.Field
}

func (f *fields) refuse(code fault.Code, field, format string, args ...any) {
	if f.code == "" {
		f.code = code
	}
	f.wrong = append(f.wrong, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

// err is the fault of all that was refused, nil when nothing was.
func (f *fields) err() error {
	if len(f.wrong) == 0 {
		return nil
	}
	e := &fault.Error{Code: f.code, Detail: f.wrong[0].Field + ": " + f.wrong[0].Message, Fields: f.wrong}
	if n := len(f.wrong); n > 1 {
		e.Detail = fmt.Sprintf("%d fields are wrong", n)
	}
	return e
}

// name holds a name to the contract: one line, not empty.
func (f *fields) name(field, s string) {
	f.optionalName(field, s)
	if s == "" {
		f.refuse(fault.Invalid, field, "must not be empty")
	}
}

// optionalName is name for a resource that may go without.
func (f *fields) optionalName(field, s string) {
	f.atMost(field, len(s), rbac.MaxNameBytes, "bytes")
	for _, r := range s {
		if unicode.IsControl(r) {
			f.refuse(fault.Invalid, field, "must not contain the control character %U", r)
			return
		}
	}
}

func (f *fields) description(s string) {
	f.atMost("description", len(s), rbac.MaxDescriptionBytes, "bytes")
}

// atMost holds a published limit.
func (f *fields) atMost(field string, n, most int, of string) {
	if n > most {
		f.refuse(fault.LimitExceeded, field, "has %d %s, at most %d are allowed", n, of, most)
	}
}

// within holds a number to its range, from 1 on.
func (f *fields) within(field string, n, most int) {
	if n < 1 || n > most {
		f.refuse(fault.Invalid, field, "must be a whole number from 1 to %d", most)
	}
}

// once refuses an element that stands in a list before; member names the part
// of the element that must differ, empty for all of it.
func once[T comparable](f *fields, list, member string, elements []T) {
	seen := make(map[T]bool, len(elements))
	for i, e := range elements {
		if seen[e] {
			f.refuse(fault.Invalid, fmt.Sprintf("%s[%d]%s", list, i, member), "stands twice in the list")
		}
		seen[e] = true
	}
}
