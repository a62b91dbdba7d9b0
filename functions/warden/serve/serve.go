// Package serve runs every function of the topology in one process, behind one
// address and over one store.
//
// The functions' handlers are the ones that run apart on AWS. What they share
// here is the process: a write drops what it touches from the cache that checks
// answer from, so that this server is never behind its own writes.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/wardenhq/warden/shared/auth"
	"github.com/wardenhq/warden/shared/egress"
	"github.com/wardenhq/warden/shared/httpapi"
	"github.com/wardenhq/warden/shared/ratelimit"
	"github.com/wardenhq/warden/shared/stream"
	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/embedded"
)

// Backend names what the server stores its table in.
type Backend string

// Embedded is one file in the data directory.
const Embedded Backend = "embedded"

// Memory as Options.Data keeps nothing.
const Memory = embedded.Memory

// drainFor bounds how long requests in flight may take when the server stops.
const drainFor = 10 * time.Second

// Options is how a server is started.
type Options struct {
	Addr        string // HOST:PORT; port 0 takes a free one
	Backend     Backend
	Data        string // directory, or Memory; for Embedded
	OperatorKey string // of this run; empty: a stored one, made when there is none
	KeyRate     int    // requests and checks a second of one API key; 0: no limit
	OrgRate     int    // of one org
	// WebhookTargets are addresses that webhooks may call although they are not public.
	WebhookTargets []egress.Target
	Log            *slog.Logger
}

// Server is a server that holds its store and its address. Run serves it.
type Server struct {
	log      *slog.Logger
	store    store
	listener net.Listener
	http     *http.Server
	behind   *background
	made     string
}

// store is what every backend gives.
type store interface {
	table.Store
	stream.Feed
	Health() error // nil while it takes writes
	Close() error
}

func openStore(o Options) (store, error) {
	switch o.Backend {
	case Embedded:
		return embedded.Open(embedded.Options{Dir: o.Data})
	default:
		return nil, fmt.Errorf("serve: there is no backend %q", o.Backend)
	}
}

// Open opens the store and the address. Clients may connect from then on; they
// are served by Run.
func Open(ctx context.Context, o Options) (*Server, error) {
	store, err := openStore(o)
	if err != nil {
		return nil, err
	}
	s := &Server{log: o.Log, store: store}
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return s, nil
}

func (s *Server) prepare(ctx context.Context, o Options) error {
	// The address first: an operator key that is made is shown once, and would
	// be lost with an address that is taken.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	var given []byte
	if o.OperatorKey != "" {
		given = auth.Hash(o.OperatorKey)
	} else if s.made, err = ensureOperatorKey(ctx, s.store, time.Now()); err != nil {
		return errors.Join(err, listener.Close())
	}
	keys, err := openSecrets(o.Data)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	guard := egress.Guard{}
	for _, t := range o.WebhookTargets {
		o.Log.Warn("webhooks may call this address, public or not: for development only", "target", t.String())
		guard = guard.Allow(t)
	}
	p := newParts(s.store, ratelimit.New(perSecond(o.KeyRate), perSecond(o.OrgRate)), keys, guard)
	if s.behind, err = newBackground(p, s.store, o); err != nil {
		return errors.Join(err, listener.Close())
	}
	handler, err := newHandler(p, s.behind, s.ready, given, o.Log)
	if err != nil {
		return errors.Join(err, s.behind.broker.Close(), listener.Close())
	}
	s.listener, s.http = listener, httpapi.NewServer(handler, o.Log)
	return nil
}

// perSecond is a limit with a burst of one second.
func perSecond(n int) ratelimit.Limit { return ratelimit.Limit{PerSecond: float64(n), Burst: n} }

// ready is nil while the store reads and takes writes.
func (s *Server) ready(ctx context.Context) error {
	if err := s.store.Health(); err != nil {
		return err
	}
	_, err := hasOperatorKey(ctx, s.store)
	return err
}

// MadeOperatorKey is the text of the operator key that was made by Open, to be
// shown once; empty when none was.
func (s *Server) MadeOperatorKey() string { return s.made }

// URL is where the server listens.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Run serves until the context ends, then finishes the requests in flight, and
// what is at work behind them. The error is nil when all of it was.
func (s *Server) Run(ctx context.Context) error {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	rest := make(chan struct{})
	go func() { defer close(rest); s.behind.run(working) }()

	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.log.Info("stopping")
		err = s.drain(ctx)
		if serveErr := <-failed; !errors.Is(serveErr, http.ErrServerClosed) {
			err = errors.Join(err, serveErr)
		}
	}
	stop()
	<-rest
	return errors.Join(err, s.behind.broker.Close(), s.store.Close())
}

// drain finishes the requests in flight.
func (s *Server) drain(ctx context.Context) error {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainFor)
	defer cancel()
	if err := s.http.Shutdown(bound); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), s.http.Close())
	}
	return nil
}

// Close lets go of a server that is not run.
func (s *Server) Close() error {
	return errors.Join(s.listener.Close(), s.behind.broker.Close(), s.store.Close())
}
