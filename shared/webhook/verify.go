package webhook

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DefaultTolerance is how far a timestamp may be from the receiver's clock,
// either way, in the reference libraries.
const DefaultTolerance = 5 * time.Minute

// maxEntries bounds the work that a header can ask for.
const maxEntries = 32

// Errors of verifying.
var (
	// ErrHeaders: one of the three headers is missing, doubled or malformed.
	ErrHeaders = errors.New("webhook: a header is missing, doubled or malformed")
	// ErrTooOld: the attempt was made longer ago than the tolerance.
	ErrTooOld = errors.New("webhook: the timestamp is too old")
	// ErrTooNew: the attempt's time is further ahead than the tolerance.
	ErrTooNew = errors.New("webhook: the timestamp is in the future")
	// ErrSignature: no entry is a signature by one of the secrets.
	ErrSignature = errors.New("webhook: no signature fits")
)

// Verifier is the receiver's side. A receiver also keeps the ids it has seen for
// twice the tolerance, so that nothing can be played to it again.
type Verifier struct {
	Secrets   []Secret
	Tolerance time.Duration // either way; DefaultTolerance fits most
	Now       func() time.Time
}

// Verify tests a delivery's headers and its body as it was received, never as it
// was parsed and written again. Signatures of other versions are passed over.
// Errors: ErrHeaders, ErrTooOld, ErrTooNew, ErrSignature.
func (v Verifier) Verify(headers http.Header, body []byte) error {
	id, ok1 := single(headers, HeaderID)
	timestamp, ok2 := single(headers, HeaderTimestamp)
	signature, ok3 := single(headers, HeaderSignature)
	if !ok1 || !ok2 || !ok3 || !validID(id) {
		return ErrHeaders
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || seconds < 0 || strconv.FormatInt(seconds, 10) != timestamp {
		return ErrHeaders
	}
	now := v.Now()
	switch {
	case seconds < now.Add(-v.Tolerance).Unix():
		return ErrTooOld
	case seconds > now.Add(v.Tolerance).Unix():
		return ErrTooNew
	}
	entries := strings.Split(signature, " ")
	if len(entries) > maxEntries {
		return ErrHeaders
	}
	for _, s := range v.Secrets {
		if s.key == nil {
			continue
		}
		want := s.mac(id, timestamp, body)
		for _, entry := range entries {
			version, text, _ := strings.Cut(entry, ",")
			got, err := base64.StdEncoding.DecodeString(text)
			if err == nil && version == signatureVersion && hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return ErrSignature
}

func single(h http.Header, name string) (string, bool) {
	values := h.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}
