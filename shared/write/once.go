package write

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/wardenhq/warden/shared/entity"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/stored"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

const (
	// onceLife is how long an Idempotency-Key stands for its first answer.
	onceLife = 24 * time.Hour
	// onceLease is how long a request may be at work before another one with its
	// key may take over. Longer than any function runs.
	onceLease = time.Minute
)

var (
	errInProgress = fault.New(fault.IdempotencyInProgress, "the first request with this Idempotency-Key is still at work")
	errReused     = fault.New(fault.IdempotencyKeyReused, "this Idempotency-Key was used for another request")
)

// Once is one request's claim on an Idempotency-Key: a record in the table that
// says it is at work. The change's own transaction replaces the record by the
// answer, conditioned on the claim; so whoever takes the claim over knows that
// the change did not happen and can't happen any more, and whoever does not find
// the claim finds the answer.
type Once struct {
	w       *Writer
	req     *Request
	key     keys.Raw
	asked   [sha256.Size]byte
	version uint64
	answer  func(Outcome) (Kept, error)
}

// Kept is an answer as its record keeps it.
type Kept struct {
	Answer []byte
	Sealed bool // Answer is encrypted under a key only the caller can derive
}

// Claim claims an Idempotency-Key for a request: id is the digest of caller,
// route and key, asked that of what is asked. When the key stands for an answer,
// that is returned and nothing is claimed. answer makes what is kept of the
// change's outcome; it is called before the change is committed.
//
// Faults: IdempotencyKeyReused when other things were asked under the key,
// IdempotencyInProgress while the first request is at work.
func (w *Writer) Claim(ctx context.Context, req *Request, id, asked [sha256.Size]byte, answer func(Outcome) (Kept, error)) (*Once, *Kept, error) {
	o := &Once{w: w, req: req, key: keys.Idempotency(id).Raw(), asked: asked, answer: answer}
	for range plans {
		claim, err := o.record(entity.Idempotency{})
		if err != nil {
			return nil, nil, err
		}
		found, err := o.put(ctx, claim)
		if err != nil {
			return nil, nil, err
		}
		if found == nil {
			o.version, req.once = claim.Version, o
			return o, nil, nil
		}
		kept, err := o.yield(found)
		if err != nil || kept != nil {
			return nil, kept, err
		}
	}
	return nil, nil, fault.BusyAfter(time.Second, errors.New("write: the claim keeps changing"))
}

// yield looks at the record that stands in the way: it is the answer, or a
// reason to wait, or may be replaced.
func (o *Once) yield(found *table.Item) (*Kept, error) {
	r, err := stored.Decode[entity.Idempotency](found)
	if err != nil {
		return nil, err
	}
	now := o.req.Time
	switch {
	case now.Unix() >= found.TTL: // over, and not removed yet
	case !bytes.Equal(r.Asked, o.asked[:]):
		return nil, errReused
	case r.Done:
		return &Kept{r.Answer, r.Sealed}, nil
	case now.Before(r.Started.Add(onceLease)):
		return nil, errInProgress
	}
	o.version = found.Version
	return nil, nil
}

// put writes the next version of the record. found is what stands there instead
// of the version that was expected; nil when the record was written.
func (o *Once) put(ctx context.Context, next *table.Item) (found *table.Item, err error) {
	err = o.w.transact(ctx, table.Tx{Ops: []table.Op{table.Put(next, table.VersionIs(o.version))}})
	var canceled *table.CanceledError
	if !errors.As(err, &canceled) {
		return nil, err
	}
	found = canceled.Reasons[0].Found
	if found == nil { // removed meanwhile: begin anew
		o.version = 0
		return o.put(ctx, next)
	}
	r, err := stored.Decode[entity.Idempotency](found)
	if err == nil && r.Holder == o.req.EventID && found.Version == next.Version {
		return nil, nil // an earlier try wrote it, and its answer was lost
	}
	return found, err
}

func (o *Once) record(content entity.Idempotency) (*table.Item, error) {
	content.Asked, content.Holder, content.Started = o.asked[:], o.req.EventID, o.req.Time
	it, err := o.req.body(o.key, "Idempotency", o.version+1, nil, content)
	if err != nil {
		return nil, err
	}
	it.LastEvent = ""
	it.TTL = o.req.Time.Add(onceLife).Unix()
	return it, nil
}

// answered is the operation that replaces the claim by the answer.
func (o *Once) answered(out Outcome) (table.Op, error) {
	kept, err := o.answer(out)
	if err != nil {
		return table.Op{}, err
	}
	it, err := o.record(entity.Idempotency{Done: true, Answer: kept.Answer, Sealed: kept.Sealed})
	return table.Put(it, table.VersionIs(o.version)), err
}

// Keep replaces the claim by the answer, for an outcome that no transaction
// stands for: nothing had to be changed, or it took several.
func (o *Once) Keep(ctx context.Context, out Outcome) error {
	op, err := o.answered(out)
	if err != nil {
		return err
	}
	found, err := o.put(ctx, op.Item)
	if err == nil && found != nil {
		err = errInProgress
	}
	return err
}

// Release gives the claim up after a refusal, so that the request can be sent
// again at once. It is no error when the claim has become the answer: then the
// change was made, although its caller was told that it may not have been.
func (o *Once) Release(ctx context.Context) error {
	err := o.w.transact(ctx, table.Tx{Ops: []table.Op{table.Delete(o.key, table.VersionIs(o.version))}})
	var canceled *table.CanceledError
	if errors.As(err, &canceled) {
		return nil
	}
	return err
}
