// Package wire is the JSON of the public contract: bodies decoded strictly, with
// every wrong field named, and the type of optional members of patches (Optional).
//
// A member of a request struct is required unless its tag says omitzero or
// omitempty, or its type is a pointer or an Optional. null stands for absence:
// it is refused where a value is required, and only Optional tells the two apart.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/shared/fault"
)

// MaxDepth is how deep objects and arrays of a body may be nested.
const MaxDepth = 32

// Decode reads one JSON text into the value that into points to. It is
// fault.BadJSON when the text is no JSON, has a name twice in an object, invalid
// UTF-8, nests deeper than MaxDepth, or something follows it; and fault.Invalid
// with the fields when the text is not what the type wants: unknown members,
// required ones that lack, wrong types, and what the types of fields refuse
// themselves (whose errors are shown to the caller).
func Decode(body []byte, into any) error {
	if err := checkSyntax(body); err != nil {
		return err
	}
	if err := checkShape(body, into); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into, json.RejectUnknownMembers(true)); err != nil {
		return fault.Wrap(fault.Internal, err, "")
	}
	return nil
}

// Encode is the value as JSON, compact, maps in the order of their names. It
// fails for values that have no JSON, which is a defect of the type.
func Encode(v any) ([]byte, error) {
	return json.Marshal(v, json.Deterministic(true))
}

func checkSyntax(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for whole := false; ; whole = d.StackDepth() == 0 {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF) && !whole:
			return fault.New(fault.BadJSON, "the body is empty, and JSON is needed")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return badJSON(err)
		case whole:
			return fault.New(fault.BadJSON, "something follows the JSON value of the body")
		case d.StackDepth() > MaxDepth:
			return fault.New(fault.BadJSON, "the body nests deeper than %d", MaxDepth)
		}
	}
}

func badJSON(err error) error {
	var s *jsontext.SyntacticError
	if !errors.As(err, &s) {
		return fault.Wrap(fault.BadJSON, err, "the body is not JSON")
	}
	if errors.Is(s.Err, jsontext.ErrDuplicateName) {
		return fault.New(fault.BadJSON, "an object of the body has the name %q twice", shorten(s.JSONPointer.LastToken()))
	}
	return fault.Wrap(fault.BadJSON, err, "the body is not JSON: %s at byte %d", reason(s), s.ByteOffset)
}

func reason(s *jsontext.SyntacticError) string {
	if s.Err == nil {
		return "syntax error"
	}
	return s.Err.Error()
}

// shorten keeps a name of the caller's from filling the answer.
func shorten(name string) string {
	const most = 128
	if len(name) <= most {
		return name
	}
	return fmt.Sprintf("%s... (%d bytes)", bytes.ToValidUTF8([]byte(name[:most]), nil), len(name))
}
