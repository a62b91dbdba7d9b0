package chain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wardenhq/warden/events/jcs"
)

// ErrMalformed is wrapped by the errors of an event that no hash can be computed
// of: it is not as the audit log writes events.
var ErrMalformed = errors.New("chain: malformed event")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// Member names a member of an event that can be personal data, by its path.
type Member string

// The members that can be erased: all ids of people, addresses, and what the
// resources say.
const (
	ActorID    Member = "actor.id"
	OnBehalfOf Member = "on_behalf_of"
	SourceIP   Member = "source_ip"
	TargetID   Member = "target.id"
	Before     Member = "before"
	After      Member = "after"
)

var erasable = []Member{ActorID, OnBehalfOf, SourceIP, TargetID, Before, After}

// object is an event's JSON, with members that are not known here too.
type object map[string]any

func parse(text []byte) (object, error) {
	v, err := jcs.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, malformed("not an object")
	}
	return o, nil
}

// at is the object that holds a member, and its name there.
func (o object) at(m Member) (object, string, error) {
	outer, name, nested := strings.Cut(string(m), ".")
	if !nested {
		return o, outer, nil
	}
	inner, ok := o[outer].(map[string]any)
	if !ok {
		return nil, "", malformed("%s is no object", outer)
	}
	return inner, name, nil
}

// text is a member that must be a string.
func (o object) text(name string) (string, error) {
	s, ok := o[name].(string)
	if !ok {
		return "", malformed("%s is no string", name)
	}
	return s, nil
}

// hash changes the object into what is hashed.
func (o object) hash() (Hash, error) {
	b, err := o.blinding()
	if err != nil {
		return Hash{}, err
	}
	for _, m := range erasable {
		in, name, err := o.at(m)
		if err != nil {
			return Hash{}, err
		}
		commitment, err := b.commitment(m, in[name])
		if err != nil {
			return Hash{}, err
		}
		if commitment != "" {
			in[name] = map[string]any{"commitment": commitment}
		}
	}
	delete(o, "hash")
	delete(o, "salt")
	delete(o, "erasure")
	return sha256.Sum256(jcs.Append(nil, map[string]any(o))), nil
}

// blinding is what an event has to compute its commitments with.
type blinding struct {
	salt   []byte            // nil once something was erased
	keys   map[Member][]byte // then: of the members that stay
	erased map[Member]string // commitments of those that don't
}

func (o object) blinding() (b blinding, err error) {
	erasure, erased := o["erasure"]
	if _, salted := o["salt"]; salted == erased {
		return b, malformed("it must have either a salt or an erasure")
	}
	if !erased {
		text, err := o.text("salt")
		if err != nil {
			return b, err
		}
		b.salt, err = unhex(text, len(Salt{}))
		return b, err
	}
	members, ok := erasure.(map[string]any)
	if !ok || len(members) != 2 {
		return b, malformed("erasure must have erased and keys, and nothing else")
	}
	commitments, err := digests(members["erased"])
	if err != nil {
		return b, err
	}
	b.erased = make(map[Member]string, len(commitments))
	for m, c := range commitments {
		b.erased[m] = hex.EncodeToString(c)
	}
	if b.keys, err = digests(members["keys"]); err != nil {
		return b, err
	}
	for m := range b.keys {
		in, name, err := o.at(m)
		if _, gone := b.erased[m]; err != nil || gone || in[name] == nil {
			return b, malformed("erasure has a key of %s, which is not there", m)
		}
	}
	return b, nil
}

// digests reads a map of erasable members to 32 bytes each in hex.
func digests(v any) (map[Member][]byte, error) {
	members, ok := v.(map[string]any)
	if !ok {
		return nil, malformed("erasure must have erased and keys, and nothing else")
	}
	out := make(map[Member][]byte, len(members))
	for name, v := range members {
		text, ok := v.(string)
		if !ok || !slices.Contains(erasable, Member(name)) {
			return nil, malformed("erasure of %s is no string, or it can't be erased", name)
		}
		var err error
		if out[Member(name)], err = unhex(text, sha256.Size); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func unhex(text string, size int) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != size || hex.EncodeToString(b) != text {
		return nil, malformed("%.70q is not %d lower-case hex digits", text, hex.EncodedLen(size))
	}
	return b, nil
}

// commitment stands for a member in what is hashed; none for one that is absent
// or null. A member that was erased must show nothing.
func (b blinding) commitment(m Member, value any) (string, error) {
	if c, ok := b.erased[m]; ok {
		if value != nil && value != "" {
			return "", malformed("%s was erased, and is there", m)
		}
		return c, nil
	}
	if value == nil {
		return "", nil
	}
	key, err := b.key(m)
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(mac(key, jcs.Append(nil, value))), nil
}

func (b blinding) key(m Member) ([]byte, error) {
	if b.salt != nil {
		return mac(b.salt, []byte(m)), nil
	}
	key, ok := b.keys[m]
	if !ok {
		return nil, malformed("erasure has no key of %s", m)
	}
	return key, nil
}
