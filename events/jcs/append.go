package jcs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Canonical is a JSON text in its canonical form. Errors are those of Parse.
func Canonical(text []byte) ([]byte, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Append(nil, v), nil
}

// Append adds the canonical form of a value to b. It panics on a value that
// Parse can't give: a type that is not among its own, or no finite number.
func Append(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendString(b, v)
	case float64:
		return appendNumber(b, v)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = Append(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, name := range slices.SortedFunc(maps.Keys(v), byUnits) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = Append(b, v[name])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("jcs: %T is no parsed JSON", value))
}

// byUnits orders names by their UTF-16 code units (RFC 8785, section 3.2.3).
func byUnits(a, b string) int {
	if ordered(a) && ordered(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// ordered says whether all characters are below U+E000: bytes order them as
// units do.
func ordered(s string) bool {
	for i := range len(s) {
		if s[i] >= 0xee {
			return false
		}
	}
	return true
}

// appendString escapes what must be escaped and nothing else (RFC 8785,
// section 3.2.2.2).
func appendString(b []byte, s string) []byte {
	const short = "\b\t\n\f\r\"\\"
	const letters = `btnfr"\`
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		if at := strings.IndexByte(short, c); at >= 0 {
			b = append(b, '\\', letters[at])
		} else if c < 0x20 {
			b = fmt.Appendf(b, `\u%04x`, c)
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// appendNumber writes a double as ECMAScript does (RFC 8785, section 3.2.2.3):
// the shortest digits that read back as the same one.
func appendNumber(b []byte, f float64) []byte {
	switch size := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		panic("jcs: no finite number")
	case f == 0:
		return append(b, '0') // -0 too
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// e-07 is e-7 in ECMAScript.
	if n := len(b); b[n-4] == 'e' && b[n-2] == '0' {
		b = append(b[:n-2], b[n-1])
	}
	return b
}
