package chain

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Reason is what is wrong with a line.
type Reason string

// What can be wrong with a line of an export.
const (
	Malformed  Reason = "malformed"  // no event as the audit log writes them
	Changed    Reason = "changed"    // its hash is not that of its content
	Missing    Reason = "missing"    // events before it are nowhere in the export
	Swapped    Reason = "swapped"    // it stands too early or too late
	Duplicated Reason = "duplicated" // its seq stood there before
	Foreign    Reason = "foreign"    // of another chain, or it follows another event than the line before: if not it, that one was replaced
	Rewritten  Reason = "rewritten"  // a checkpoint names another hash for its seq: this event, or those before it, were written anew
	Cut        Reason = "cut"        // the export ends here, before a checkpoint's count
)

// BrokenError is the first line of an export that is not as it was written.
type BrokenError struct {
	Line   int    // from 1; of Cut, the line after the last
	Seq    uint64 // of the line; of Missing and Cut, the first event that is missing
	Reason Reason
	Detail string
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("chain: line %d: %s: seq %d: %s", e.Line, e.Reason, e.Seq, e.Detail)
}

// Expectation is what an export must be.
type Expectation struct {
	Chain       ID           // zero: that of the first line
	After       Head         // what the first line follows; zero: nothing
	Partial     bool         // what the first line follows is taken from it, as when older events are past their retention
	Checkpoints []Checkpoint // with signatures that hold; those of other chains, and from before the export, are passed over
}

// Verify reads an export of one chain, a line an event in the order of seq, and
// returns the head at its end. It holds one line at a time. The error is a
// *BrokenError, or what lines yields.
func Verify(lines iter.Seq2[[]byte, error], want Expectation) (Head, error) {
	v := verifier{
		chain: want.Chain, head: want.After, first: want.After.Seq + 1, partial: want.Partial,
		checkpoints: make(map[uint64][]*Checkpoint, len(want.Checkpoints)),
	}
	for i := range want.Checkpoints {
		c := &want.Checkpoints[i]
		v.checkpoints[c.Count] = append(v.checkpoints[c.Count], c)
	}
	for line, err := range lines {
		if err != nil {
			return v.head, err
		}
		v.line++
		if v.gap != nil {
			if v.fills(line) {
				v.gap.Reason, v.gap.Seq = Swapped, v.ahead
				v.gap.Detail = fmt.Sprintf("seq %d stands on line %d, after it", v.head.Seq+1, v.line)
				return v.head, v.gap
			}
			continue
		}
		if err := v.next(line); err != nil {
			return v.head, err
		}
	}
	if v.gap != nil {
		return v.head, v.gap
	}
	return v.head, v.end()
}

type verifier struct {
	chain   ID
	head    Head
	first   uint64 // seq of the first line
	partial bool   // until the first line told what it follows
	line    int

	checkpoints map[uint64][]*Checkpoint // by count

	// Once a seq is ahead of its turn, the rest is searched for the one whose
	// turn it was: that tells a swapped line from a missing one.
	gap   *BrokenError
	ahead uint64
}

// link is what of a line ties it to its chain.
type link struct {
	chain          ID
	seq            uint64
	previous, hash Hash
}

func (v *verifier) next(line []byte) error {
	o, err := parse(line)
	if err != nil {
		return v.broken(Malformed, 0, err.Error())
	}
	l, err := o.link()
	if err != nil {
		return v.broken(Malformed, l.seq, err.Error())
	}
	if v.chain == (ID{}) {
		v.chain = l.chain
	}
	if l.chain != v.chain {
		return v.broken(Foreign, l.seq, fmt.Sprintf("it is of %s, not of %s", l.chain, v.chain))
	}
	hash, err := o.hash()
	switch {
	case err != nil:
		return v.broken(Malformed, l.seq, err.Error())
	case hash != l.hash:
		return v.broken(Changed, l.seq, "its hash is not that of its content")
	}
	if v.partial {
		v.partial, v.first, v.head = false, l.seq, Head{l.seq - 1, l.previous}
		if err := v.against(); err != nil {
			return err
		}
	}
	return v.follow(l)
}

// follow tests a line, whole in itself, against what came before.
func (v *verifier) follow(l link) error {
	turn := v.head.Seq + 1
	switch {
	case l.seq < v.first:
		return v.broken(Swapped, l.seq, fmt.Sprintf("the export begins with seq %d", v.first))
	case l.seq < turn && l.hash != v.head.Hash && l.seq == v.head.Seq:
		return v.broken(Foreign, l.seq, "another event of this seq stands before it")
	case l.seq < turn:
		return v.broken(Duplicated, l.seq, "its seq stood there before")
	case l.seq > turn:
		v.ahead = l.seq
		v.gap = &BrokenError{v.line, turn, Missing, fmt.Sprintf("the line has seq %d", l.seq)}
		return nil
	case l.previous != v.head.Hash:
		return v.broken(Foreign, l.seq, "its previous_hash is not the hash of the event before: that one was replaced, or this one is of another chain")
	}
	v.head = Head{l.seq, l.hash}
	return v.against()
}

// fills says whether a line has the seq whose turn it was.
func (v *verifier) fills(line []byte) bool {
	o, err := parse(line)
	if err != nil {
		return false
	}
	l, err := o.link()
	return err == nil && l.chain == v.chain && l.seq == v.head.Seq+1
}

// against tests the head against the checkpoints of its count.
func (v *verifier) against() error {
	for _, c := range v.checkpoints[v.head.Seq] {
		if c.Head != v.head.Hash && c.ID() == v.chain {
			return v.broken(Rewritten, c.Count, "the checkpoint of "+c.Time+" has another hash for it")
		}
	}
	return nil
}

func (v *verifier) end() error {
	for _, count := range slices.Sorted(maps.Keys(v.checkpoints)) {
		for _, c := range v.checkpoints[count] {
			if count > v.head.Seq && (c.ID() == v.chain || v.chain == (ID{})) {
				return &BrokenError{v.line + 1, v.head.Seq + 1, Cut, fmt.Sprintf("the checkpoint of %s counts %d", c.Time, count)}
			}
		}
	}
	return nil
}

func (v *verifier) broken(reason Reason, seq uint64, detail string) error {
	return &BrokenError{v.line, seq, reason, detail}
}

func (o object) link() (l link, err error) {
	seq, ok := o["seq"].(float64)
	if !ok || seq < 1 || seq != float64(uint64(seq)) {
		return l, malformed("seq is no integer from 1 on")
	}
	l.seq = uint64(seq)
	if l.chain.Org, err = o.text("org"); err != nil {
		return l, err
	}
	if o["scope"] != nil {
		if l.chain.Scope, err = o.text("scope"); err != nil {
			return l, err
		}
	}
	if err := o.hashMember("previous_hash", &l.previous); err != nil {
		return l, err
	}
	return l, o.hashMember("hash", &l.hash)
}

func (o object) hashMember(name string, to *Hash) error {
	text, err := o.text(name)
	if err != nil {
		return err
	}
	if err := to.UnmarshalText([]byte(text)); err != nil {
		return malformed("%s: %w", name, err)
	}
	return nil
}
