// Package loadgen asks an HTTP/1.1 server on this machine as fast as it answers.
//
// Its requests are rendered before and go over plain keep-alive TCP, so that the
// client takes little of the processors that it shares with the server. It knows
// no more of HTTP than the servers measured here use: answers have a length.
package loadgen

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"
)

// Render makes a request with a JSON body into the bytes that are sent. An empty
// bearer or body is left out.
func Render(method, path, bearer string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: bench\r\n", method, path)
	if bearer != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", bearer)
	}
	if len(body) > 0 {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	b.WriteString("\r\n")
	b.Write(body)
	return b.Bytes()
}

// Answer is what a server said. Its bytes are good until the next call of Do.
type Answer struct {
	Status int
	Cost   []byte // X-Warden-Cost, empty when there is none
	Body   []byte
}

// Conn is one connection. It is for one goroutine.
type Conn struct {
	net  net.Conn
	r    *bufio.Reader
	cost []byte
	body []byte
}

// answerWithin bounds the wait for one answer.
const answerWithin = 30 * time.Second

// ErrNotLocal says that an address is not of this machine: load goes nowhere else.
var ErrNotLocal = errors.New("loadgen: not a loopback address")

// Dial connects to HOST:PORT, HOST being a loopback IP address.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("loadgen: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%w: %s", ErrNotLocal, addr)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("loadgen: %w", err)
	}
	return &Conn{net: c, r: bufio.NewReaderSize(c, 16<<10)}, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.net.Close() }

// Do sends a rendered request and waits for its answer. After an error the
// connection is of no use.
func (c *Conn) Do(request []byte) (Answer, error) {
	if err := c.net.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return Answer{}, fmt.Errorf("loadgen: %w", err)
	}
	if _, err := c.net.Write(request); err != nil {
		return Answer{}, fmt.Errorf("loadgen: %w", err)
	}
	a, err := c.read()
	if err != nil {
		return Answer{}, fmt.Errorf("loadgen: answer: %w", err)
	}
	return a, nil
}

func (c *Conn) read() (a Answer, err error) {
	line, err := c.line()
	if err != nil {
		return a, err
	}
	version, rest, _ := bytes.Cut(line, []byte(" "))
	if !bytes.Equal(version, []byte("HTTP/1.1")) || len(rest) < 3 {
		return a, fmt.Errorf("%q is no status line", line)
	}
	if a.Status, err = strconv.Atoi(string(rest[:3])); err != nil {
		return a, err
	}
	length, err := c.header()
	if err != nil {
		return a, err
	}
	c.body = slices.Grow(c.body[:0], length)[:length]
	if _, err := io.ReadFull(c.r, c.body); err != nil {
		return a, err
	}
	a.Cost, a.Body = c.cost, c.body
	return a, nil
}

var (
	contentLength = []byte("Content-Length")
	wardenCost    = []byte("X-Warden-Cost")
	errNoLength   = errors.New("it has no Content-Length")
)

// header keeps the cost and returns the length of the body that follows.
func (c *Conn) header() (length int, err error) {
	length, c.cost = -1, c.cost[:0]
	for {
		line, err := c.line()
		if err != nil {
			return 0, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch value = bytes.TrimSpace(value); {
		case bytes.EqualFold(name, contentLength):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		case bytes.EqualFold(name, wardenCost):
			c.cost = append(c.cost, value...)
		}
	}
	if length < 0 {
		return 0, errNoLength
	}
	return length, nil
}

func (c *Conn) line() ([]byte, error) {
	line, err := c.r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}
