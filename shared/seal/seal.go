// Package seal encrypts what is stored and must not be read from the table:
// webhook secrets, answers that show a key. A sealed value is bound to its
// place, so that it can't be moved to another item, and names its key, so that
// keys can change.
//
// The layout of a sealed value, version 1:
//
//	1 byte   version, 1
//	1 byte   length n of the key's id
//	n bytes  the key's id
//	12 bytes nonce, random
//	rest     AES-256-GCM ciphertext and its 16-byte tag
//
// What is authenticated beside the plaintext: version and key id as they stand
// there, then the binding. With random nonces one key may seal 2^32 values
// (NIST SP 800-38D, section 8.3).
package seal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	version   = 1
	nonceSize = 12
	tagSize   = 16
)

// Errors of sealed values. None of them tells anything of the plaintext.
var (
	// ErrFormat: the bytes are no sealed value, or of a version this build can't read.
	ErrFormat = errors.New("seal: not a sealed value of a known version")
	// ErrUnknownKey: the keyring lacks the key that the value names.
	ErrUnknownKey = errors.New("seal: unknown data key")
	// ErrOpen: the value was altered, or belongs to another place, or the key under its id is another.
	ErrOpen = errors.New("seal: the value does not open here")
)

// Place is where a sealed value belongs: the kind of item, the ids that lead to
// it and the field's name. Its parts are bound with their lengths, so no two
// places are the same for opening.
type Place []string

func (p Place) bytes(header []byte) []byte {
	b := append([]byte(nil), header...)
	for _, part := range p {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// Sealer seals and opens by a keyring. Safe for concurrent use when Keys and
// Random are.
type Sealer struct {
	Keys   Keyring
	Random io.Reader // crypto/rand.Reader but in tests
}

// Seal encrypts under the current key. The result has 30 bytes and the length of
// the key's id more than the plaintext.
func (s Sealer) Seal(ctx context.Context, plaintext []byte, at Place) ([]byte, error) {
	key, err := s.Keys.Current(ctx)
	if err != nil {
		return nil, fmt.Errorf("seal: the current data key: %w", err)
	}
	gcm, err := key.aead()
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	header := append([]byte{version, byte(len(key.id))}, key.id...)
	n := len(header) + nonceSize
	out := make([]byte, n, n+len(plaintext)+tagSize)
	copy(out, header)
	nonce := out[len(header):n]
	if _, err := io.ReadFull(s.Random, nonce); err != nil {
		return nil, fmt.Errorf("seal: reading random bytes: %w", err)
	}
	return gcm.Seal(out, nonce, plaintext, at.bytes(header)), nil
}

// Open decrypts what was sealed for this place. Errors: ErrFormat,
// ErrUnknownKey, ErrOpen, and what the keyring itself met.
func (s Sealer) Open(ctx context.Context, sealed []byte, at Place) ([]byte, error) {
	header, rest, err := split(sealed)
	if err != nil {
		return nil, err
	}
	key, err := s.Keys.Key(ctx, string(header[2:]))
	if err != nil {
		return nil, fmt.Errorf("seal: the value's data key: %w", err)
	}
	gcm, err := key.aead()
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	plaintext, err := gcm.Open(nil, rest[:nonceSize], rest[nonceSize:], at.bytes(header))
	if err != nil {
		return nil, ErrOpen
	}
	return plaintext, nil
}

// KeyID is the id of the key that a value was sealed with: what a change of
// keys looks for. ErrFormat for anything else.
func KeyID(sealed []byte) (string, error) {
	header, _, err := split(sealed)
	if err != nil {
		return "", err
	}
	return string(header[2:]), nil
}

// split separates version and key id from nonce and ciphertext.
func split(sealed []byte) (header, rest []byte, err error) {
	if len(sealed) < 2 || sealed[0] != version {
		return nil, nil, ErrFormat
	}
	n := 2 + int(sealed[1])
	if n == 2 || len(sealed) < n+nonceSize+tagSize {
		return nil, nil, ErrFormat
	}
	return sealed[:n], sealed[n:], nil
}
