package embedded

import (
	"time"
)

// tidyFloor and what a commit added, twice, is how much of each kind the commit
// also removes at most: so removal keeps up, and no commit waits long for it.
const tidyFloor = 64

// tidy removes what has had its time, a bounded piece of it: tokens, items past
// their TTL, changes past the feed's retention.
func (c *commit) tidy(retention time.Duration) error {
	limit := tidyFloor + 2*(c.changes+c.kept)
	if err := c.forgetTokens(limit); err != nil {
		return err
	}
	if err := c.removeExpired(limit); err != nil {
		return err
	}
	return c.trimFeed(c.now.Add(-retention), limit)
}

func (c *commit) forgetTokens(limit int) error {
	for _, entry := range before(c.expiry, uint64(c.now.UnixNano()), limit) {
		token := entry[numberSize:]
		// A token used again after its time has a later expiry and stays.
		if v := c.tokens.Get(token); v != nil && numberOf(v) == numberOf(entry) {
			if err := c.tokens.Delete(token); err != nil {
				return err
			}
		}
		if err := c.expiry.Delete(entry); err != nil {
			return err
		}
	}
	return nil
}

// removeExpired is DynamoDB's TTL deletion, and is told to the feed like it. An
// item of an unknown format stays: it must not hold up every commit.
func (c *commit) removeExpired(limit int) error {
	for _, entry := range before(c.ttl, uint64(max(0, c.now.Unix())), limit) {
		key := entry[numberSize:]
		if err := c.ttl.Delete(entry); err != nil {
			return err
		}
		v := c.items.Get(key)
		k, ok := parseItemKey(key)
		it, err := decodeFound(k, v)
		if !ok || err != nil {
			continue
		}
		if err := c.write(key, k, found{it, v}, found{}); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) trimFeed(oldest time.Time, limit int) error {
	var past [][]byte
	cursor := c.feed.Cursor()
	for k, v := cursor.First(); k != nil && len(past) < limit; k, v = cursor.Next() {
		if at, ok := changedAt(v); !ok || !at.Before(oldest) {
			break
		}
		past = append(past, k)
	}
	for _, k := range past {
		if err := c.feed.Delete(k); err != nil {
			return err
		}
	}
	return nil
}
