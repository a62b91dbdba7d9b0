package egress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// quiet is the log of servers whose clients break off on purpose.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)

func itoa(port uint16) string { return strconv.Itoa(int(port)) }

func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// listen is a server below HTTP: each connection is handed to serve once the
// request's head was read, and closed after it.
func listen(t *testing.T, serve func(net.Conn)) (url string, g Guard) {
	t.Helper()
	l := mustListen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			head := make([]byte, 4096)
			if _, err := conn.Read(head); err == nil {
				serve(conn)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "http://" + l.Addr().String() + "/", Guard{}.Allow(mustTarget(t, nil, l.Addr().String()))
}

// untilHungUp repeats until the other side is gone: it returns when the sender
// hung up, and never if it does not.
func untilHungUp(write func() error) {
	for write() == nil {
		continue
	}
}

func write(conn net.Conn, text string) func() error {
	return func() error {
		_, err := io.WriteString(conn, text)
		return err
	}
}

// slowly is write with a pause, as slow receivers do.
func slowly(conn net.Conn, text string) func() error {
	tick := time.NewTicker(time.Millisecond)
	return func() error {
		<-tick.C
		return write(conn, text)()
	}
}

// silence waits for the other side to hang up.
func silence(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func TestSlowReceiversEndWithTheRequest(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	for name, serve := range map[string]func(net.Conn){
		"no headers":       silence,
		"dripping headers": func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\nX: ")(); untilHungUp(slowly(c, "a")) },
		"no body":          func(c net.Conn) { _ = write(c, head)(); silence(c) },
		"dripping body":    func(c net.Conn) { _ = write(c, head)(); untilHungUp(slowly(c, "a")) },
		"interim answers":  func(c net.Conn) { untilHungUp(slowly(c, "HTTP/1.1 102 Processing\r\n\r\n")) },
	} {
		t.Run(name, func(t *testing.T) {
			hungUp := make(chan struct{})
			url, g := listen(t, func(c net.Conn) {
				serve(c)
				close(hungUp)
			})
			// The limit on headers is out of the way: the time has to end it.
			assertKind(t, New(g, Options{Timeout: 100 * time.Millisecond, HeaderLimit: 64 << 20}), url, KindTimeout)
			<-hungUp
		})
	}
}

func TestHandshakeEndsInTime(t *testing.T) {
	url, g := listen(t, silence)
	url = strings.Replace(url, "http:", "https:", 1)
	assertKind(t, New(g, Options{ConnectTimeout: 50 * time.Millisecond}), url, KindTimeout)
}

func TestBrokenReceivers(t *testing.T) {
	reset := func(c net.Conn) {
		tcp, ok := c.(*net.TCPConn)
		if !ok || tcp.SetLinger(0) != nil {
			panic("no TCP")
		}
	}
	for name, c := range map[string]struct {
		serve func(net.Conn)
		want  Kind
	}{
		"closes":             {func(net.Conn) {}, KindConnectionReset},
		"resets":             {reset, KindConnectionReset},
		"breaks the headers": {func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n")() }, KindConnectionReset},
		"breaks the body":    {func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")() }, KindConnectionReset},
		"breaks the chunks":  {func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")() }, KindConnectionReset},
		"speaks otherwise":   {func(c net.Conn) { _ = write(c, "SSH-2.0-OpenSSH_9.9\r\n\r\n")() }, KindInvalidAnswer},
		"gives no number":    {func(c net.Conn) { _ = write(c, "HTTP/1.1 OK\r\n\r\n")() }, KindInvalidAnswer},
		"bad header":         {func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\n: x\r\n\r\n")() }, KindInvalidAnswer},
		"bad chunks":         {func(c net.Conn) { _ = write(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")() }, KindInvalidAnswer},
		"endless headers": {func(c net.Conn) {
			_ = write(c, "HTTP/1.1 200 OK\r\n")()
			untilHungUp(write(c, "X: "+strings.Repeat("x", 1000)+"\r\n"))
		}, KindTooLarge},
		"endless header": {func(c net.Conn) {
			_ = write(c, "HTTP/1.1 200 OK\r\nX: ")()
			untilHungUp(write(c, strings.Repeat("x", 1000)))
		}, KindTooLarge},
		"endless status":       {func(c net.Conn) { untilHungUp(write(c, strings.Repeat("x", 1000))) }, KindTooLarge},
		"endless interim ones": {func(c net.Conn) { untilHungUp(write(c, "HTTP/1.1 100 Continue\r\n\r\n")) }, KindTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			url, g := listen(t, c.serve)
			_, err := get(t, New(g, Options{}), url)
			if got := KindOf(err); got != c.want {
				t.Errorf("%q (%v), want %q", got, err, c.want)
			}
			if err != nil && len(err.Error()) > 2*maxErrorText {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	l := mustListen(t)
	g := Guard{}.Allow(mustTarget(t, nil, l.Addr().String()))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	assertKind(t, New(g, Options{}), "http://"+l.Addr().String()+"/", KindConnectionRefused)
}

// Far more than the limit is there; little of it is taken.
func TestHugeBodies(t *testing.T) {
	const size = 64 << 20
	var unpacked bytes.Buffer
	z := gzip.NewWriter(&unpacked)
	if _, err := z.Write(make([]byte, 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	written := make(chan int, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		total, chunk := 0, make([]byte, 64<<10)
		switch r.URL.Path {
		case "/length":
			w.Header().Set("Content-Length", strconv.Itoa(size))
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			chunk = unpacked.Bytes()
		}
		for total < size {
			n, err := w.Write(chunk)
			if total += n; err != nil {
				break
			}
			if f, ok := w.(http.Flusher); ok {
				f.Flush()
			}
		}
		written <- total
	}))
	defer s.Close()
	c := New(open(t, s), Options{})
	for _, path := range []string{"/length", "/chunked", "/gzip"} {
		t.Run(path, func(t *testing.T) {
			a, err := get(t, c, s.URL+path)
			if err != nil || !a.Cut || len(a.Body) != DefaultBodyLimit || cap(a.Body) > 4*DefaultBodyLimit {
				t.Errorf("%d bytes of a buffer of %d, cut %v, %v", len(a.Body), cap(a.Body), a.Cut, err)
			}
			if path == "/gzip" && !bytes.HasPrefix(a.Body, []byte{0x1f, 0x8b}) {
				t.Error("the body was unpacked")
			}
			if total := <-written; total > size/2 {
				t.Errorf("the sender took %d bytes", total)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	refused := refuse(ReasonHost, "x")
	for want, errs := range map[Kind][]error{
		KindNone:           {nil},
		KindRefusedTarget:  {refused, &Error{KindRefusedTarget, "h", refused}, fmt.Errorf("wrapped: %w", refused)},
		KindDNS:            {&lookupError{errNoAddress}, &lookupError{&net.DNSError{IsTimeout: true}}},
		KindUnreachable:    {&net.OpError{Op: "dial", Err: errors.New("no route to host")}},
		KindInvalidAnswer:  {errors.New("malformed HTTP response")},
		KindInvalidRequest: {errBadRequest},
	} {
		for _, err := range errs {
			if got := KindOf(err); got != want {
				t.Errorf("%v: %q, want %q", err, got, want)
			}
		}
	}
	for status, want := range map[int]Kind{
		0: KindStatus, 101: KindStatus, 199: KindStatus, 200: KindNone, 204: KindNone, 299: KindNone,
		300: KindRedirect, 304: KindRedirect, 399: KindRedirect, 400: KindStatus, 503: KindStatus, 999: KindStatus,
	} {
		if got := KindOfStatus(status); got != want {
			t.Errorf("%d: %q, want %q", status, got, want)
		}
	}
}
