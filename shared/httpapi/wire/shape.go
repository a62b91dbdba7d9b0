package wire

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/shared/fault"
)

// maxFields bounds how many wrong fields one answer lists.
const maxFields = 100

// checkShape holds a body whose syntax is right against the type it is for, and
// collects what is wrong, field by field.
func checkShape(body []byte, into any) error {
	w := walk{d: jsontext.NewDecoder(bytes.NewReader(body))}
	if err := w.value(reflect.TypeOf(into).Elem(), nil); err != nil {
		return badJSON(err)
	}
	switch {
	case w.wrong == 0:
		return nil
	case w.wrong == 1:
		return &fault.Error{Code: fault.Invalid, Detail: w.fields[0].Field + ": " + w.fields[0].Message, Fields: w.fields}
	case w.wrong > maxFields:
		return &fault.Error{Code: fault.Invalid, Detail: fmt.Sprintf("%d fields are wrong; the first %d are listed", w.wrong, maxFields), Fields: w.fields}
	}
	return &fault.Error{Code: fault.Invalid, Detail: fmt.Sprintf("%d fields are wrong", w.wrong), Fields: w.fields}
}

// walk goes through a body once. Its methods return errors of reading only;
// what is wrong with fields is collected.
type walk struct {
	d      *jsontext.Decoder
	fields []fault.Field
	wrong  int
}

func (w *walk) refuse(at *place, format string, args ...any) {
	w.wrong++
	if len(w.fields) < maxFields {
		w.fields = append(w.fields, fault.Field{Field: at.String(), Message: fmt.Sprintf(format, args...)})
	}
}

func (w *walk) value(t reflect.Type, at *place) error {
	t, nullable := nullableOf(t)
	kind := w.d.PeekKind()
	switch {
	case kind == 'n' && !nullable:
		w.refuse(at, "must be %s", want(t))
		return w.d.SkipValue()
	case kind == 'n':
		return w.d.SkipValue()
	case isLeaf(t):
		return w.leaf(t, at)
	case t.Kind() == reflect.Struct && kind == '{':
		return w.object(t, at)
	case t.Kind() == reflect.Map && kind == '{':
		return w.mapping(t, at)
	case t.Kind() == reflect.Slice && kind == '[':
		return w.list(t, at)
	}
	w.refuse(at, "must be %s", want(t))
	return w.d.SkipValue()
}

func (w *walk) object(t reflect.Type, at *place) error {
	members := membersOf(t)
	var seen uint64
	err := w.each(func(name string) error {
		here := &place{up: at, name: name}
		for i := range members {
			m := &members[i]
			if m.name != name {
				continue
			}
			if w.d.PeekKind() == 'n' { // absent; whether it may be is said below
				return w.d.SkipValue()
			}
			seen |= 1 << i
			return w.value(m.typ, here)
		}
		w.refuse(here, "unknown field")
		return w.d.SkipValue()
	})
	if err != nil {
		return err
	}
	for i, m := range members {
		if m.required && seen&(1<<i) == 0 {
			w.refuse(&place{up: at, name: m.name}, "is required")
		}
	}
	return nil
}

func (w *walk) mapping(t reflect.Type, at *place) error {
	return w.each(func(name string) error {
		return w.value(t.Elem(), &place{up: at, name: name})
	})
}

// each reads an object and calls f before each member's value.
func (w *walk) each(f func(name string) error) error {
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	for w.d.PeekKind() != '}' {
		name, err := w.d.ReadToken()
		if err != nil {
			return err
		}
		if err := f(name.String()); err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

func (w *walk) list(t reflect.Type, at *place) error {
	if _, err := w.d.ReadToken(); err != nil {
		return err
	}
	for i := 0; w.d.PeekKind() != ']'; i++ {
		if err := w.value(t.Elem(), &place{up: at, list: true, index: i}); err != nil {
			return err
		}
	}
	_, err := w.d.ReadToken()
	return err
}

// leaf lets the type itself judge the value.
func (w *walk) leaf(t reflect.Type, at *place) error {
	v, err := w.d.ReadValue()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(v, reflect.New(t).Interface()); err != nil {
		w.refuse(at, "%s", refusal(err, t))
	}
	return nil
}

func refusal(err error, t reflect.Type) string {
	var s *json.SemanticError
	if !errors.As(err, &s) || s.Err == nil || errors.Is(s.Err, strconv.ErrSyntax) || errors.Is(s.Err, strconv.ErrRange) {
		return "must be " + want(t)
	}
	// A text type may only see strings, and the library's own complaint about
	// anything else speaks of Go types.
	if reflect.PointerTo(t).Implements(textUnmarshaler) && s.JSONKind != '"' {
		return "must be a string"
	}
	return s.Err.Error()
}

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.UnmarshalerFrom]()
)

// isLeaf says whether a value of the type has no fields of ours inside.
func isLeaf(t reflect.Type) bool {
	if p := reflect.PointerTo(t); p.Implements(textUnmarshaler) || p.Implements(jsonUnmarshaler) {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return false
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 // bytes are a string in JSON
	default:
		return true
	}
}

// want says what JSON a type wants, as the end of a sentence.
func want(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if isLeaf(t) {
			return "a string in base64"
		}
		return "a list"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := int64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("a whole number from %d to %d", -most-1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a JSON value"
	}
}
