package webhook

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// The lengths of a secret's key in bytes, by Standard Webhooks ("Signature
// scheme"): a shorter one that its owner chose could be found from one signature.
const (
	MinSecret       = 24
	MaxSecret       = 64
	GeneratedSecret = 32
)

const secretPrefix = "whsec_"

// ErrBadSecret is the error of a text that is no secret; it does not repeat the text.
var ErrBadSecret = errors.New("webhook: a secret is whsec_ and the base64 of 24 to 64 bytes")

// Secret is a signing key that one endpoint and Warden share. However it is
// printed, it does not show; Reveal shows it. The zero Secret signs nothing.
type Secret struct {
	key func() []byte // a function, so that no printing of a struct around it reaches the bytes
}

// NewSecret makes a secret of 32 random bytes.
func NewSecret(random io.Reader) (Secret, error) {
	key := make([]byte, GeneratedSecret)
	if _, err := io.ReadFull(random, key); err != nil {
		return Secret{}, fmt.Errorf("webhook: reading random bytes: %w", err)
	}
	return secretOf(key), nil
}

// ParseSecret reads a secret. As in the reference libraries, prefix and padding
// may be missing. The error is ErrBadSecret.
func ParseSecret(text string) (Secret, error) {
	text = strings.TrimRight(strings.TrimPrefix(text, secretPrefix), "=")
	key, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") || len(key) < MinSecret || len(key) > MaxSecret {
		return Secret{}, ErrBadSecret
	}
	return secretOf(key), nil
}

func secretOf(key []byte) Secret { return Secret{func() []byte { return key }} }

// Reveal is the secret's text, for its owner's eyes and for sealing.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(s.key())
}

const redacted = "webhook.Secret(redacted)"

// Format keeps the secret out of every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue keeps the secret out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps the secret out of documents.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
