package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"time"
)

// What bounds a request unless Options or Request say otherwise.
const (
	DefaultTimeout        = 15 * time.Second // whole request, the least that Standard Webhooks gives a receiver
	DefaultConnectTimeout = 5 * time.Second
	DefaultHeaderLimit    = 32 << 10 // bytes
	DefaultBodyLimit      = 64 << 10 // bytes
)

// Options are a client's bounds. The zero value of each field stands for its default.
type Options struct {
	Timeout        time.Duration  // of the whole request, from looking up the name to the body's last byte
	ConnectTimeout time.Duration  // of look-up, connection and TLS handshake, within Timeout
	HeaderLimit    int64          // bytes of an answer's status line and headers, interim answers included
	Roots          *x509.CertPool // that sign servers' certificates; nil: the system's
}

// Client calls hosts that customers name. Each request has a connection of its
// own, so none outlives a verdict on its address. Safe for concurrent use.
type Client struct {
	guard     Guard
	timeout   time.Duration
	transport *http.Transport
}

// New is a client that calls what the guard admits.
func New(g Guard, o Options) *Client {
	d := newDialer(g, orDefault(o.ConnectTimeout, DefaultConnectTimeout), &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    o.Roots,
		NextProtos: []string{"http/1.1"},
	})
	// The transport is used without an http.Client around it, which would follow
	// redirects and put whole URLs into errors. Compression is off because a few
	// bytes can unpack to many: what comes compressed all the same stays so.
	return &Client{g, orDefault(o.Timeout, DefaultTimeout), &http.Transport{
		Proxy:                  nil,
		DialContext:            d.dial,
		DialTLSContext:         d.dialTLS,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: orDefault(o.HeaderLimit, DefaultHeaderLimit),
	}}
}

func orDefault[T comparable](given, fallback T) T {
	var zero T
	if given == zero {
		return fallback
	}
	return given
}

// Request is what to send.
type Request struct {
	Method    string
	URL       string // is sent byte for byte
	Header    http.Header
	Body      []byte // exactly what is sent
	BodyLimit int64  // bytes of the answer's body to read; 0: DefaultBodyLimit
}

// Answer is what came back.
type Answer struct {
	Status int // of any kind: a redirect is an answer like others
	Header http.Header
	Body   []byte
	Cut    bool // the body was longer than the limit
}

// Do sends a request. On an error the answer is the zero Answer: one whose body
// did not end in time, or broke off, is none. The error is an *Error, with a
// *RefusedError in it for a refused target.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	d, err := c.guard.check(r.URL)
	if err != nil {
		return Answer{}, &Error{Kind: KindOf(err), cause: err}
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	a, err := c.do(ctx, d, r)
	if err == nil {
		return a, nil
	}
	kind := KindOf(err)
	if kind == KindInvalidAnswer && ctx.Err() != nil { // the error is the context's cause, of any type
		kind = KindOf(ctx.Err())
	}
	return Answer{}, &Error{kind, d.host, err}
}

func (c *Client) do(ctx context.Context, d destination, r Request) (Answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, d.url.String(), bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, errBadRequest // the cause may hold the URL
	}
	req.URL = d.url
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return Answer{}, err
	}
	limit := orDefault(r.BodyLimit, DefaultBodyLimit)
	body, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	_ = res.Body.Close() // closes the connection; tells nothing that reading did not
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: res.StatusCode, Header: res.Header, Body: body}
	if int64(len(body)) > limit {
		a.Body, a.Cut = body[:limit], true
	}
	return a, nil
}
