package trail

import (
	"bufio"
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/wardenhq/warden/events/chain"
)

// maxLine is the longest line that is read, in bytes: far beyond an event's.
const maxLine = 1 << 20

// Chain is one chain of an export that is whole.
type Chain struct {
	ID          chain.ID
	First, Last uint64 // seqs; First is above 1 where older events are past their retention
	Head        chain.Hash
	Proven      uint64 // the highest seq that a checkpoint vouches for; 0: none does
}

// BrokenError is the first line of an export that is not as it was written.
type BrokenError struct {
	Chain chain.ID
	chain.BrokenError
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("line %d: %s: seq %d of %s: %s", e.Line, e.Reason, e.Seq, e.Chain, e.Detail)
}

// Unwrap is the chain's own error.
func (e *BrokenError) Unwrap() error { return &e.BrokenError }

// CheckpointError is a checkpoint that can't be relied on.
type CheckpointError struct {
	Checkpoint chain.Checkpoint
	cause      error
}

func (e *CheckpointError) Error() string {
	return fmt.Sprintf("the checkpoint of %s of %s, key %s: %s", e.Checkpoint.ID(), e.Checkpoint.Time, e.Checkpoint.Key, e.cause)
}

// Unwrap is what is wrong with it.
func (e *CheckpointError) Unwrap() error { return e.cause }

// Verify reads an export, chain by chain, holding one line of each at a time, and
// says which chains it is made of. pinned is the key that signs checkpoints; nil
// takes those that the record names. Errors: *BrokenError, *CheckpointError, and
// those of reading.
func Verify(export io.Reader, r Record, pinned ed25519.PublicKey) ([]Chain, error) {
	if err := r.verify(pinned); err != nil {
		return nil, err
	}
	d := demultiplexer{record: r, chains: make(map[chain.ID]*follower)}
	broken, err := d.read(export)
	return d.end(broken, err)
}

// verify tests all signatures.
func (r *Record) verify(pinned ed25519.PublicKey) error {
	known := map[string]ed25519.PublicKey{}
	if pinned != nil {
		known[chain.KeyID(pinned)] = pinned
	} else {
		for _, k := range r.Keys {
			public, err := ParseKey(k.PublicKey)
			if err != nil {
				return fmt.Errorf("key %s: %w", k.ID, err)
			}
			known[chain.KeyID(public)] = public
		}
	}
	for i := range r.Checkpoints {
		c := &r.Checkpoints[i]
		public, ok := known[c.Key]
		if !ok {
			return &CheckpointError{*c, chain.ErrForeignKey}
		}
		if err := c.Verify(public); err != nil {
			return &CheckpointError{*c, err}
		}
	}
	return nil
}

// demultiplexer hands each line to whoever follows its chain.
type demultiplexer struct {
	record Record
	chains map[chain.ID]*follower
	order  []chain.ID
	org    string // that all lines are of
	line   int
}

// follower verifies one chain while the export is read.
type follower struct {
	id     chain.ID
	lines  chan []byte
	at     []uint32 // the numbers of its lines in the export
	first  uint64
	result chan outcome
}

type outcome struct {
	head chain.Head
	err  error
}

// place is what of a line says where it belongs.
type place struct {
	Org   string  `json:"org"`
	Scope *string `json:"scope"`
	Seq   uint64  `json:"seq"`
}

// read hands on lines until the first one that stops a chain, or is of none.
func (d *demultiplexer) read(export io.Reader) (broken *BrokenError, err error) {
	lines := bufio.NewScanner(export)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		d.line++
		text := slices.Clone(lines.Bytes())
		var p place
		if err := json.Unmarshal(text, &p); err != nil || p.Org == "" {
			return d.stop(chain.ID{}, 0, chain.Malformed, "no event"), nil
		}
		id := chain.ID{Org: p.Org}
		if p.Scope != nil {
			id.Scope = *p.Scope
		}
		if d.org == "" {
			d.org = p.Org
		}
		l := d.record.Log
		if id.Org != d.org || l.Org != "" && id.Org != l.Org || l.Scope != "" && id.Scope != l.Scope {
			return d.stop(id, p.Seq, chain.Foreign, "it is of another log"), nil
		}
		if !d.follow(id, p.Seq, text) {
			return nil, nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		d.line++
		return d.stop(chain.ID{}, 0, chain.Malformed, "longer than any event"), nil
	}
	return nil, lines.Err()
}

func (d *demultiplexer) stop(id chain.ID, seq uint64, reason chain.Reason, detail string) *BrokenError {
	return &BrokenError{id, chain.BrokenError{Line: d.line, Seq: seq, Reason: reason, Detail: detail}}
}

// follow hands a line to its chain; false when the chain has stopped before.
func (d *demultiplexer) follow(id chain.ID, seq uint64, text []byte) bool {
	f := d.chains[id]
	if f == nil {
		f = &follower{id: id, lines: make(chan []byte), result: make(chan outcome, 1), first: seq}
		d.chains[id] = f
		d.order = append(d.order, id)
		go f.run(d.record.Checkpoints)
	}
	f.at = append(f.at, uint32(d.line))
	select {
	case f.lines <- text:
		return true
	case o := <-f.result:
		f.result <- o
		return false
	}
}

func (f *follower) run(checkpoints []chain.Checkpoint) {
	head, err := chain.Verify(f.each(), chain.Expectation{Chain: f.id, Partial: true, Checkpoints: checkpoints})
	f.result <- outcome{head, err}
}

func (f *follower) each() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line := range f.lines {
			if !yield(line, nil) {
				return
			}
		}
	}
}

// end closes all chains and finds the first line that is broken.
func (d *demultiplexer) end(broken *BrokenError, err error) ([]Chain, error) {
	whole := broken == nil && err == nil
	var found []*BrokenError
	if broken != nil {
		found = append(found, broken)
	}
	var chains []Chain
	var cut []*BrokenError
	for _, id := range d.order {
		f := d.chains[id]
		close(f.lines)
		o := <-f.result
		var b *chain.BrokenError
		switch {
		case o.err == nil:
			chains = append(chains, Chain{id, f.first, o.head.Seq, o.head.Hash, d.record.proven(id, o.head.Seq)})
		case !errors.As(o.err, &b):
			err = errors.Join(err, o.err)
		case b.Reason == chain.Cut:
			cut = append(cut, &BrokenError{id, chain.BrokenError{Line: d.line + 1, Seq: b.Seq, Reason: b.Reason, Detail: b.Detail}})
		default:
			found = append(found, &BrokenError{id, chain.BrokenError{Line: int(f.at[b.Line-1]), Seq: b.Seq, Reason: b.Reason, Detail: b.Detail}})
		}
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && whole {
		found = append(cut, d.absent()...) // of an export that was not read to its end, every chain is cut
	}
	if len(found) > 0 {
		return nil, slices.MinFunc(found, func(a, b *BrokenError) int { return cmp.Compare(a.Line, b.Line) })
	}
	return chains, nil
}

// absent are chains of which there are checkpoints and not one line.
func (d *demultiplexer) absent() (found []*BrokenError) {
	for _, c := range d.record.Checkpoints {
		if d.chains[c.ID()] == nil && c.Count > 0 {
			found = append(found, &BrokenError{c.ID(), chain.BrokenError{
				Line: d.line + 1, Seq: 1, Reason: chain.Cut, Detail: fmt.Sprintf("the checkpoint of %s counts %d", c.Time, c.Count),
			}})
		}
	}
	return found
}

// proven is the highest count of a chain's checkpoints up to a seq.
func (r *Record) proven(id chain.ID, last uint64) (seq uint64) {
	for i := range r.Checkpoints {
		if c := &r.Checkpoints[i]; c.ID() == id && c.Count <= last {
			seq = max(seq, c.Count)
		}
	}
	return seq
}
