package webhook

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	reference "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"pgregory.net/rapid"
)

// The test vector that all reference libraries of Standard Webhooks share.
const (
	vectorSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	vectorID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	vectorTime      = 1614265330
	vectorBody      = `{"test": 2432232314}`
	vectorSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func mustParse(t testing.TB, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustMake(t testing.TB) Secret {
	t.Helper()
	s, err := NewSecret(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed are the headers of the vector's body.
func signed(t testing.TB, secrets []Secret, id string, at time.Time) http.Header {
	t.Helper()
	values, err := Sign(secrets, id, at, []byte(vectorBody))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	values.Set(h)
	return h
}

func verifier(at time.Time, secrets ...Secret) Verifier {
	return Verifier{secrets, DefaultTolerance, func() time.Time { return at }}
}

func TestSharedVector(t *testing.T) {
	at := time.Unix(vectorTime, 999_999_999)
	got, err := Sign([]Secret{mustParse(t, vectorSecret)}, vectorID, at, []byte(vectorBody))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Headers{vectorID, "1614265330", vectorSignature}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTwoSecretsSignNewFirst(t *testing.T) {
	older, newer := mustParse(t, vectorSecret), mustMake(t)
	at := time.Unix(vectorTime, 0)
	both := signed(t, []Secret{newer, older}, vectorID, at)
	entries := strings.Split(both.Get(HeaderSignature), " ")
	if len(entries) != 2 || entries[1] != vectorSignature {
		t.Errorf("entries %q, want the old secret's second", entries)
	}
	for name, receiver := range map[string]Secret{"new": newer, "old": older} {
		if err := verifier(at, receiver).Verify(both, []byte(vectorBody)); err != nil {
			t.Errorf("a receiver with the %s secret: %v", name, err)
		}
	}
	twice := signed(t, []Secret{older, older}, vectorID, at)
	if got := twice.Get(HeaderSignature); got != vectorSignature {
		t.Errorf("one secret given twice signs %q", got)
	}
}

func TestWhatIsNotSigned(t *testing.T) {
	secret := mustMake(t)
	for _, id := range []string{"", "a.b", "a b", "a\n", "é", strings.Repeat("x", 257)} {
		if _, err := Sign([]Secret{secret}, id, time.Unix(0, 0), nil); !errors.Is(err, ErrBadID) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	for name, secrets := range map[string][]Secret{"none": nil, "a zero one": {secret, {}}} {
		if _, err := Sign(secrets, "id", time.Unix(0, 0), nil); !errors.Is(err, ErrNoSecret) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatDoesNotVerify(t *testing.T) {
	secret, at := mustMake(t), time.Unix(vectorTime, 0)
	for name, c := range map[string]struct {
		change func(http.Header)
		body   string
		skew   time.Duration // of the receiver's clock
		want   error
	}{
		"as it was sent":            {want: nil},
		"another body":              {body: vectorBody + " ", want: ErrSignature},
		"another id":                {change: func(h http.Header) { h.Set(HeaderID, "other") }, want: ErrSignature},
		"another second":            {change: func(h http.Header) { h.Set(HeaderTimestamp, "1614265331") }, want: ErrSignature},
		"another version":           {change: func(h http.Header) { h.Set(HeaderSignature, "v2"+h.Get(HeaderSignature)[2:]) }, want: ErrSignature},
		"after an unknown version":  {change: func(h http.Header) { h.Set(HeaderSignature, "v1a,AAAA nonsense "+h.Get(HeaderSignature)) }, want: nil},
		"no signature":              {change: func(h http.Header) { h.Del(HeaderSignature) }, want: ErrHeaders},
		"an empty one":              {change: func(h http.Header) { h.Set(HeaderSignature, "") }, want: ErrSignature},
		"an empty MAC":              {change: func(h http.Header) { h.Set(HeaderSignature, "v1,") }, want: ErrSignature},
		"a doubled id":              {change: func(h http.Header) { h.Add(HeaderID, "other") }, want: ErrHeaders},
		"an id with a full stop":    {change: func(h http.Header) { h.Set(HeaderID, "a.b") }, want: ErrHeaders},
		"a time that is none":       {change: func(h http.Header) { h.Set(HeaderTimestamp, "soon") }, want: ErrHeaders},
		"a time with a sign":        {change: func(h http.Header) { h.Set(HeaderTimestamp, "+1614265330") }, want: ErrHeaders},
		"a thousand entries":        {change: func(h http.Header) { h.Set(HeaderSignature, strings.Repeat("v1,AAAA ", 1000)) }, want: ErrHeaders},
		"at the end of tolerance":   {skew: DefaultTolerance, want: nil},
		"at its other end":          {skew: -DefaultTolerance, want: nil},
		"a second past it":          {skew: DefaultTolerance + time.Second, want: ErrTooOld},
		"a second before it begins": {skew: -DefaultTolerance - time.Second, want: ErrTooNew},
	} {
		t.Run(name, func(t *testing.T) {
			h, body := signed(t, []Secret{secret}, "id", at), vectorBody
			if c.change != nil {
				c.change(h)
			}
			if c.body != "" {
				body = c.body
			}
			if err := verifier(at.Add(c.skew), secret).Verify(h, []byte(body)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	h := signed(t, []Secret{secret}, "id", at)
	if err := verifier(at, mustMake(t), Secret{}).Verify(h, []byte(vectorBody)); !errors.Is(err, ErrSignature) {
		t.Errorf("another secret: %v", err)
	}
}

// Payloads that JSON libraries like to write in another way.
var awkward = rapid.SampledFrom([]string{
	`{}`, `{"a":"<b>&\u0026</b>"}`, `{"n":12345678901234567890.10e+05}`, `{"e":"\ud83d\ude00 😀 \u00e9 é"}`,
	"{\"sep\":\"\u2028\u2029\"}", `{ "spaces" :  [ 1 , 2 ] }`, "{\"nl\":1}\n", `{"z":1,"a":2}`, `{"s":"\/ / \\ \b"}`, ``,
})

func TestWhatIsSentIsWhatWasSigned(t *testing.T) {
	secret := mustMake(t)
	at := time.Unix(vectorTime, 0)
	var failure error
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = verifier(at, secret).Verify(r.Header, body)
		}
		failure = err
	}))
	defer receiver.Close()
	rapid.Check(t, func(r *rapid.T) {
		body := []byte(awkward.Draw(r, "known") + rapid.String().Draw(r, "text"))
		if rapid.Bool().Draw(r, "binary") {
			body = rapid.SliceOf(rapid.Byte()).Draw(r, "bytes")
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, receiver.URL, bytes.NewReader(body))
		if err != nil {
			r.Fatal(err)
		}
		values, err := Sign([]Secret{secret}, "id", at, body)
		if err != nil {
			r.Fatal(err)
		}
		values.Set(req.Header)
		res, err := receiver.Client().Do(req)
		if err != nil {
			r.Fatal(err)
		}
		_ = res.Body.Close()
		if failure != nil {
			r.Fatalf("%q: %v", body, failure)
		}
	})
}

// The reference library and this package agree on each other's signatures.
func TestAgreesWithTheReferenceLibrary(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		secret := secretOf(rapid.SliceOfN(rapid.Byte(), MinSecret, MaxSecret).Draw(r, "key"))
		id := rapid.StringMatching(`[!-\-/-~]{1,64}`).Draw(r, "id")
		body := []byte(awkward.Draw(r, "known") + rapid.String().Draw(r, "text"))
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(r, "at"), 0)
		theirs, err := reference.NewWebhook(secret.Reveal())
		if err != nil {
			r.Fatal(err)
		}
		values, err := Sign([]Secret{mustMake(t), secret}, id, at, body)
		if err != nil {
			r.Fatal(err)
		}
		h := http.Header{}
		values.Set(h)
		if err := theirs.VerifyIgnoringTimestamp(body, h); err != nil {
			r.Fatalf("they refuse ours: %v", err)
		}
		signature, err := theirs.Sign(id, at, body)
		if err != nil {
			r.Fatal(err)
		}
		h.Set(HeaderSignature, signature)
		if err := verifier(at, secret).Verify(h, body); err != nil {
			r.Fatalf("we refuse theirs: %v", err)
		}
	})
}
