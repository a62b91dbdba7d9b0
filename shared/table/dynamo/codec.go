package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/wardenhq/warden/shared/table"
	"github.com/wardenhq/warden/shared/table/keys"
)

type attributes = map[string]types.AttributeValue

func encodeKey(k keys.Raw) attributes {
	return attributes{attrPK: text(k.PK()), attrSK: text(k.SK())}
}

// encode leaves attributes out that are empty.
func encode(it *table.Item) attributes {
	m := encodeKey(it.Key)
	m[attrType] = text(it.Type)
	m[attrVersion] = number(it.Version)
	m[attrFormat] = &types.AttributeValueMemberN{Value: strconv.Itoa(it.Format)}
	setTime(m, attrCreatedAt, it.CreatedAt)
	setTime(m, attrUpdatedAt, it.UpdatedAt)
	setText(m, attrActor, it.Actor)
	setText(m, attrRequestID, it.RequestID)
	setText(m, attrLastEvent, it.LastEvent)
	setText(m, attrBody, string(it.Body))
	for i, k := range it.Index {
		if !k.IsZero() {
			pk, sk := indexAttrs(keys.Index(i + 1))
			m[pk], m[sk] = text(k.PK()), text(k.SK())
		}
	}
	if it.TTL != 0 {
		m[attrTTL] = &types.AttributeValueMemberN{Value: strconv.FormatInt(it.TTL, 10)}
	}
	if len(it.Blob) > 0 {
		m[attrBlob] = &types.AttributeValueMemberB{Value: it.Blob}
	}
	return m
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n uint64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatUint(n, 10)}
}

func setText(m attributes, name, value string) {
	if value != "" {
		m[name] = text(value)
	}
}

func setTime(m attributes, name string, t time.Time) {
	if !t.IsZero() {
		m[name] = text(t.UTC().Format(table.TimeLayout))
	}
}

// decode reads an item of the table, or what an index projects of one. An
// attribute of another type than encode gives it is table.ErrFormat.
func decode(m attributes) (*table.Item, error) {
	r := decoder{m: m}
	it := &table.Item{
		Key:       keys.Stored(r.text(attrPK), r.text(attrSK)),
		Type:      r.text(attrType),
		Version:   r.number(attrVersion),
		Format:    int(r.number(attrFormat)),
		CreatedAt: r.time(attrCreatedAt),
		UpdatedAt: r.time(attrUpdatedAt),
		Actor:     r.text(attrActor),
		RequestID: r.text(attrRequestID),
		LastEvent: r.text(attrLastEvent),
		TTL:       int64(r.number(attrTTL)),
		Blob:      r.bytes(attrBlob),
	}
	if body := r.text(attrBody); body != "" {
		it.Body = []byte(body)
	}
	for i := range it.Index {
		pk, sk := indexAttrs(keys.Index(i + 1))
		it.Index[i] = keys.StoredIndexKey(r.text(pk), r.text(sk))
	}
	return it, r.err
}

// decoder reads attributes; the first of a wrong type is its err.
type decoder struct {
	m   attributes
	err error
}

// is reads an attribute of one type, and its zero value when there is none.
func is[T types.AttributeValue](r *decoder, name string) (value T, ok bool) {
	v, there := r.m[name]
	if !there {
		return value, false
	}
	if value, ok = v.(T); !ok {
		r.fail(name)
	}
	return value, ok
}

func (r *decoder) fail(name string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: attribute %s", table.ErrFormat, name)
	}
}

func (r *decoder) text(name string) string {
	if v, ok := is[*types.AttributeValueMemberS](r, name); ok {
		return v.Value
	}
	return ""
}

func (r *decoder) bytes(name string) []byte {
	if v, ok := is[*types.AttributeValueMemberB](r, name); ok {
		return v.Value
	}
	return nil
}

func (r *decoder) number(name string) uint64 {
	v, ok := is[*types.AttributeValueMemberN](r, name)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(v.Value, 10, 64)
	if err != nil {
		r.fail(name)
	}
	return n
}

func (r *decoder) time(name string) time.Time {
	v, ok := is[*types.AttributeValueMemberS](r, name)
	if !ok {
		return time.Time{}
	}
	t, err := time.Parse(table.TimeLayout, v.Value)
	if err != nil {
		r.fail(name)
	}
	return t
}
