package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Request is a rendered request, and what says that an answer to it is right.
type Request struct {
	Wire  []byte
	Right func(Answer) bool
}

// Load is what a server is asked: Count requests, the i-th of them being
// Request(i), over Connections connections of which each sends its next request
// when the answer to the one before has come. Request is called concurrently.
type Load struct {
	Addr        string
	Connections int
	Count       int
	Request     func(i int) Request
}

// Each asks the requests of a list over and over.
func Each(list []Request) func(i int) Request {
	return func(i int) Request { return list[i%len(list)] }
}

// Result is what a run took.
type Result struct {
	Requests int
	Elapsed  time.Duration
	sorted   []time.Duration
}

// PerSecond is the throughput in requests.
func (r *Result) PerSecond() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Quantile is the latency that the share q of the requests did not exceed.
func (r *Result) Quantile(q float64) time.Duration {
	if len(r.sorted) == 0 {
		return 0
	}
	return r.sorted[min(int(q*float64(len(r.sorted))), len(r.sorted)-1)]
}

// WrongAnswerError says that a server gave an answer that is not right. A run
// with one says nothing of speed.
type WrongAnswerError struct {
	Request int // its number
	Status  int
	Body    string // its beginning
}

func (e *WrongAnswerError) Error() string {
	return fmt.Sprintf("loadgen: request %d was answered %d %s", e.Request, e.Status, e.Body)
}

// shown is how much of a wrong answer is kept, in bytes.
const shown = 400

// Run asks until the count is reached, an answer is wrong (*WrongAnswerError), a
// connection fails, or the context ends.
func Run(ctx context.Context, l Load) (*Result, error) {
	conns := make([]*Conn, l.Connections)
	for i := range conns {
		c, err := Dial(ctx, l.Addr)
		if err != nil {
			return nil, err
		}
		defer c.Close() //nolint:errcheck // nothing is left to be lost
		conns[i] = c
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var (
		next   atomic.Int64
		all    sync.WaitGroup
		taken  = make([][]time.Duration, len(conns))
		perOne = l.Count/len(conns) + l.Count/10
		began  = time.Now()
	)
	for n, c := range conns {
		all.Go(func() {
			mine := make([]time.Duration, 0, perOne)
			defer func() { taken[n] = mine }()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= l.Count {
					return
				}
				took, err := one(c, i, l.Request(i))
				if err != nil {
					stop(err)
					return
				}
				mine = append(mine, took)
			}
		})
	}
	all.Wait()
	r := &Result{Elapsed: time.Since(began), sorted: slices.Concat(taken...)}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	slices.Sort(r.sorted)
	r.Requests = len(r.sorted)
	return r, nil
}

func one(c *Conn, i int, r Request) (time.Duration, error) {
	sent := time.Now()
	a, err := c.Do(r.Wire)
	took := time.Since(sent)
	if err != nil {
		return 0, err
	}
	if !r.Right(a) {
		return 0, &WrongAnswerError{Request: i, Status: a.Status, Body: string(a.Body[:min(len(a.Body), shown)])}
	}
	return took, nil
}

// Ask sends one request over a connection of its own. The answer stays good.
func Ask(ctx context.Context, addr string, request []byte) (a Answer, err error) {
	c, err := Dial(ctx, addr)
	if err != nil {
		return a, err
	}
	a, err = c.Do(request)
	return a, errors.Join(err, c.Close())
}
