package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// script is a resolver whose answers to a name follow one another; the last one stays.
type script struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   []string
}

func (s *script) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, host)
	answers := s.answers[strings.TrimSuffix(host, ".")]
	if err := ctx.Err(); err != nil || len(answers) == 0 || network != "ip" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true, UnwrapErr: err}
	}
	var found []netip.Addr
	for _, a := range answers[0] {
		found = append(found, netip.MustParseAddr(a))
	}
	if len(answers) > 1 {
		s.answers[strings.TrimSuffix(host, ".")] = answers[1:]
	}
	return found, nil
}

func names(answers map[string][]string) *script {
	s := &script{answers: map[string][][]string{}}
	for name, addrs := range answers {
		s.answers[name] = [][]string{addrs}
	}
	return s
}

func mustTarget(t testing.TB, r Resolver, text string) Target {
	t.Helper()
	target, err := ParseTarget(t.Context(), r, text)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func TestResolve(t *testing.T) {
	r := names(map[string][]string{
		"public.example.com":  {"93.184.216.34"},
		"mapped.example.com":  {"::ffff:93.184.216.34"}, // how package net may give an IPv4 address
		"private.example.com": {"10.0.0.1"},
		"hidden.example.com":  {"::ffff:169.254.169.254"},
		"nat64.example.com":   {"64:ff9b::5db8:d822"},
		"dns64.example.com":   {"64:ff9b::5db8:d822", "93.184.216.34"},
		"empty.example.com":   {},
	})
	for name, want := range map[string]Kind{
		"public": KindNone, "mapped": KindNone, "dns64": KindNone,
		"private": KindRefusedTarget, "hidden": KindRefusedTarget, "nat64": KindRefusedTarget,
		"empty": KindDNS, "absent": KindDNS,
	} {
		err := Guard{Resolver: r}.Resolve(t.Context(), "https://"+name+".example.com/")
		if got := KindOf(err); got != want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, want)
		}
	}
	if err := (Guard{Resolver: r}).Resolve(t.Context(), "https://user@public.example.com/"); reasonOf(err) != ReasonUserinfo {
		t.Errorf("the text is judged first: got %v", err)
	}
	for _, asked := range r.asked {
		if !strings.HasSuffix(asked, ".") {
			t.Errorf("looked up %q, which search domains may complete", asked)
		}
	}
}

func TestAllowedTargetOpensNothingElse(t *testing.T) {
	g := Guard{}.Allow(mustTarget(t, nil, "127.0.0.1:9000")).Allow(mustTarget(t, nil, "[::1]:9001"))
	for raw, open := range map[string]bool{
		"http://127.0.0.1:9000/hook":          true,
		"https://127.0.0.1:9000/hook":         true,
		"http://[::1]:9001/":                  true,
		"http://[0:0:0:0:0:0:0:1]:9001/":      true,
		"http://127.0.0.1:9001/":              false,
		"http://127.0.0.1/":                   false,
		"http://127.0.0.2:9000/":              false,
		"http://127.1:9000/":                  false,
		"http://2130706433:9000/":             false,
		"http://localhost:9000/":              false,
		"http://[::1]:9000/":                  false,
		"http://[::ffff:127.0.0.1]:9000/":     false,
		"http://user@127.0.0.1:9000/":         false,
		"http://127.0.0.1:9000/#a":            false,
		"ftp://127.0.0.1:9000/":               false,
		"http://example.com:9000/":            false,
		"https://169.254.169.254/latest/":     false,
		"http://127.0.0.1:9000@example.com/":  false,
		"http://127.0.0.1:9000.example.com/":  false,
		"https://example.com@127.0.0.1:9000/": false,
	} {
		if err := g.CheckURL(raw); (err == nil) != open {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for addr, open := range map[string]bool{
		"127.0.0.1:9000": true, "[::1]:9001": true,
		"127.0.0.1:9001": false, "127.0.0.2:9000": false, "[::1]:9000": false, "[::ffff:127.0.0.1]:9000": false, "0.0.0.0:9000": false,
	} {
		if err := g.CheckAddr(netip.MustParseAddrPort(addr)); (err == nil) != open {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if (Guard{}).CheckURL("http://127.0.0.1:9000/") == nil {
		t.Error("a guard that allows nothing opens it too")
	}
}

func TestAllowedName(t *testing.T) {
	r := &script{answers: map[string][][]string{"receiver": {{"172.18.0.5"}, {"172.18.0.6"}}}}
	target := mustTarget(t, r, "Receiver:9000")
	g := Guard{Resolver: r}.Allow(target)
	for raw, open := range map[string]bool{
		"http://receiver:9000/": true, "http://RECEIVER:9000/": true, "http://172.18.0.5:9000/": true,
		"http://receiver/": false, "http://172.18.0.6:9000/": false, "http://receiver.example.com:9000/": false,
	} {
		if err := g.CheckURL(raw); (err == nil) != open {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if err := g.Resolve(t.Context(), "http://receiver:9000/"); err != nil || len(r.asked) != 1 {
		t.Errorf("got %v after %d look-ups, want the address of when it was allowed", err, len(r.asked))
	}
	if target.String() != "receiver:9000" {
		t.Errorf("shown as %s", target)
	}
}

func TestWhatIsNoTarget(t *testing.T) {
	r := names(map[string][]string{"all": {"0.0.0.0"}})
	for _, text := range []string{
		"", "127.0.0.1", ":9000", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http", "http://127.0.0.1:9000", "127.1:9000",
		"0.0.0.0:9000", "[::]:9000", "224.0.0.1:9000", "[::ffff:127.0.0.1]:9000", "[fe80::1%eth0]:9000", "absent:9000", "all:9000", "a b:9000", "*:9000",
	} {
		if target, err := ParseTarget(t.Context(), r, text); err == nil {
			t.Errorf("%q opens %v", text, target.addrs)
		}
	}
	_, err := ParseTarget(t.Context(), r, "absent:9000")
	if KindOf(err) != KindDNS {
		t.Errorf("a name without address: %v", err)
	}
}
