package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

type question struct {
	Scope    string `json:"scope"`
	Subject  string `json:"subject"`
	Resource string `json:"resource"`
	Action   string `json:"action"`

	Consistency string `json:"consistency,omitempty"`
}

type answer struct {
	Allowed bool `json:"allowed"`
}

// runFloor serves what any HTTP server of this shape costs at least: plain
// net/http and encoding/json, the questions decoded, the answers constant,
// nobody authenticated and nothing decided.
func runFloor(ctx context.Context, stdout io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newFloor(), ReadHeaderTimeout: 10 * time.Second}
	if _, err := fmt.Fprintf(stdout, "floor: listening on http://%s\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve tells
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newFloor() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+checkPath, func(w http.ResponseWriter, r *http.Request) {
		var q question
		if decoded(w, r, &q) {
			reply(w, answer{Allowed: true})
		}
	})
	mux.HandleFunc("POST "+batchPath, func(w http.ResponseWriter, r *http.Request) {
		var batch struct {
			Checks []question `json:"checks"`
		}
		if !decoded(w, r, &batch) {
			return
		}
		results := make([]answer, len(batch.Checks))
		for i := range results {
			results[i].Allowed = true
		}
		reply(w, struct {
			Results []answer `json:"results"`
		}{results})
	})
	return mux
}

func decoded(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(r.Body).Decode(into)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return err == nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone away is no failure
}
