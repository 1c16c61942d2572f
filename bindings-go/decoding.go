package trunkline

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"sync"
)

// encoding/json goes through a text three times: to validate it, which the library has done, to find
// the end of each value, and to decode it. For a megabyte, that is most of what a call costs. So the
// reader decodes what is plain itself, while it checks the names of members. It leaves everything else
// to encoding/json: types with methods of their own, maps, interfaces, and whatever does not fit.

// errUnread says that encoding/json has to decode the whole text.
var errUnread = errors.New("this needs encoding/json")

// unmarshalValid is unmarshal for JSON that is valid.
func unmarshalValid(text []byte, pointer any) error {
	return planOf(reflect.TypeOf(pointer).Elem()).unmarshal(text, pointer)
}

// unmarshal is unmarshalValid for a pointer to the type of the plan.
func (p *plan) unmarshal(text []byte, pointer any) error {
	into := reflect.ValueOf(pointer).Elem()
	reader := reader{text: text}
	if len(text) > 0 {
		if err := reader.read(into, p); err != errUnread {
			return err
		}
	}
	into.SetZero()
	return unmarshalSlowly(text, pointer)
}

// how the values of a type are read.
type how int

const (
	withJSON how = iota
	asText
	asBool
	asInt
	asUint
	asFloat
	asPointer
	asSlice
	asStruct
	asRaw
	asItself
)

// A plan is how the values of a type are read.
type plan struct {
	how how
	// The members of a struct.
	members map[string]planned
	// How to decode the items of a slice, or what a pointer points to.
	items *plan
}

// planned is how a member of a struct is read.
type planned struct {
	*plan
	index []int
	// bit is its own among those of the struct.
	bit uint64
}

// plans are those of the types that were asked for.
var plans sync.Map

func planOf(of reflect.Type) *plan {
	if known, asked := plans.Load(of); asked {
		return known.(*plan)
	}
	made := planner{}.plan(of)
	plans.Store(of, made)
	return made
}

// A planner has the plans of types, which may contain themselves.
type planner map[reflect.Type]*plan

func (p planner) plan(of reflect.Type) *plan {
	if made, isKnown := p[of]; isKnown {
		return made
	}
	made := &plan{how: howRead(of)}
	p[of] = made
	switch made.how {
	case asStruct:
		if made.members = p.members(of); made.members == nil {
			made.how = withJSON
		}
	case asSlice, asPointer:
		made.items = p.plan(of.Elem())
	}
	return made
}

var plainKinds = map[reflect.Kind]how{
	reflect.Bool: asBool, reflect.String: asText, reflect.Float32: asFloat, reflect.Float64: asFloat,
	reflect.Int: asInt, reflect.Int8: asInt, reflect.Int16: asInt, reflect.Int32: asInt, reflect.Int64: asInt,
	reflect.Uint: asUint, reflect.Uint8: asUint, reflect.Uint16: asUint, reflect.Uint32: asUint, reflect.Uint64: asUint,
	reflect.Pointer: asPointer, reflect.Slice: asSlice, reflect.Struct: asStruct,
}

func howRead(of reflect.Type) how {
	switch {
	case of == rawType:
		return asRaw
	case reflect.PointerTo(of).Implements(selfReaders):
		return asItself
	case of == numberType || writesItself(of, jsonReader) || writesItself(of, textReader):
		return withJSON
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		// Base64.
		return withJSON
	}
	return plainKinds[of.Kind()]
}

// members are those of a struct, or nil if it has some that only encoding/json can set.
func (p planner) members(of reflect.Type) map[string]planned {
	fields := jsonFields(of)
	if len(fields) > 64 {
		return nil
	}
	members := make(map[string]planned, len(fields))
	for i, field := range fields {
		within := of
		for _, index := range field.Index[:len(field.Index)-1] {
			if within = within.Field(index).Type; within.Kind() == reflect.Pointer {
				return nil
			}
		}
		if within.Field(field.Index[len(field.Index)-1]).Type != field.Type {
			// A field with the option string.
			return nil
		}
		members[field.name] = planned{p.plan(field.Type), field.Index, 1 << i}
	}
	return members
}

// read decodes the value at the place. The error is errUnread, or of a type that reads itself.
func (r *reader) read(into reflect.Value, plan *plan) error {
	r.space()
	first := r.text[r.at]
	if first == 'n' && plan.how != asRaw && plan.how != asItself && plan.how != withJSON {
		// Null leaves the zero value.
		r.literal()
		return nil
	}
	switch plan.how {
	case asText:
		if first != '"' {
			return errUnread
		}
		into.SetString(unquoted(r.str()))
	case asBool:
		if first != 't' && first != 'f' {
			return errUnread
		}
		r.literal()
		into.SetBool(first == 't')
	case asInt:
		number, err := strconv.ParseInt(string(r.literal()), 10, into.Type().Bits())
		if err != nil {
			return errUnread
		}
		into.SetInt(number)
	case asUint:
		number, err := strconv.ParseUint(string(r.literal()), 10, into.Type().Bits())
		if err != nil {
			return errUnread
		}
		into.SetUint(number)
	case asFloat:
		number, err := strconv.ParseFloat(string(r.literal()), into.Type().Bits())
		if err != nil {
			return errUnread
		}
		into.SetFloat(number)
	case asPointer:
		made := reflect.New(into.Type().Elem())
		into.Set(made)
		return r.read(made.Elem(), plan.items)
	case asSlice:
		return r.readItems(into, plan.items)
	case asStruct:
		return r.readMembers(into, plan.members)
	case asRaw:
		into.SetBytes(bytes.Clone(r.skipped()))
	case asItself:
		return into.Addr().Interface().(selfReader).readValid(r.skipped())
	default:
		start := r.at
		if r.check(into.Type()) != nil || json.Unmarshal(r.text[start:r.at], into.Addr().Interface()) != nil {
			return errUnread
		}
	}
	return nil
}

func (r *reader) readItems(into reflect.Value, items *plan) error {
	if r.text[r.at] != '[' {
		return errUnread
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	r.at++
	if r.space(); r.text[r.at] == ']' {
		r.at++
		return nil
	}
	for i := 0; ; i++ {
		if i == into.Cap() {
			into.Grow(1)
		}
		into.SetLen(i + 1)
		if err := r.read(into.Index(i), items); err != nil {
			return err
		}
		if r.next() == ']' {
			return nil
		}
	}
}

func (r *reader) readMembers(into reflect.Value, members map[string]planned) error {
	if r.text[r.at] != '{' {
		return errUnread
	}
	r.at++
	if r.space(); r.text[r.at] == '}' {
		r.at++
		return nil
	}
	for seen := uint64(0); ; {
		r.space()
		name := r.str()
		name = name[1 : len(name)-1]
		member, isMember := members[string(name)]
		switch {
		case isMember && seen&member.bit != 0, !isMember && r.isSuspect(name, into.Type()):
			return errUnread
		}
		seen |= member.bit
		// The colon.
		r.next()
		if !isMember {
			r.space()
			r.skipped()
		} else if err := r.read(into.FieldByIndex(member.index), member.plan); err != nil {
			return err
		}
		if r.next() == '}' {
			return nil
		}
	}
}

// isSuspect says whether encoding/json could take a name for that of a member.
func (r *reader) isSuspect(name []byte, of reflect.Type) bool {
	_, isAlike := fieldsOf(of).folded[folded(string(name))]
	return isAlike || bytes.IndexByte(name, '\\') >= 0
}

// parts are the items of the array at the place, or the value that is none as the only one. Null has
// none.
func (r *reader) parts() [][]byte {
	r.space()
	switch r.text[r.at] {
	case 'n':
		return nil
	case '[':
		r.at++
	default:
		return [][]byte{r.skipped()}
	}
	parts := [][]byte{}
	for r.space(); r.text[r.at] != ']'; r.space() {
		parts = append(parts, r.skipped())
		if r.space(); r.text[r.at] == ',' {
			r.at++
		}
	}
	return parts
}

// literal is the number, true, false or null at the place. It is empty for other values.
func (r *reader) literal() []byte {
	start := r.at
	for r.at < len(r.text) && isLiteral[r.text[r.at]] {
		r.at++
	}
	return r.text[start:r.at]
}

// isLiteral has the characters of numbers, true, false and null.
var isLiteral = func() (found [256]bool) {
	for _, letter := range []byte("+-.0123456789Eaeflnrstu") {
		found[letter] = true
	}
	return found
}()

// skipped is the value at the place, which nothing is known about.
func (r *reader) skipped() []byte {
	start, depth := r.at, 0
	for {
		switch r.text[r.at] {
		case '"':
			r.str()
		case '{', '[':
			depth++
			r.at++
		case '}', ']':
			depth--
			r.at++
		default:
			if depth == 0 {
				return r.literal()
			}
			r.at++
		}
		if depth == 0 {
			return r.text[start:r.at]
		}
	}
}
