package audit

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/wardenhq/warden/events/chain"
	trail "github.com/wardenhq/warden/shared/audit"
	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
)

// maxProof is how many events one proof is of.
const maxProof = 1000

const (
	paramFromSeq = "from_seq"
	paramToSeq   = "to_seq"
)

var proofParams = []httpapi.QueryParam{
	{Name: paramFromSeq, Required: true, Doc: "seq of the first event, from 1"},
	{Name: paramToSeq, Required: true, Doc: "seq of the last event; at most 1,000 events in all"},
}

// Proof is what a range of events is held against: their hashes as the chain has
// them, and checkpoints. The hash of an event covers the one before, so the
// newest checkpoint that counts no more than ToSeq proves all events up to it.
type Proof struct {
	Org         string             `json:"org"`
	Scope       *string            `json:"scope"` // null: the org's own chain
	FromSeq     uint64             `json:"from_seq"`
	ToSeq       uint64             `json:"to_seq"`
	Hashes      []SeqHash          `json:"hashes"`      // of those that are kept, by seq
	Checkpoints []chain.Checkpoint `json:"checkpoints"` // the newest before the end, the oldest after it, the newest of all
	Keys        []Key              `json:"keys"`        // that sign checkpoints
}

// SeqHash is one event's place in the chain.
type SeqHash struct {
	Seq          uint64 `json:"seq"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
}

// Key is a public Ed25519 key.
type Key struct {
	ID        string `json:"id"`
	PublicKey string `json:"public_key"` // 32 bytes in base64
}

func (a *Audit) orgChainOf(ctx context.Context, c *httpapi.Call) (trail.ID, error) {
	org, _, err := a.orgOf(ctx, c)
	return trail.ID{Org: org.ID}, err
}

func (a *Audit) proof(of func(context.Context, *httpapi.Call) (trail.ID, error)) func(context.Context, *httpapi.Call, httpapi.None) (httpapi.Reply[Proof], error) {
	return func(ctx context.Context, c *httpapi.Call, _ httpapi.None) (httpapi.Reply[Proof], error) {
		id, err := of(ctx, c)
		if err != nil {
			return httpapi.Reply[Proof]{}, err
		}
		p, err := readRange(c)
		if err != nil {
			return httpapi.Reply[Proof]{}, err
		}
		p.Org = id.Org.String()
		if !id.Scope.IsZero() {
			p.Scope = new(id.Scope.String())
		}
		public := a.publicKey()
		p.Keys = []Key{{chain.KeyID(public), base64.StdEncoding.EncodeToString(public)}}
		if p.Hashes, err = a.hashes(ctx, id, p.FromSeq, p.ToSeq); err != nil {
			return httpapi.Reply[Proof]{}, err
		}
		if p.Checkpoints, err = a.Log.Checkpoints(ctx, id, p.ToSeq); err != nil {
			return httpapi.Reply[Proof]{}, err
		}
		if p.Checkpoints == nil {
			p.Checkpoints = []chain.Checkpoint{}
		}
		return httpapi.Reply[Proof]{Body: p}, nil
	}
}

func readRange(c *httpapi.Call) (p Proof, err error) {
	if p.FromSeq, err = readSeq(c, paramFromSeq); err != nil {
		return p, err
	}
	if p.ToSeq, err = readSeq(c, paramToSeq); err != nil {
		return p, err
	}
	switch {
	case p.ToSeq < p.FromSeq:
		return p, fault.InField(fault.Invalid, paramToSeq, "must not be before from_seq")
	case p.ToSeq-p.FromSeq >= maxProof:
		return p, fault.InField(fault.LimitExceeded, paramToSeq, "a proof is of at most %d events", maxProof)
	}
	return p, nil
}

func readSeq(c *httpapi.Call, name string) (uint64, error) {
	text, _ := c.Query(name)
	seq, err := strconv.ParseUint(text, 10, 53)
	if err != nil || seq == 0 {
		return 0, fault.InField(fault.Invalid, name, "must be a whole number from 1 on")
	}
	return seq, nil
}

func (a *Audit) hashes(ctx context.Context, id trail.ID, from, to uint64) ([]SeqHash, error) {
	w := trail.Window{From: strconv.FormatUint(from, 10), To: strconv.FormatUint(to, 10)}
	reading, err := a.Log.Chain(id, w, trail.How{Ascending: true, Page: maxProof, Queries: maxProof})
	if err != nil {
		return nil, err
	}
	found := []SeqHash{}
	for {
		rec, ok, err := reading.Next(ctx)
		if err != nil || !ok {
			return found, err
		}
		found = append(found, SeqHash{rec.Event.Seq, rec.Event.PreviousHash, rec.Event.Hash})
	}
}
