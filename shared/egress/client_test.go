package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// open is a guard that admits one local server by its address.
func open(t testing.TB, s *httptest.Server) Guard {
	t.Helper()
	return Guard{Resolver: names(nil)}.Allow(mustTarget(t, nil, s.Listener.Addr().String()))
}

func get(t testing.TB, c *Client, url string) (Answer, error) {
	t.Helper()
	return c.Do(t.Context(), Request{Method: http.MethodGet, URL: url})
}

func TestRequestIsSentAsItIs(t *testing.T) {
	const body = `{"a": "<é>"}`
	var got *http.Request
	var gotBody []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		gotBody, _ = io.ReadAll(r.Body)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "thanks")
	}))
	defer s.Close()
	header := http.Header{"Content-Type": {"application/json"}, "Host": {"elsewhere.example.com"}}
	a, err := New(open(t, s), Options{}).Do(t.Context(), Request{
		Method: http.MethodPost, URL: s.URL + "/a%2Fb//c/../d?x=%2f&y=", Header: header, Body: []byte(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != http.StatusAccepted || string(a.Body) != "thanks" || a.Cut || a.Header.Get("Retry-After") != "7" {
		t.Errorf("answer %+v", a)
	}
	if got.Method != http.MethodPost || got.RequestURI != "/a%2Fb//c/../d?x=%2f&y=" || string(gotBody) != body ||
		got.Host != s.Listener.Addr().String() || got.ContentLength != int64(len(body)) || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("request %s %s to %s with %v and %q", got.Method, got.RequestURI, got.Host, got.Header, gotBody)
	}
	if !got.Close || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("keeps the connection, or asks for compression: %v", got.Header)
	}
	if len(header) != 2 {
		t.Errorf("the caller's headers became %v", header)
	}
}

func TestRedirectsAreAnswers(t *testing.T) {
	var followed atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/secret" {
			followed.Store(true)
			return
		}
		status := map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308}[r.URL.Path]
		http.Redirect(w, r, "/secret", status)
	}))
	defer s.Close()
	c := New(open(t, s), Options{})
	for path, status := range map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308} {
		a, err := get(t, c, s.URL+path)
		if err != nil || a.Status != status || KindOfStatus(a.Status) != KindRedirect {
			t.Errorf("%s: %d, %v", path, a.Status, err)
		}
	}
	if followed.Load() {
		t.Error("a redirect was followed")
	}
}

// Registered while the name was public; private by the time of the request.
func TestRebinding(t *testing.T) {
	reached := make(chan struct{}, 1)
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached <- struct{}{} }))
	defer s.Close()
	port := netip.MustParseAddrPort(s.Listener.Addr().String()).Port()
	url := "https://" + net.JoinHostPort("rebind.example.com", itoa(port)) + "/"
	g := Guard{Resolver: &script{answers: map[string][][]string{"rebind.example.com": {{"93.184.216.34"}, {"127.0.0.1"}}}}}
	if err := g.Resolve(t.Context(), url); err != nil {
		t.Fatalf("at registration: %v", err)
	}
	_, err := get(t, New(g, Options{}), url)
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != KindRefusedTarget || !errors.Is(err, ErrRefusedTarget) {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("tells what an internal name resolves to: %v", err)
	}
	if len(reached) != 0 {
		t.Error("the private server was reached")
	}
}

// Even if all that comes before it were wrong, no socket connects.
func TestSocketsAreControlled(t *testing.T) {
	d := newDialer(Guard{}, time.Minute, nil)
	for _, address := range []string{"127.0.0.1:1", "[::1]:1", "10.0.0.1:443", "169.254.169.254:80", "[::ffff:10.0.0.1]:443"} {
		conn, err := d.socket.DialContext(t.Context(), "tcp", address)
		if !errors.Is(err, ErrRefusedTarget) {
			t.Errorf("%s: %v, %v", address, conn, err)
		}
	}
	for _, c := range [][2]string{{"udp4", "8.8.8.8:53"}, {"unix", "/tmp/socket"}, {"tcp4", "8.8.8.8"}, {"tcp", "8.8.8.8:80"}} {
		if err := d.control(c[0], c[1]); !errors.Is(err, ErrRefusedTarget) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if err := d.control("tcp4", "8.8.8.8:443"); err != nil {
		t.Error(err)
	}
}

func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	var proxied atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Store(true) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	s, c := exampleServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, nil)
	if a, err := get(t, c, s); err != nil || a.Status != http.StatusNoContent {
		t.Errorf("got %d, %v", a.Status, err)
	}
	if proxied.Load() {
		t.Error("the proxy was asked")
	}
}

// exampleServer is a TLS server that a stub resolver calls example.com, which
// stands in its certificate, and a client that trusts it.
func exampleServer(t *testing.T, h http.HandlerFunc, config *tls.Config) (url string, c *Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = config
	s.Config.ErrorLog = quiet
	s.StartTLS()
	t.Cleanup(s.Close)
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	g := open(t, s)
	g.Resolver = names(map[string][]string{"example.com": {at.Addr().String()}, "other.test.net": {at.Addr().String()}})
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return "https://" + net.JoinHostPort("example.com", itoa(at.Port())) + "/", New(g, Options{Roots: roots})
}

func TestTLS(t *testing.T) {
	ok := func(http.ResponseWriter, *http.Request) {}
	t.Run("trusted", func(t *testing.T) {
		url, c := exampleServer(t, ok, nil)
		if _, err := get(t, c, url); err != nil {
			t.Error(err)
		}
	})
	t.Run("another name", func(t *testing.T) {
		url, c := exampleServer(t, ok, nil)
		assertKind(t, c, strings.Replace(url, "example.com", "other.test.net", 1), KindTLS)
	})
	t.Run("unknown authority", func(t *testing.T) {
		url, c := exampleServer(t, ok, nil)
		assertKind(t, New(c.guard, Options{}), url, KindTLS)
	})
	t.Run("old version", func(t *testing.T) {
		url, c := exampleServer(t, ok, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		assertKind(t, c, url, KindTLS)
	})
	t.Run("no TLS", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(ok))
		defer s.Close()
		assertKind(t, New(open(t, s), Options{}), strings.Replace(s.URL, "http:", "https:", 1), KindTLS)
	})
}

func assertKind(t *testing.T, c *Client, url string, want Kind) {
	t.Helper()
	a, err := get(t, c, url)
	if got := KindOf(err); got != want || a.Status != 0 {
		t.Errorf("%q (%v) with %+v, want %q", got, err, a, want)
	}
}

func TestSecretsOfTheURLStayOutOfErrors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer s.Close()
	c := New(open(t, s), Options{})
	for _, url := range []string{
		s.URL + "/s3cret?s3cret", "https://user:s3cret@example.com/", "https://absent.example.com/s3cret", "https://127.0.0.1/s3cret",
		"https://example.com/s3cret#", "https://example.com:1/\x00s3cret", "s3cret",
	} {
		_, err := c.Do(t.Context(), Request{Method: http.MethodPost, URL: url, Header: http.Header{"Authorization": {"s3cret"}}})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for name, r := range map[string]Request{
		"method": {Method: "A B", URL: s.URL + "/s3cret"},
		"header": {Method: http.MethodPost, URL: s.URL + "/s3cret", Header: http.Header{"X": {"s3cret\n"}}},
	} {
		_, err := c.Do(t.Context(), r)
		if KindOf(err) != KindInvalidRequest || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAddressesAreTriedInTurn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	at := netip.MustParseAddrPort(s.Listener.Addr().String())
	r := names(map[string][]string{"receiver": {"127.0.0.99", at.Addr().String()}})
	target := mustTarget(t, r, net.JoinHostPort("receiver", itoa(at.Port())))
	if _, err := get(t, New(Guard{}.Allow(target), Options{}), "http://RECEIVER:"+itoa(at.Port())+"/"); err != nil {
		t.Errorf("the second address answers, yet %v", err)
	}
}

func TestBodyIsCutAtTheLimit(t *testing.T) {
	sizes := map[string]int{"/0": 0, "/99": 99, "/100": 100, "/101": 101, "/100000": 100_000}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), sizes[r.URL.Path]))
	}))
	defer s.Close()
	c := New(open(t, s), Options{})
	for path, size := range sizes {
		a, err := c.Do(t.Context(), Request{Method: http.MethodGet, URL: s.URL + path, BodyLimit: 100})
		if err != nil || len(a.Body) != min(size, 100) || a.Cut != (size > 100) {
			t.Errorf("%s: %d bytes, cut %v, %v", path, len(a.Body), a.Cut, err)
		}
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	_, err := New(open(t, s), Options{}).Do(ctx, Request{Method: http.MethodGet, URL: s.URL})
	if KindOf(err) != KindCanceled {
		t.Errorf("got %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("the server stops"))
	_, err = New(open(t, s), Options{}).Do(ctx, Request{Method: http.MethodGet, URL: s.URL})
	if KindOf(err) != KindCanceled {
		t.Errorf("with a cause: %v", err)
	}
}
