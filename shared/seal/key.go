package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// KeySize is a key's length in bytes: AES-256.
const KeySize = 32

// MaxKeyID is the longest id a key may have, in bytes.
const MaxKeyID = 255

// Key is a data key under an id. However it is printed, it shows its id only.
// The zero Key seals nothing.
type Key struct {
	id     string
	secret func() [KeySize]byte // a function, so that no printing of a struct around it reaches the bytes
}

// NewKey makes a key of 32 random bytes; its id follows from them.
func NewKey(random io.Reader) (Key, error) {
	var secret [KeySize]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Key{}, fmt.Errorf("seal: reading random bytes: %w", err)
	}
	return KeyOf(secret), nil
}

// KeyOf is the key of these bytes, for keys that are derived or kept elsewhere.
// Its id is the first 8 bytes of a hash of them, in hex: of 256 random bits it
// tells nothing.
func KeyOf(secret [KeySize]byte) Key {
	sum := sha256.Sum256(append([]byte("warden: id of a data key\x00"), secret[:]...))
	return Key{hex.EncodeToString(sum[:8]), func() [KeySize]byte { return secret }}
}

// Named is the same key under another id, 1 to MaxKeyID bytes: the id that a
// key service gave it.
func (k Key) Named(id string) (Key, error) {
	if id == "" || len(id) > MaxKeyID {
		return Key{}, fmt.Errorf("seal: a key's id has 1 to %d bytes, not %d", MaxKeyID, len(id))
	}
	k.id = id
	return k, nil
}

// ID names the key in what it has sealed.
func (k Key) ID() string { return k.id }

// Format keeps the secret out of every verb of package fmt.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "seal.Key("+k.id+")") }

// LogValue keeps the secret out of logs.
func (k Key) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(k)) }

// MarshalText keeps the secret out of documents.
func (k Key) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(k)), nil }

func (k Key) aead() (cipher.AEAD, error) {
	if k.secret == nil {
		return nil, ErrUnknownKey
	}
	secret := k.secret()
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Keyring holds data keys. Both methods may ask a key service.
type Keyring interface {
	// Current is the key to seal with.
	Current(ctx context.Context) (Key, error)
	// Key is the key of that id, also one no longer current. ErrUnknownKey when
	// there is none.
	Key(ctx context.Context, id string) (Key, error)
}

// Ring is a keyring in memory: the first key is the current one.
type Ring []Key

var _ Keyring = Ring(nil)

// Current is the first key; ErrUnknownKey for an empty ring.
func (r Ring) Current(context.Context) (Key, error) {
	if len(r) == 0 {
		return Key{}, ErrUnknownKey
	}
	return r[0], nil
}

// Key finds a key by its id.
func (r Ring) Key(_ context.Context, id string) (Key, error) {
	for _, k := range r {
		if k.id == id {
			return k, nil
		}
	}
	return Key{}, ErrUnknownKey
}
