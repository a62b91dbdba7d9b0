package chain_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardenhq/warden/events/chain"
)

// vectorKey is the secret key of RFC 8032, section 7.1, test 1.
var vectorKey = ed25519.NewKeyFromSeed([]byte{
	0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
	0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60,
})

func public(key ed25519.PrivateKey) ed25519.PublicKey { return ed25519.PublicKey(key[32:]) }

func TestCheckpointVector(t *testing.T) {
	_, head := sealed(t, acme.Scope)
	got := chain.CheckpointOf(acme, head, "2026-01-31T11:00:00.000Z").Sign(vectorKey)
	const want = `{"org":"acme","scope":"acme-corp","count":5,"head":"7cff9679286f77d64d17289c219b79491523e086d23f8c7a70a72acd036c37a4",` +
		`"time":"2026-01-31T11:00:00.000Z","key":"21fe31dfa154a261","signature":"AEki0hv9YaE27u7FsBURpwwicyxjaHqmnHSMNQPsd031f0rxzKUI1q+x5UjGv1kOhWSPRAzEUkJ8FWlmbmOWAA=="}`
	if d := cmp.Diff(want, string(encode(t, got))); d != "" {
		t.Error(d)
	}
	var read chain.Checkpoint
	if err := json.Unmarshal([]byte(want), &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Verify(public(vectorKey)); err != nil || read.ID() != acme {
		t.Errorf("of %s: %v", read.ID(), err)
	}
}

func TestCheckpointsOfOrgsAndEmptyChains(t *testing.T) {
	c := chain.CheckpointOf(chain.ID{Org: "acme"}, chain.Head{}, "2026-01-31T11:00:00.000Z").Sign(vectorKey)
	if c.Scope != nil || c.Count != 0 || c.ID() != (chain.ID{Org: "acme"}) {
		t.Errorf("%+v", c)
	}
	if err := c.Verify(public(vectorKey)); err != nil {
		t.Error(err)
	}
}

func TestCheckpointTampering(t *testing.T) {
	_, head := sealed(t, acme.Scope)
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	for name, c := range map[string]struct {
		change func(*chain.Checkpoint)
		want   error
	}{
		"nothing":           {func(*chain.Checkpoint) {}, nil},
		"the org":           {func(c *chain.Checkpoint) { c.Org = "b" }, chain.ErrSignature},
		"the scope":         {func(c *chain.Checkpoint) { c.Scope = nil }, chain.ErrSignature},
		"the count":         {func(c *chain.Checkpoint) { c.Count-- }, chain.ErrSignature},
		"the head":          {func(c *chain.Checkpoint) { c.Head[0]++ }, chain.ErrSignature},
		"the time":          {func(c *chain.Checkpoint) { c.Time = "2026-01-31T12:00:00.000Z" }, chain.ErrSignature},
		"the signature":     {func(c *chain.Checkpoint) { c.Signature = bytes.Clone(c.Signature); c.Signature[9]++ }, chain.ErrSignature},
		"no signature":      {func(c *chain.Checkpoint) { c.Signature = nil }, chain.ErrSignature},
		"the key's id":      {func(c *chain.Checkpoint) { c.Key = chain.KeyID(public(other)) }, chain.ErrForeignKey},
		"signed by another": {func(c *chain.Checkpoint) { *c = c.Sign(other) }, chain.ErrForeignKey},
		"by another, under our id": {func(c *chain.Checkpoint) {
			c.Signature = c.Sign(other).Signature
		}, chain.ErrSignature},
	} {
		t.Run(name, func(t *testing.T) {
			checkpoint := chain.CheckpointOf(acme, head, "2026-01-31T11:00:00.000Z").Sign(vectorKey)
			c.change(&checkpoint)
			if err := checkpoint.Verify(public(vectorKey)); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}
