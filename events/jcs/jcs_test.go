package jcs_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wardenhq/warden/events/jcs"
)

// The values and their forms are those of RFC 8785, sections 3.2.2 and 3.2.3.
func TestCanonical(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"the RFC's sample": {
			`{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"the RFC's order of names": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"what is not escaped": {`"<&>\u2028\u2029\u007f\/"`, "\"<&>\u2028\u2029\u007f/\""},
		"short escapes":       {`"\u0008\u0009\u000a\u000c\u000d\u0000\u001F"`, `"\b\t\n\f\r\u0000\u001f"`},
		"empty":               {` [ { } , [ ] , "" ] `, `[{},[],""]`},
		"zeros":               {`[0,-0,0.0,-0e5]`, `[0,0,0,0]`},
		"the largest integer": {`[9007199254740991,-9007199254740991]`, `[9007199254740991,-9007199254740991]`},
		"nested names":        {`{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}`, `{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := jcs.Canonical([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// RFC 8785, appendix B: IEEE 754 bits and their form.
func TestNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		if got := string(jcs.Append(nil, math.Float64frombits(bits))); got != want {
			t.Errorf("%#x is %s, want %s", bits, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want error
	}{
		"nothing":                    {``, jcs.ErrSyntax},
		"two values":                 {`{} {}`, jcs.ErrSyntax},
		"a comma too many":           {`[1,]`, jcs.ErrSyntax},
		"a name twice":               {`{"a":1,"a":1}`, jcs.ErrDuplicate},
		"a name twice, escaped":      {`[{"a":1,"\u0061":2}]`, jcs.ErrDuplicate},
		"bytes that are no UTF-8":    {"\"\xff\"", jcs.ErrUnicode},
		"a high surrogate alone":     {`"\ud800"`, jcs.ErrUnicode},
		"a high surrogate, a letter": {`"\ud800\u0041"`, jcs.ErrUnicode},
		"a low surrogate alone":      {`"x\udc00"`, jcs.ErrUnicode},
		"a low one after a pair":     {`"\ud83d\ude00\ude00"`, jcs.ErrUnicode},
		"2^53":                       {`9007199254740992`, jcs.ErrNumber},
		"beyond a double":            {`1e400`, jcs.ErrNumber},
	} {
		if _, err := jcs.Canonical([]byte(c.in)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAppendPanicsOnOtherValues(t *testing.T) {
	for _, v := range []any{1, []string{"a"}, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken", v)
				}
			}()
			jcs.Append(nil, v)
		}()
	}
}

// What is accepted has the form that another implementation gives it, and that
// form is its own.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":[1,2.50,-0,1e30,1E-7],"a":"\u20ac\n\ud83d\ude00\\u0041"}`, `"\ud800"`, `{"a":1,"a":2}`, `9007199254740993`, `[[[]]]`, "\"\x80\"",
		strconv.Quote("\u2028<>"),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := jcs.Canonical([]byte(s))
		if err != nil {
			return
		}
		want := jsontext.Value(s)
		if err := want.Canonicalize(); err != nil {
			t.Fatalf("%q is refused by the other: %v", s, err)
		}
		if string(got) != string(want) {
			t.Fatalf("%q is %s, want %s", s, got, want)
		}
		again, err := jcs.Canonical(got)
		if err == nil && string(again) != string(got) {
			t.Fatalf("%s became %s", got, again)
		}
	})
}
