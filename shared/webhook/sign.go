// Package webhook is what webhooks are made of, without sending any: signatures
// by the Standard Webhooks specification 1.0.0, bodies, event filters, and what
// follows from an attempt: retry, failure, disabling. Nothing here reads a
// clock, draws a random number or opens a connection; all of that is given.
//
// Bodies are bytes everywhere. What is signed is what is stored and what is
// sent, so no value is ever serialised twice.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

const signatureVersion = "v1"

// Errors of signing.
var (
	// ErrNoSecret: there is nothing to sign with.
	ErrNoSecret = errors.New("webhook: no secret to sign with")
	// ErrBadID: an id that would make the signed content ambiguous, or no header.
	ErrBadID = errors.New("webhook: an id is 1 to 256 printable ASCII characters without a full stop")
)

// Headers are the values of a delivery's three headers.
type Headers struct {
	ID        string // the event's, the same on every attempt
	Timestamp string // of this attempt, in Unix seconds
	Signature string // one entry for each secret, separated by spaces
}

// Set puts the three headers, replacing what stands there.
func (h Headers) Set(in http.Header) {
	in.Set(HeaderID, h.ID)
	in.Set(HeaderTimestamp, h.Timestamp)
	in.Set(HeaderSignature, h.Signature)
}

// Sign signs one attempt: at is the attempt's time, not the event's. While a
// secret is being replaced both are given, the new one first, and the receiver
// may hold either. Errors: ErrNoSecret, ErrBadID.
func Sign(secrets []Secret, id string, at time.Time, body []byte) (Headers, error) {
	if !validID(id) {
		return Headers{}, ErrBadID
	}
	timestamp := strconv.FormatInt(at.Unix(), 10)
	var entries []string
	for _, s := range secrets {
		if s.key == nil {
			return Headers{}, ErrNoSecret
		}
		entry := signatureVersion + "," + base64.StdEncoding.EncodeToString(s.mac(id, timestamp, body))
		if !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	if len(entries) == 0 {
		return Headers{}, ErrNoSecret
	}
	return Headers{id, timestamp, strings.Join(entries, " ")}, nil
}

// mac is HMAC-SHA256 over id, timestamp and body, separated by full stops.
func (s Secret) mac(id, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, s.key())
	h.Write([]byte(id + "." + timestamp + "."))
	h.Write(body)
	return h.Sum(nil)
}

func validID(id string) bool {
	if id == "" || len(id) > 256 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; c <= ' ' || c > '~' || c == '.' {
			return false
		}
	}
	return true
}
