// Package segment is how ids travel in URL paths.
//
// API Gateway's HTTP APIs decode a path before a function sees it, so an
// escaped slash in an id can't be told from a separator. An id therefore stands
// for itself only when it is made of the characters `A-Z a-z 0-9 . _ : @ -`, and
// otherwise travels as `~` and its unpadded, canonical base64url form: `Zoë` is
// `~Wm_Dqw`. Nothing here depends on escaping, and a path never needs any.
package segment

import (
	"encoding/base64"
	"errors"
	"strings"
	"unicode/utf8"
)

// mark begins the encoded form; it is not among the plain characters.
const mark = '~'

// ErrForm is the error of a segment that is in neither form.
var ErrForm = errors.New("segment: neither a plain id (A-Z a-z 0-9 . _ : @ -) nor ~ and the id in unpadded base64url")

// Encode is the segment that stands for an id, valid UTF-8 and not empty: the
// id itself when it can be, else its `~` form.
func Encode(id string) string {
	if plain(id) && !dots(id) {
		return id
	}
	return string(mark) + base64.RawURLEncoding.EncodeToString([]byte(id))
}

// Decode is the id that a segment stands for; the `~` form of a plain id is
// accepted too. ErrForm is returned for an empty segment, other characters,
// padding, unused bits that are set, and ids that are empty or no UTF-8.
func Decode(s string) (string, error) {
	if s == "" || s[0] != mark {
		if !plain(s) {
			return "", ErrForm
		}
		return s, nil
	}
	id, err := base64.RawURLEncoding.DecodeString(s[1:])
	// The decoder skips line breaks and ignores unused bits; comparing with the
	// one right encoding refuses both.
	if err != nil || len(id) == 0 || !utf8.Valid(id) || base64.RawURLEncoding.EncodeToString(id) != s[1:] {
		return "", ErrForm
	}
	return string(id), nil
}

// Split takes a decoded path apart. It is false for a path that can name
// nothing: one without a leading slash, or with an empty segment (also from a
// trailing slash), `.` or `..`. Nothing is cleaned and nothing redirected.
func Split(path string) ([]string, bool) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, false
	}
	segments := strings.Split(rest, "/")
	for _, s := range segments {
		if s == "" || dots(s) {
			return nil, false
		}
	}
	return segments, true
}

func dots(s string) bool { return s == "." || s == ".." }

func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == ':', c == '@', c == '-':
		default:
			return false
		}
	}
	return s != ""
}
