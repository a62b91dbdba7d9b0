package events

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// MaxShown is how many bytes of JSON before and after may each have in an event.
const MaxShown = 16 << 10

// Truncation says how a before or after was shortened, as its member `truncated`.
type Truncation string

// The ways in which a resource is shortened.
const (
	// TruncatedDiff: only what differs is shown, and the members that name the
	// resource: of lists the elements that the other side lacks, in their order.
	TruncatedDiff Truncation = "diff"
	// TruncatedHash: only the size and SHA-256 of the whole, and where the
	// resource is.
	TruncatedHash Truncation = "hash"
)

// digest stands for a resource that is too large for an event.
type digest struct {
	Truncated Truncation `json:"truncated"`
	SHA256    string     `json:"sha256"`
	Bytes     int        `json:"bytes"`
	Link      string     `json:"link"`
}

// naming are the members that a diff keeps, so that it says of what it is.
var naming = []string{"id", "subject", "version"}

// Fit is before and after as an event may show them: as they are, up to
// MaxShown bytes each; else both as what differs between them; and one that is
// still too large as its hash and the link to the resource. Nil stays nil.
func Fit(before, after json.RawMessage, link string) (b, a json.RawMessage, err error) {
	if fits(before) && fits(after) {
		return before, after, nil
	}
	b, a = before, after
	if before != nil && after != nil {
		if b, a, err = diff(before, after); err != nil {
			return nil, nil, err
		}
	}
	if b, err = hashed(before, b, link); err != nil {
		return nil, nil, err
	}
	a, err = hashed(after, a, link)
	return b, a, err
}

func fits(shown json.RawMessage) bool { return len(shown) <= MaxShown }

func hashed(whole, shown json.RawMessage, link string) (json.RawMessage, error) {
	if fits(shown) {
		return shown, nil
	}
	sum := sha256.Sum256(whole)
	return json.Marshal(digest{TruncatedHash, hex.EncodeToString(sum[:]), len(whole), link})
}

// diff reduces both sides to what differs.
func diff(before, after json.RawMessage) (b, a json.RawMessage, err error) {
	var old, now map[string]json.RawMessage
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(after, &now); err != nil {
		return nil, nil, err
	}
	if b, err = differing(old, now); err != nil {
		return nil, nil, err
	}
	a, err = differing(now, old)
	return b, a, err
}

// differing is the members of one side that the other has not, or has differently.
func differing(of, from map[string]json.RawMessage) (json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(of))
	for name, value := range of {
		other, ok := from[name]
		if !ok || string(other) != string(value) {
			out[name] = lacking(value, other)
		}
	}
	for _, name := range naming {
		if value, ok := of[name]; ok {
			out[name] = value
		}
	}
	out["truncated"] = json.RawMessage(`"` + TruncatedDiff + `"`)
	return json.Marshal(out)
}

// lacking is those elements of a list that the other lacks; of anything else,
// all of it.
func lacking(value, other json.RawMessage) json.RawMessage {
	var list, others []json.RawMessage
	if json.Unmarshal(value, &list) != nil || json.Unmarshal(other, &others) != nil {
		return value
	}
	have := make(map[string]bool, len(others))
	for _, e := range others {
		have[string(e)] = true
	}
	kept := make([]json.RawMessage, 0, len(list))
	for _, e := range list {
		if !have[string(e)] {
			kept = append(kept, e)
		}
	}
	short, err := json.Marshal(kept)
	if err != nil {
		return value
	}
	return short
}
