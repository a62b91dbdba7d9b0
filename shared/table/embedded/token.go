package embedded

import (
	"bytes"

	"github.com/wardenhq/warden/shared/table"
)

// recalled is what is known of a request's token.
type recalled uint8

const (
	tokenUnknown recalled = iota
	tokenSame             // it stands for the same transaction
	tokenOther            // it stands for another one
)

func (c *commit) recall(r *request) recalled {
	v := c.tokens.Get([]byte(r.tx.Token))
	switch {
	case v == nil || numberOf(v) <= uint64(c.now.UnixNano()):
		return tokenUnknown
	case bytes.Equal(v[numberSize:], r.digest[:]):
		return tokenSame
	}
	return tokenOther
}

// remember keeps a committed request's token for as long as it lives.
func (c *commit) remember(r *request) error {
	c.dirty = true
	c.kept++
	expiry := encodeNumber(uint64(c.now.Add(table.TokenLifetime).UnixNano()))
	token := []byte(r.tx.Token)
	if err := c.expiry.Put(append(bytes.Clone(expiry), token...), nil); err != nil {
		return err
	}
	return c.tokens.Put(token, append(expiry, r.digest[:]...))
}
