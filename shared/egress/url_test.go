package egress

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func reasonOf(err error) Reason {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ""
}

func TestRefusedURLs(t *testing.T) {
	for reason, urls := range map[Reason][]string{
		ReasonScheme: {
			"http://example.com/", "ftp://example.com/", "ws://example.com/hook", "jar:https://example.com!/", "http+unix://x/",
		},
		ReasonURL: {
			"", "/hook", "example.com/hook", "//example.com/", "https:/example.com/", "https:example.com", "javascript:alert(1)",
			" https://example.com/", "https://example.com/ ", "https://exa mple.com/", "https://example.com/\x00", "https://example.com/\n",
			"https://127.0.0.1\t/", `https://127.0.0.1\@example.com/`, "https://example.com/✓", "https://bücher.example.com/",
			"https://１２７.0.0.1/", "https://169。254.169.254/", "https://loc\u00adalhost/", "https://example.com/%", "https://example.com/%zz",
			"https://[]/", "https://[::g]/", "https://[127.0.0.1]/", "https://[::ffff:127.0.0.1.]/", "https://[v1.a]/",
			"https://example.com/?a=%4", "https://example.com/{id}", "https://example.com/" + strings.Repeat("a", MaxURL),
		},
		ReasonFragment: {"https://example.com/#a", "https://example.com#@127.0.0.1/", "https://127.0.0.1#.example.com/"},
		ReasonUserinfo: {
			"https://user:password@example.com/", "https://token@example.com/", "https://:@example.com/", "https://@example.com/",
			"https://example.com:443@169.254.169.254/", "https://127.0.0.1:80@example.com:443/", "https://a%2f@127.0.0.1/",
		},
		ReasonHost: {
			"https://", "https:///path", "https://?x=1", "https://:443/", "https://./", "https://.example.com/", "https://example..com/",
			"https://example.com./", "https://-/", "https://-a.example.com/", "https://a-.example.com/", "https://a!b.example.com/",
			"https://127.0.0.1;.example.com/", "https://%31%32%37.0.0.1/", "https://127.0.0.1%00.example.com/", "https://[fe80::1%25eth0]/",
			"https://127.1/", "https://127.0.1/", "https://2130706433/", "https://0x7f000001/", "https://017700000001/", "https://0177.0.0.1/",
			"https://0x7f.0.0.1/", "https://127.0.0.0x1/", "https://0x/", "https://127.0.0.256/", "https://08.8.8.8/", "https://1.2.3.4.5/",
			"https://example.1/", "https://example.0X7F/", "https://8.8.8.8./", "https://008.008.008.008/",
			"https://::1/", "https://[::1]x/", "https://[::1]]/", "https://[[::1]]/",
			"https://" + strings.Repeat("a", 64) + ".example.com/", "https://" + strings.Repeat("a.", 130) + "com/",
		},
		ReasonPort: {
			"https://example.com:/", "https://example.com:0/", "https://example.com:65536/", "https://example.com:-1/", "https://example.com:+1/",
			"https://example.com:0x1bb/", "https://example.com:0443/", "https://example.com:443:443/", "https://[::1/", "https://[2606:4700::1]:/",
		},
		ReasonName: {
			"https://localhost/", "https://LOCALHOST:8443/", "https://foo.localhost/", "https://localhost.localdomain/", "https://redis/",
			"https://ip6-loopback/", "https://metadata.google.internal/", "https://printer.local/", "https://router.home.arpa/",
			"https://1.0.0.127.in-addr.arpa/", "https://x.test/", "https://a.svc.cluster.local/", "https://db.corp/", "https://abc.onion/",
		},
		ReasonAddress: {
			"https://127.0.0.1/", "https://10.0.0.1:8443/hook", "https://0.0.0.0/", "https://169.254.169.254/latest/meta-data/", "https://[::1]/",
			"https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[::FFFF:8.8.8.8]/", "https://[64:ff9b::a00:1]/", "https://[2002:7f00:1::]/",
			"https://[fd00:ec2::254]/", "https://[0000:0000:0000:0000:0000:0000:0000:0001]:8443/", "https://[::127.0.0.1]/", "http://127.0.0.1/",
		},
	} {
		for _, raw := range urls {
			err := Guard{}.CheckURL(raw)
			if got := reasonOf(err); got != reason {
				t.Errorf("%.80q: %q, want %q", raw, got, reason)
			}
			if _, after, ok := strings.Cut(raw, "://"); ok && len(after) > 3 && err != nil && strings.Contains(err.Error(), after) {
				t.Errorf("%q shows in %q", raw, err)
			}
		}
	}
}

var admittedURLs = []string{
	"https://example.com", "https://example.com/", "https://EXAMPLE.com/Hook", "HTTPS://example.com/", "https://example.com:443/", "https://example.com:8443/x",
	"https://example.com?x=1", "https://example.com/?a=1&a=%2F&empty=", "https://example.com/?url=http://127.0.0.1/", "https://example.com/user@127.0.0.1",
	"https://example.com/a:b;c=d,e", "https://example.com/%E2%9C%93%2f%20!$&'()*+[]~", "https://example.com//a/../b/./", "https://127.0.0.1.example.com/",
	"https://0x7f.example.com/", "https://local.example.net/", "https://xn--bcher-kva.example.com/", "https://my_hooks.example.com/", "https://9gag.com/",
	"https://" + strings.Repeat("a", 63) + ".example.com/", "https://8.8.8.8/hook", "https://[2606:4700:4700::1111]:8443/hook", "https://[2606:4700:4700:0:0::1111]/",
}

func TestAdmittedURLs(t *testing.T) {
	for _, raw := range admittedURLs {
		if err := (Guard{}).CheckURL(raw); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// What passes is read by net/url as it was here, and would be sent as it was written.
func FuzzCheckURL(f *testing.F) {
	for _, raw := range admittedURLs {
		f.Add(raw)
	}
	f.Add("https://user@[::ffff:7f00:1]:80/?#x")
	f.Fuzz(func(t *testing.T, raw string) {
		d, err := Guard{}.check(raw)
		if err != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("%q passes, yet %v", raw, err)
		}
		_, sent, _ := strings.Cut(raw[len("https://"):], u.Host)
		if !strings.HasPrefix(sent, "/") {
			sent = "/" + sent
		}
		if u.User != nil || u.Scheme != "https" || !strings.EqualFold(u.Hostname(), d.bareHost()) || u.RequestURI() != sent {
			t.Errorf("%q is host %q and %q here, but %q and %q in net/url", raw, d.bareHost(), sent, u.Hostname(), u.RequestURI())
		}
		if a := d.addr(); a.IsValid() && refuseAddress(a) != nil {
			t.Errorf("%q leads to %s", raw, a)
		}
	})
}
