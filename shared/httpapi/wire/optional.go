package wire

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Optional is a member of a JSON Merge Patch (RFC 7396): absent, null or a
// value. The zero value is absent. Its tag should say omitzero.
type Optional[T any] struct {
	value T
	state presence
}

type presence uint8

const (
	absent presence = iota
	null
	present
)

// Some is an Optional that has a value.
func Some[T any](v T) Optional[T] { return Optional[T]{value: v, state: present} }

// Null is an Optional that is null: the member is to be removed.
func Null[T any]() Optional[T] { return Optional[T]{state: null} }

// Get is the value, and whether there is one.
func (o Optional[T]) Get() (T, bool) { return o.value, o.state == present }

// IsNull says whether the member was null.
func (o Optional[T]) IsNull() bool { return o.state == null }

// IsZero says whether the member was absent.
func (o Optional[T]) IsZero() bool { return o.state == absent }

// Merge carries the patch out on one member: an absent one leaves it, null makes
// it zero, a value replaces it.
func (o Optional[T]) Merge(into *T) {
	if o.state != absent {
		*into = o.value
	}
}

// MarshalJSONTo writes the value or null.
func (o Optional[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	if o.state != present {
		return e.WriteToken(jsontext.Null)
	}
	return json.MarshalEncode(e, o.value)
}

// UnmarshalJSONFrom reads the value or null.
func (o *Optional[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == 'n' {
		*o = Null[T]()
		return d.SkipValue()
	}
	var v T
	if err := json.UnmarshalDecode(d, &v); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}

func (Optional[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }
