package keys

import (
	"errors"
	"strings"
)

// textSeparator can't be in a key: ids have no control characters.
const textSeparator = "\x00"

var errText = errors.New("keys: no key in this text")

// MarshalText writes the key for those who keep whole items apart from the
// table, as dead letters do.
func (r Raw) MarshalText() ([]byte, error) { return []byte(r.pk + textSeparator + r.sk), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *Raw) UnmarshalText(b []byte) (err error) {
	r.pk, r.sk, err = parts(b)
	return err
}

// MarshalText is Raw's; the zero value is no text.
func (k IndexKey) MarshalText() ([]byte, error) {
	if k.IsZero() {
		return nil, nil
	}
	return Raw(k).MarshalText()
}

// UnmarshalText reads what MarshalText wrote.
func (k *IndexKey) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*k = IndexKey{}
		return nil
	}
	k.pk, k.sk, err = parts(b)
	return err
}

func parts(b []byte) (pk, sk string, err error) {
	pk, sk, ok := strings.Cut(string(b), textSeparator)
	if !ok {
		return "", "", errText
	}
	return pk, sk, nil
}
