package trunkline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Decode decodes JSON that somebody else sent, such as the params of a request in middleware. It reads
// the JSON as it was validated, which [json.Unmarshal] does not: members match the names of fields
// exactly, and a member that differs from one only in case, or that occurs twice, is an error that
// names it. An integer may also be written as 5.0 or 1e3, as JSON Schema allows.
//
// The error is an [*InvalidError], which a handler can return. Types with a method UnmarshalJSON read
// themselves: call Decode in it. The contents of an interface or a [json.RawMessage] are not checked.
func Decode[T any](data []byte) (T, error) {
	var value T
	if err := unmarshal(data, &value); err != nil {
		return *new(T), invalid(err)
	}
	return value, nil
}

// decodeValid is Decode for JSON that is valid.
func decodeValid[T any](data []byte) (T, error) {
	var value T
	if err := unmarshalValid(data, &value); err != nil {
		return *new(T), invalid(err)
	}
	return value, nil
}

// invalid is an error of unmarshal as one that refuses arguments.
func invalid(err error) *InvalidError {
	if refused := (*InvalidError)(nil); errors.As(err, &refused) {
		return refused
	}
	return &InvalidError{Message: "the JSON does not fit: " + err.Error()}
}

// A selfReader is a type that reads itself with unmarshalValid.
type selfReader interface {
	json.Unmarshaler
	// readValid reads valid JSON.
	readValid(data []byte) error
}

// unmarshal decodes into what the pointer points to, which must have its zero value.
func unmarshal(text []byte, pointer any) error {
	if !json.Valid(text) {
		// The error of encoding/json says why.
		return json.Unmarshal(text, new(json.RawMessage))
	}
	return unmarshalValid(text, pointer)
}

// unmarshalItself is UnmarshalJSON of a type that reads itself.
func unmarshalItself(data []byte, self selfReader) error {
	if !json.Valid(data) {
		return json.Unmarshal(data, new(json.RawMessage))
	}
	return self.readValid(data)
}

// unmarshalSlowly decodes with encoding/json, and finds what is wrong if anything is.
func unmarshalSlowly(text []byte, pointer any) error {
	of := reflect.TypeOf(pointer).Elem()
	isModel := of.PkgPath() == ownPath
	err := json.Unmarshal(text, pointer)
	if err != nil && isModel {
		err = unmarshalHuge(text, pointer, err)
	}
	if err != nil {
		if !json.Valid(text) {
			return err
		}
		written := whole(text)
		reflect.ValueOf(pointer).Elem().SetZero()
		err = json.Unmarshal(written, pointer)
		if err != nil && isModel {
			err = unmarshalHuge(written, pointer, err)
		}
		if err != nil {
			return err
		}
	}
	reader := reader{text: text}
	return reader.check(of)
}

// ownPath is that of this package, whose types are models.
var ownPath = reflect.TypeFor[reader]().PkgPath()

// maxHugeNumbers may be too large in one answer.
const maxHugeNumbers = 100

// unmarshalHuge decodes a model that failed to decode because of numbers that are beyond the types of
// Go: they are the largest ones. JSON has numbers of any size.
func unmarshalHuge(text []byte, pointer any, err error) error {
	for range maxHugeNumbers {
		failure := new(json.UnmarshalTypeError)
		if !errors.As(err, &failure) {
			return err
		}
		number, isNumber := strings.CutPrefix(failure.Value, "number ")
		value, tooLarge := strconv.ParseFloat(number, 64)
		// The offset is that of the end, or of the character behind it.
		start := bytes.LastIndex(text[:min(max(failure.Offset, 0), int64(len(text)))], []byte(number))
		end := start + len(number)
		if !isNumber || start < 0 || int64(end) < failure.Offset-1 || tooLarge == nil && math.Abs(value) < 1<<63 {
			return err
		}
		largest := strconv.FormatInt(math.MaxInt64, 10)
		if kind := failure.Type.Kind(); kind == reflect.Float64 || kind == reflect.Interface {
			largest = strconv.FormatFloat(math.MaxFloat64, 'g', -1, 64)
		}
		if value < 0 {
			largest = "-" + largest
		}
		text = slices.Concat(text[:start], []byte(largest), text[end:])
		reflect.ValueOf(pointer).Elem().SetZero()
		if err = json.Unmarshal(text, pointer); err == nil {
			return nil
		}
	}
	return err
}

// whole is valid JSON in which integers have no fraction or exponent. All else is as it was written.
func whole(text []byte) []byte {
	written := make([]byte, 0, len(text))
	for reader := (reader{text: text}); reader.at < len(text); {
		start := reader.at
		if text[start] == '"' {
			reader.str()
		} else if literal := reader.literal(); len(literal) == 0 {
			reader.at++
		} else if number, err := strconv.ParseFloat(string(literal), 64); err == nil && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
			// A larger one may be rounded.
			written = strconv.AppendFloat(written, number, 'f', -1, 64)
			continue
		}
		written = append(written, text[start:reader.at]...)
	}
	return written
}

// A reader walks through valid JSON next to the type that it was decoded into, and finds what
// encoding/json reads in another way than a validator: names of members in any case, and members that
// occur twice, which it merges.
type reader struct {
	text []byte
	at   int
	// path has the names of the members and the indexes of the items around the value.
	path []any
}

var selfReaders = reflect.TypeFor[selfReader]()

// opaque is the type of values that read themselves: only members that occur twice are refused there.
var opaque = reflect.TypeFor[json.Unmarshaler]()

// readAs is how the values of a type are read: nil if nothing in them needs a check.
func readAs(of reflect.Type) reflect.Type {
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == nil || of == opaque:
		return of
	case of == rawType || of.Kind() == reflect.Interface || reflect.PointerTo(of).Implements(selfReaders):
		// The program decodes the contents, or the type does.
		return nil
	case writesItself(of, jsonReader):
		return opaque
	}
	return of
}

func (r *reader) check(of reflect.Type) error {
	of = readAs(of)
	r.space()
	switch first := r.text[r.at]; {
	case of != nil && first == '{':
		return r.object(of)
	case of != nil && first == '[':
		return r.array(of)
	}
	r.skipped()
	return nil
}

func (r *reader) space() {
	for r.text[r.at] <= ' ' {
		r.at++
	}
}

// next is the first character after a value and its space.
func (r *reader) next() byte {
	r.space()
	r.at++
	return r.text[r.at-1]
}

// str is the string at the place, with its quotes.
func (r *reader) str() []byte {
	start := r.at
	for r.at++; ; r.at++ {
		r.at += bytes.IndexByte(r.text[r.at:], '"')
		before := bytes.TrimRight(r.text[start+1:r.at], `\`)
		if (r.at-start-1-len(before))%2 == 0 {
			r.at++
			return r.text[start:r.at]
		}
	}
}

func (r *reader) array(of reflect.Type) error {
	var items reflect.Type
	if of == opaque {
		items = opaque
	} else if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Array) {
		items = of.Elem()
	}
	r.at++
	r.space()
	if r.text[r.at] == ']' {
		r.at++
		return nil
	}
	for i := 0; ; i++ {
		r.path = append(r.path, i)
		if err := r.check(items); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		if r.next() == ']' {
			return nil
		}
	}
}

func (r *reader) object(of reflect.Type) error {
	fields := fieldsOf(of)
	var seen map[string]bool
	r.at++
	r.space()
	if r.text[r.at] == '}' {
		r.at++
		return nil
	}
	for {
		r.space()
		name := unquoted(r.str())
		// Its type, and whether a member of the same name would be merged with it.
		var member reflect.Type
		var once bool
		switch {
		case of == opaque:
			member, once = opaque, true
		case fields != nil:
			if member, once = fields.types[name]; once {
				break
			}
			if similar, alike := fields.folded[folded(name)]; alike {
				return r.refused(name, fmt.Sprintf("the member %q differs from %q only in case; names must match exactly", name, similar))
			}
		case of != nil && of.Kind() == reflect.Map:
			// The last one counts, as for validators.
			member = of.Elem()
		}
		if seen[name] {
			return r.refused(name, fmt.Sprintf("the member %q occurs twice", name))
		}
		if once && seen == nil {
			seen = map[string]bool{}
		}
		if once {
			seen[name] = true
		}
		r.path = append(r.path, name)
		// The colon.
		r.next()
		if err := r.check(member); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		if r.next() == '}' {
			return nil
		}
	}
}

func (r *reader) refused(name, reason string) error {
	var pointer strings.Builder
	for _, step := range append(r.path, name) {
		pointer.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(fmt.Sprint(step)))
	}
	return &InvalidError{Path: pointer.String(), Message: reason}
}

// unquoted is the text of a string, as encoding/json reads it.
func unquoted(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	if !utf8.Valid(inner) {
		var text string
		_ = json.Unmarshal(quoted, &text)
		return text
	}
	escape := bytes.IndexByte(inner, '\\')
	if escape < 0 {
		return string(inner)
	}
	var text strings.Builder
	text.Grow(len(inner))
	for ; escape >= 0; escape = bytes.IndexByte(inner, '\\') {
		text.Write(inner[:escape])
		letter, rest := unescaped(inner[escape:])
		text.WriteRune(letter)
		inner = rest
	}
	text.Write(inner)
	return text.String()
}

// escapes are those of a letter.
var escapes = [256]rune{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped is the letter of the escape at the begin of a text, and the rest. Half of a pair of
// surrogates is the replacement character.
func unescaped(text []byte) (letter rune, rest []byte) {
	unit := func(text []byte) rune {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return -1
		}
		number, err := strconv.ParseUint(string(text[2:6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(number)
	}
	if text[1] != 'u' {
		return cmp.Or(escapes[text[1]], rune(text[1])), text[2:]
	}
	first, rest := unit(text), text[6:]
	if !utf16.IsSurrogate(first) {
		return first, rest
	}
	if both := utf16.DecodeRune(first, unit(rest)); both != unicode.ReplacementChar {
		return both, rest[6:]
	}
	return unicode.ReplacementChar, rest
}

// An objectType has the fields of a struct, by their names in JSON, and those names by their folded form.
type objectType struct {
	types  map[string]reflect.Type
	folded map[string]string
}

// objectTypes are the structs that were asked for.
var objectTypes sync.Map

// fieldsOf are the fields of a struct, or nil for other types.
func fieldsOf(of reflect.Type) *objectType {
	if of == nil || of.Kind() != reflect.Struct {
		return nil
	}
	if known, asked := objectTypes.Load(of); asked {
		return known.(*objectType)
	}
	found := &objectType{map[string]reflect.Type{}, map[string]string{}}
	for _, field := range jsonFields(of) {
		found.types[field.name] = field.Type
		found.folded[folded(field.name)] = field.name
	}
	objectTypes.Store(of, found)
	return found
}

// folded is the same for names that encoding/json takes for each other: it also folds ſ to s, and the
// Kelvin sign to k.
func folded(name string) string {
	return strings.Map(func(letter rune) rune {
		smallest := letter
		for next := unicode.SimpleFold(letter); next != letter; next = unicode.SimpleFold(next) {
			smallest = min(smallest, next)
		}
		return smallest
	}, name)
}
