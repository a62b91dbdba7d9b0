package admin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/wardenhq/warden/shared/fault"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/write"
)

// change is a request for a change, and what is answered to its outcome. The
// answer depends on nothing else: it is stored before the change is committed.
type change[T any] struct {
	make   func(*write.Request) (write.Outcome, error)
	answer func(write.Outcome) (httpapi.Reply[T], error)
}

// create carries out a POST that honours Idempotency-Key: under the same key the
// change is made once, and its answer given again.
func create[T any](ctx context.Context, a *api, c *httpapi.Call, do change[T]) (httpapi.Reply[T], error) {
	none := httpapi.Reply[T]{}
	req := a.request(c)
	claim, stored, err := keyed(ctx, a, c, req, do.answer)
	if err != nil {
		return none, err
	}
	if stored != nil {
		return httpapi.Again[T](*stored), nil
	}
	out, err := do.make(req)
	if err != nil {
		return none, errors.Join(err, release(ctx, claim))
	}
	reply, err := do.answer(out)
	if err == nil && claim != nil && out.Unchanged {
		err = claim.Keep(ctx, out)
	}
	return reply, err
}

// keyed claims the call's Idempotency-Key for the request. All is nil without a
// key; stored is the answer that the key stands for already.
func keyed[T any](ctx context.Context, a *api, c *httpapi.Call, req *write.Request, answer func(write.Outcome) (httpapi.Reply[T], error)) (claim *write.Once, stored *httpapi.Answer, err error) {
	key, asked, ok := c.Idempotency()
	if !ok {
		return nil, nil, nil
	}
	id := claimID(c, key)
	claim, kept, err := a.writer.Claim(ctx, req, id, asked, func(out write.Outcome) (write.Kept, error) {
		reply, err := answer(out)
		if err != nil {
			return write.Kept{}, err
		}
		encoded, err := reply.Encode(c.Route())
		if err != nil {
			return write.Kept{}, err
		}
		return keep(c, id, encoded)
	})
	if err != nil || kept == nil {
		return claim, nil, err
	}
	stored, err = open(c, id, kept)
	return nil, stored, err
}

// releaseTime bounds giving a claim up after the request itself has ended.
const releaseTime = 5 * time.Second

// release gives up a claim whose change was refused or failed: no answer of
// failure is kept, and the caller can send the request again at once.
func release(ctx context.Context, claim *write.Once) error {
	if claim == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return claim.Release(ctx)
}

// claimID is what an Idempotency-Key is unique for: caller, route, and the ids in
// the path.
func claimID(c *httpapi.Call, key string) [sha256.Size]byte {
	p := caller(c)
	parts := []string{p.Actor().Type, p.Org().String(), p.ID(), c.Route().Method, c.Route().Pattern, key}
	for _, name := range c.Route().PathParams() {
		parts = append(parts, c.Param(name))
	}
	h := sha256.New()
	for _, s := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// keep is an answer in the form that is stored: one that shows a secret is
// sealed for those who have the caller's key and the Idempotency-Key.
func keep(c *httpapi.Call, id [sha256.Size]byte, answer httpapi.Answer) (write.Kept, error) {
	plain, err := json.Marshal(answer)
	if err != nil || !c.Route().ShowsSecret {
		return write.Kept{Answer: plain}, err
	}
	aead, err := sealer(c)
	if err != nil {
		return write.Kept{}, err
	}
	return write.Kept{Answer: aead.Seal(nil, nil, plain, id[:]), Sealed: true}, nil //nolint:gosec // the AEAD makes a random nonce itself, and takes none
}

var errSealed = fault.New(fault.IdempotencyKeyReused, "the answer shows a secret and can be given again only to the API key's secret that asked first")

func open(c *httpapi.Call, id [sha256.Size]byte, kept *write.Kept) (*httpapi.Answer, error) {
	plain := kept.Answer
	if kept.Sealed {
		aead, err := sealer(c)
		if err != nil {
			return nil, err
		}
		if plain, err = aead.Open(nil, nil, plain, id[:]); err != nil {
			return nil, errSealed
		}
	}
	answer := new(httpapi.Answer)
	return answer, json.Unmarshal(plain, answer)
}

// sealer is AES-256-GCM, with random nonces, under the key that only the caller
// can derive again.
func sealer(c *httpapi.Call) (cipher.AEAD, error) {
	key, _ := c.SealingKey()
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
