package check

import (
	"reflect"
	"testing"

	"github.com/wardenhq/warden/shared/httpapi/wire"
)

// Whatever the quick decoder accepts, the strict one reads the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"scope":"a","subject":"b","resource":"c","action":"d"}`,
		`{"action":"d","scope":"a","explain":true,"subject":"b","resource":"c"}`,
		`{"scope":"a","subject":"b","resource":"c","action":"d","consistency":"strong","at_least":"x","explain":false}`,
		`{"scope":"\u0061","subject":"\"","resource":"\ud83d\ude42","action":"\\"}`,
		`{"scope":"a","scope":"a","subject":"b","resource":"c","action":"d"}`,
		`{"scope":"a","subject":"b","resource":"c","action":"d","consistency":"","extra":null}`,
		`{"checks":[{"scope":"a","subject":"b","resource":"c","action":"d"},{"scope":"a","subject":"b","resource":"c","action":"d"}]}`,
		`{"checks":[]}`, `{"checks":[{}]}`, `{"checks":null}`, `[]`, `{`, ``, "{\"scope\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	var d decoder
	f.Fuzz(func(t *testing.T, body []byte) {
		var quick, strict Question
		if d.question(body, &quick) {
			if err := wire.Decode(body, &strict); err != nil {
				t.Fatalf("accepted %q, which is refused: %v", body, err)
			}
			if !reflect.DeepEqual(quick, strict) {
				t.Fatalf("%q is %+v, not %+v", body, quick, strict)
			}
		}
		if got, ok := d.batch(body, nil); ok {
			var want Batch
			if err := wire.Decode(body, &want); err != nil {
				t.Fatalf("accepted %q, which is refused: %v", body, err)
			}
			if len(got)+len(want.Checks) > 0 && !reflect.DeepEqual(got, want.Checks) {
				t.Fatalf("%q is %+v, not %+v", body, got, want.Checks)
			}
		}
	})
}

func TestOrdinaryBodiesAreReadQuickly(t *testing.T) {
	var d decoder
	for _, body := range []string{
		`{"scope":"a","subject":"b","resource":"c","action":"d"}`,
		`{"scope":"a","subject":"b","resource":"c","action":"d","consistency":"default","at_least":"x","explain":true}`,
		`{"scope":"Zoë \"x\"","subject":"b","resource":"c","action":"\u0064"}`,
	} {
		if !d.question([]byte(body), new(Question)) {
			t.Errorf("%s", body)
		}
		if qs, ok := d.batch([]byte(`{"checks":[`+body+`,`+body+`]}`), nil); !ok || len(qs) != 2 {
			t.Errorf("%s in a batch", body)
		}
	}
}
