package trail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wardenhq/warden/shared/retry"
)

const (
	// maxPart is more than a server sends at once.
	maxPart = 8 << 20
	// maxWait bounds what a server can ask to wait.
	maxWait = time.Minute
)

// Client asks a server. It sends its key nowhere else: redirects are not
// followed, and links only within the server.
type Client struct {
	URL     *url.URL
	Key     string
	HTTP    *http.Client
	Backoff retry.Backoff // for a server that is busy or can't be reached
}

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	Code   string // of the problem
	Detail string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answers %d %s: %s", e.Status, e.Code, e.Detail)
}

// ErrForeignLink says that the server points to another one.
var ErrForeignLink = errors.New("the server links to another host")

// get asks for a path and query, and again while that can help.
func (c *Client) get(ctx context.Context, path, accept string) ([]byte, http.Header, error) {
	at, err := c.URL.Parse(path)
	if err != nil {
		return nil, nil, err
	}
	if at.Scheme != c.URL.Scheme || at.Host != c.URL.Host {
		return nil, nil, fmt.Errorf("%w: %s", ErrForeignLink, at.Host)
	}
	for n := 0; ; n++ {
		body, header, wait, err := c.try(ctx, at, accept)
		if err == nil || wait < 0 {
			return body, header, err
		}
		if err := c.Backoff.Clock.Sleep(ctx, min(wait, maxWait)); err != nil {
			return nil, nil, err
		}
		again, waitErr := c.Backoff.Wait(ctx, n)
		if waitErr != nil {
			return nil, nil, waitErr
		}
		if !again {
			return nil, nil, err
		}
	}
}

// try asks once. wait below 0 says that to ask again would not help.
func (c *Client) try(ctx context.Context, at *url.URL, accept string) (body []byte, header http.Header, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, nil, -1, err
	}
	r.Header.Set("Authorization", "Bearer "+c.Key)
	r.Header.Set("Accept", accept)
	a, err := c.HTTP.Do(r)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { _ = a.Body.Close() }() // only read from
	body, err = io.ReadAll(io.LimitReader(a.Body, maxPart+1))
	switch {
	case err != nil:
		return nil, nil, 0, err
	case len(body) > maxPart:
		return nil, nil, -1, fmt.Errorf("the server sends more than %d bytes at once", maxPart)
	case a.StatusCode == http.StatusOK:
		return body, a.Header, 0, nil
	}
	problem := &StatusError{Status: a.StatusCode}
	_ = json.Unmarshal(body, problem) // what is no problem document has no code
	problem.Status = a.StatusCode
	wait = -1
	if a.StatusCode == http.StatusTooManyRequests || a.StatusCode >= http.StatusInternalServerError {
		seconds, _ := strconv.Atoi(a.Header.Get("Retry-After")) // none: 0
		wait = time.Duration(max(0, seconds)) * time.Second
	}
	return nil, nil, wait, problem
}
