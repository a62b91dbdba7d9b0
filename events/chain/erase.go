package chain

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/wardenhq/warden/events"
)

// Erase is a sealed event without the named members: strings are empty, before
// and after null. Its hash stays what it is and still holds. Members that are
// not there, or were erased before, stay as they are; an event of which nothing
// is erased comes back as it was. The error wraps ErrMalformed.
func Erase(e events.Event, members ...Member) (events.Event, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	o, err := parse(text)
	if err != nil {
		return e, err
	}
	b, err := o.blinding()
	if err != nil {
		return e, err
	}
	next := events.Erasure{Erased: map[string]string{}, Keys: map[string]string{}}
	found := false
	for _, m := range erasable {
		in, name, err := o.at(m)
		if err != nil {
			return e, err
		}
		commitment, err := b.commitment(m, in[name])
		_, before := b.erased[m]
		switch {
		case err != nil:
			return e, err
		case commitment == "":
		case before:
			next.Erased[string(m)] = commitment
		case slices.Contains(members, m):
			next.Erased[string(m)] = commitment
			found = true
			clearMember(&e, m)
		default:
			key, err := b.key(m)
			if err != nil {
				return e, err
			}
			next.Keys[string(m)] = hex.EncodeToString(key)
		}
	}
	if found {
		e.Salt, e.Erasure = "", &next
	}
	return e, nil
}

func clearMember(e *events.Event, m Member) {
	switch m {
	case ActorID:
		e.Actor.ID = ""
	case OnBehalfOf:
		e.OnBehalfOf = ""
	case SourceIP:
		e.SourceIP = ""
	case TargetID:
		e.Target.ID = ""
	case Before:
		e.Before = nil
	case After:
		e.After = nil
	}
}
