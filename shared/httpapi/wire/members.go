package wire

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// member is one name of a struct's JSON object.
type member struct {
	name     string
	typ      reflect.Type
	required bool
}

// membersOf lists the members of a struct type, those of embedded structs among
// them. Structs of more than 64 members are a defect of the type.
func membersOf(t reflect.Type) []member {
	var all []member
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			all = append(all, membersOf(f.Type)...)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			name = f.Name
		}
		_, nullable := nullableOf(f.Type)
		o := strings.Split(options, ",")
		all = append(all, member{
			name:     name,
			typ:      f.Type,
			required: !nullable && !slices.Contains(o, "omitzero") && !slices.Contains(o, "omitempty"),
		})
	}
	return all
}

// nullableOf is the type of the value behind a pointer or an Optional, and
// whether there was one: whether null stands for something.
func nullableOf(t reflect.Type) (reflect.Type, bool) {
	if t.Kind() == reflect.Pointer {
		return t.Elem(), true
	}
	if o, ok := reflect.Zero(t).Interface().(interface{ valueType() reflect.Type }); ok {
		return o.valueType(), true
	}
	return t, false
}

// place is where in a body a value stands, as a chain up to the body itself.
type place struct {
	up    *place
	name  string // of a member
	list  bool   // an element of a list, at index
	index int
}

// String is the public form: "checks[3].scope", and "body" for the whole.
func (p *place) String() string {
	if p == nil {
		return "body"
	}
	var b []byte
	return string(p.append(b))
}

func (p *place) append(b []byte) []byte {
	if p.up != nil {
		b = p.up.append(b)
	}
	if p.list {
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(p.index), 10)
		return append(b, ']')
	}
	if len(b) > 0 {
		b = append(b, '.')
	}
	return append(b, shorten(p.name)...)
}
