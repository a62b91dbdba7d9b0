// Package jcs gives JSON the one form that RFC 8785 (JSON Canonicalization
// Scheme) defines, so that equal values have equal bytes to hash and sign.
//
// It is stricter than the RFC where a text could mean two things to two
// readers: names that stand twice, lone surrogates, bytes that are no UTF-8 and
// integers that a double can't hold are errors, never mended.
package jcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Errors of texts that have no canonical form.
var (
	ErrSyntax    = errors.New("jcs: not one JSON value")
	ErrUnicode   = errors.New("jcs: not UTF-8, or half a surrogate pair")
	ErrDuplicate = errors.New("jcs: a name stands twice in an object")
	ErrNumber    = errors.New("jcs: a number that a double can't hold")
)

// maxInteger is the largest integer up to which all are doubles (RFC 7493,
// section 2.2).
const maxInteger = 1<<53 - 1

// Parse reads one JSON value: nil, bool, float64, string, []any or
// map[string]any. Errors: ErrSyntax, ErrUnicode, ErrDuplicate, ErrNumber.
func Parse(text []byte) (any, error) {
	if !json.Valid(text) {
		return nil, ErrSyntax
	}
	if !utf8.Valid(text) || loneSurrogate(text) {
		return nil, ErrUnicode
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return value(d)
}

func value(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, syntax(err)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return object(d)
		}
		return array(d)
	case json.Number:
		return number(string(t))
	}
	return token, nil
}

func object(d *json.Decoder) (map[string]any, error) {
	members := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, syntax(err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, ErrSyntax
		}
		if _, ok := members[name]; ok {
			return nil, fmt.Errorf("%w: %q", ErrDuplicate, name)
		}
		if members[name], err = value(d); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return members, syntax(err)
}

func array(d *json.Decoder) ([]any, error) {
	elements := []any{}
	for d.More() {
		e, err := value(d)
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	_, err := d.Token()
	return elements, syntax(err)
}

func syntax(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrSyntax, err)
}

func number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !strings.ContainsAny(text, ".eE") && math.Abs(f) > maxInteger {
		return 0, fmt.Errorf("%w: %.40s", ErrNumber, text)
	}
	return f, nil
}

// loneSurrogate says whether valid JSON has an escape of half a surrogate pair
// without the other, which encoding/json would replace.
func loneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++
		if text[i] != 'u' {
			continue
		}
		unit := hex4(text[i+1:])
		i += 4
		switch {
		case unit < 0xd800 || unit > 0xdfff:
		case unit >= 0xdc00:
			return true
		case !bytes.HasPrefix(text[i+1:], []byte(`\u`)):
			return true
		default:
			if low := hex4(text[i+3:]); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

func hex4(text []byte) uint64 {
	unit, err := strconv.ParseUint(string(text[:4]), 16, 16)
	if err != nil {
		return 0 // not in valid JSON
	}
	return unit
}
