package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/wardenhq/warden/shared/httpapi"
)

// connect serves the tests' service on a socket and opens one connection to it.
func connect(t *testing.T) net.Conn {
	t.Helper()
	e := newEdge(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(e.handler, slog.New(slog.DiscardHandler))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// A real client's path arrives as it was sent, decoded, on one connection that
// survives every kind of answer.
func TestOverASocket(t *testing.T) {
	conn := connect(t)
	in := bufio.NewReader(conn)
	for _, tc := range []struct {
		method, target, body string
		status               int
	}{
		{"GET", "/v1/things/x", "", http.StatusOK},
		{"GET", "/v1/things/%78", "", http.StatusOK},
		{"GET", "/v1/things/~Wm_Dqw", "", http.StatusOK},
		{"GET", "/v1/things/%7EWm_Dqw", "", http.StatusOK},
		{"GET", "/v1%2Fthings%2Fx", "", http.StatusOK}, // as behind the gateway, where it arrives decoded
		{"GET", "/v1/things/a%2Fb", "", http.StatusNotFound},
		{"GET", "/v1/things/%2E%2E", "", http.StatusNotFound},
		{"GET", "/v1/things/../things", "", http.StatusNotFound},
		{"GET", "/v1//things", "", http.StatusNotFound},
		{"GET", "/v1/things/", "", http.StatusNotFound},
		{"GET", "/v1/things/a%20b", "", http.StatusBadRequest},
		{"GET", "/v1/things/a%3Fb", "", http.StatusBadRequest},
		{"GET", "/v1/things/%25", "", http.StatusBadRequest},
		{"GET", "/v1/things/%FF", "", http.StatusBadRequest},
		{"GET", "/fail/panic", "", http.StatusInternalServerError},
		{"HEAD", "/v1/things/x", "", http.StatusOK},
		{"HEAD", "/fail/panic", "", http.StatusInternalServerError},
		{"GET", "/v1/things/x", "ignored", http.StatusOK},
		{"PUT", "/v1/things/old", `{"name":`, http.StatusBadRequest},
		{"PUT", "/v1/things/old", `{"name":"n"}`, http.StatusOK},
		{"DELETE", "/v1/things/x", "", http.StatusNoContent},
		{"PUT", "/v1/things/old", strings.Repeat(" ", httpapi.MaxBody+1), http.StatusRequestEntityTooLarge}, // the last: it closes
	} {
		head := "Host: x\r\nAuthorization: Bearer writer-key\r\nContent-Type: application/json\r\n"
		if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%.100s", tc.method, tc.target, head, len(tc.body), tc.body); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(in, &http.Request{Method: tc.method})
		if err != nil {
			t.Fatalf("%s %s: %v", tc.method, tc.target, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatalf("%s %s: %v", tc.method, tc.target, err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tc.status || answer.Header.Get("X-Request-Id") == "" || answer.Header.Get("Location") != "" {
			t.Errorf("%s %s: %s %v, want %d", tc.method, tc.target, answer.Status, answer.Header, tc.status)
		}
		if closes := tc.status == http.StatusRequestEntityTooLarge; answer.Close != closes {
			t.Errorf("%s %s: the connection closes: %t", tc.method, tc.target, answer.Close)
		}
	}
}
