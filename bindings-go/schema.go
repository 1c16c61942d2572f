package trunkline

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// SchemaOf returns the JSON Schema of a type as arguments, as AddTool derives it: null is accepted
// wherever encoding/json reads it as nil, and structs accept no other members. A type of strings or
// numbers with a method Enum() []any has only the values that the method returns. A type may contain
// itself.
func SchemaOf[T any]() (json.RawMessage, error) {
	schema, err := schemaOf(pointed(reflect.TypeFor[T]()), inArguments)
	return schema.encoded(), err
}

// OutputSchemaOf returns the JSON Schema of a type as a result, as AddTool derives it for a tool that
// has none, except that a type that is not an object is not wrapped in one.
func OutputSchemaOf[T any]() (json.RawMessage, error) {
	schema, err := schemaOf(pointed(reflect.TypeFor[T]()), inResults)
	return schema.encoded(), err
}

// A members is a JSON object whose members have an order.
type members []member

type member struct {
	name  string
	value any
}

func (m members) MarshalJSON() ([]byte, error) {
	var written []string
	for _, member := range m {
		name, _ := json.Marshal(member.name)
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		written = append(written, string(name)+":"+string(value))
	}
	return []byte("{" + strings.Join(written, ",") + "}"), nil
}

func (m members) encoded() json.RawMessage {
	encoded, _ := json.Marshal(m)
	return encoded
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	jsonWriter = reflect.TypeFor[json.Marshaler]()
	textWriter = reflect.TypeFor[encoding.TextMarshaler]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
	enumType   = reflect.TypeFor[enumerated]()
	blockType  = reflect.TypeFor[ContentBlock]()
	numberType = reflect.TypeFor[json.Number]()
)

// known are the schemas of types that write themselves as JSON.
var known = map[reflect.Type]members{
	numberType:                   {{"type", "number"}},
	reflect.TypeFor[time.Time](): {{"type", "string"}, {"format", "date-time"}},
	reflect.TypeFor[big.Int]():   {{"type", "integer"}},
}

// pointed is the type that a pointer points to, or the type itself.
func pointed(of reflect.Type) reflect.Type {
	if of.Kind() == reflect.Pointer {
		return of.Elem()
	}
	return of
}

func inputSchema(in reflect.Type) (json.RawMessage, error) {
	in = pointed(in)
	if in.Kind() == reflect.Interface || in == rawType {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	schema, err := schemaOf(in, inArguments)
	if err == nil && !schema.isObject() {
		err = fmt.Errorf("the arguments of a tool must be a struct or a map, not %v", in)
	}
	return schema.encoded(), err
}

// outputSchema is the schema of a tool's structured content, which is an object: other values are
// wrapped in one.
func outputSchema(given reflect.Type) (schema json.RawMessage, wrapped bool, err error) {
	out := pointed(given)
	if isText(out) || out == reflect.TypeFor[CallToolResult]() || isContent(given) || out.Kind() == reflect.Interface || out == rawType {
		return nil, false, nil
	}
	found, err := schemaOf(out, inResults)
	if err != nil || found.isObject() {
		return found.encoded(), false, err
	}
	derivation := derivation{use: inResults, met: map[reflect.Type]*definition{}}
	found, err = derivation.schemaOf(given)
	found = members{{"type", "object"}, {"properties", members{{"result", found}}}, {"required", []string{"result"}}}
	return derivation.completed(found).encoded(), true, err
}

// isContent says whether values of a type are content, or lists of it.
func isContent(of reflect.Type) bool {
	isPart := func(of reflect.Type) bool {
		of = pointed(of)
		return of.Implements(blockType) || reflect.PointerTo(of).Implements(blockType) || of == reflect.TypeFor[PromptMessage]() || of == reflect.TypeFor[ResourceContents]()
	}
	return of != nil && (isPart(of) || pointed(of).Kind() == reflect.Slice && isPart(pointed(of).Elem()))
}

// isText says whether values of a type are text: those of string types.
func isText(of reflect.Type) bool { return of != nil && pointed(of).Kind() == reflect.String }

func (m members) isObject() bool { return len(m) > 0 && m[0] == member{"type", "object"} }

// A derivation derives the schemas of a type and of those inside it.
type derivation struct {
	use use
	// root is the type of the whole schema, if it is that of a type.
	root reflect.Type
	// met are the types that have names. Only these can contain themselves.
	met map[reflect.Type]*definition
	// definitions are those of the types that contain themselves, except the root.
	definitions members
}

// A definition is the schema of a type. It is nil while the types inside it are derived.
type definition struct {
	schema members
	// ref refers to it, if it contains itself.
	ref string
}

// MarshalJSON writes the schema.
func (d *definition) MarshalJSON() ([]byte, error) { return d.schema.MarshalJSON() }

// A use is what values of a type are for.
type use int

const (
	// A form for users: clients know only simple schemas.
	inForms use = iota
	inArguments
	inResults
)

// An enumerated type lists its values.
type enumerated interface{ Enum() []any }

// writesItself says whether encoding/json calls a method of the type or of a pointer to it.
func writesItself(of, writer reflect.Type) bool {
	return of.Kind() != reflect.Pointer && (of.Implements(writer) || reflect.PointerTo(of).Implements(writer))
}

func schemaOf(of reflect.Type, use use) (members, error) {
	derivation := derivation{use: use, root: of, met: map[reflect.Type]*definition{}}
	schema, err := derivation.schemaOf(of)
	return derivation.completed(schema), err
}

// completed is the whole schema, with the definitions that it refers to.
func (d *derivation) completed(schema members) members {
	if len(d.definitions) > 0 {
		schema = append(schema, member{"$defs", d.definitions})
	}
	return schema
}

// schemaOf is the schema of a type, or a reference to it inside a type that contains itself.
func (d *derivation) schemaOf(of reflect.Type) (members, error) {
	if of.Name() == "" {
		return d.derived(of)
	}
	found, isMet := d.met[of]
	switch {
	case !isMet:
		found = &definition{}
		d.met[of] = found
		schema, err := d.derived(of)
		if found.schema = schema; err != nil || of == d.root {
			return schema, err
		}
	case found.schema == nil && d.use == inForms:
		return nil, fmt.Errorf("%v contains itself, which a form cannot: its fields must be simple types", of)
	case found.schema == nil && found.ref == "":
		d.define(of, found)
	}
	if found.ref != "" {
		return members{{"$ref", found.ref}}, nil
	}
	return slices.Clone(found.schema), nil
}

// unsafeInNames are characters that a reference would have to escape, such as those of type arguments.
var unsafeInNames = regexp.MustCompile(`[^A-Za-z0-9_]+`)

func (d *derivation) define(of reflect.Type, found *definition) {
	if of == d.root {
		found.ref = "#"
		return
	}
	base := strings.Trim(unsafeInNames.ReplaceAllString(of.Name(), "_"), "_")
	name := base
	isTaken := func(other member) bool { return other.name == name }
	for i := 2; slices.ContainsFunc(d.definitions, isTaken); i++ {
		name = fmt.Sprint(base, i)
	}
	found.ref = "#/$defs/" + name
	d.definitions = append(d.definitions, member{name, found})
}

func (d *derivation) derived(of reflect.Type) (members, error) {
	schema, err := d.shape(of)
	// A struct has the methods of what it embeds.
	if err != nil || !reflect.PointerTo(of).Implements(enumType) || schema.isObject() {
		return schema, err
	}
	values := []json.RawMessage{}
	for _, value := range reflect.New(of).Interface().(enumerated).Enum() {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("the method Enum of %v: %w", of, err)
		}
		if len(schema) > 0 && (schema[0] == member{"type", "string"}) != (encoded[0] == '"') {
			return nil, fmt.Errorf("the method Enum of %v returns %s, which is not of the type %q of its JSON", of, encoded, schema[0].value)
		}
		values = append(values, encoded)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the method Enum of %v returns no values", of)
	}
	return append(schema, member{"enum", values}), nil
}

func (d *derivation) shape(of reflect.Type) (members, error) {
	schema, isKnown := known[of]
	switch {
	case isKnown:
		return slices.Clone(schema), nil
	case writesItself(of, jsonWriter):
		return members{}, nil
	case of.Kind() == reflect.String, writesItself(of, textWriter), d.use != inResults && writesItself(of, textReader) && !writesItself(of, jsonReader):
		return members{{"type", "string"}}, nil
	}
	switch of.Kind() {
	case reflect.Bool:
		return members{{"type", "boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return integer(of.Bits()-1, -1), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return integer(of.Bits(), 0), nil
	case reflect.Float32, reflect.Float64:
		return members{{"type", "number"}}, nil
	case reflect.Interface:
		return members{}, nil
	case reflect.Pointer:
		schema, err := d.schemaOf(of.Elem())
		if d.use == inForms {
			return schema, err
		}
		return schema.orNull(), err
	case reflect.Slice, reflect.Array:
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 {
			return members{{"type", "string"}, {"contentEncoding", "base64"}}, nil
		}
		items, err := d.part(of.Elem())
		list := members{{"type", "array"}, {"items", items}}
		if of.Kind() == reflect.Array {
			list = append(list, member{"minItems", of.Len()}, member{"maxItems", of.Len()})
		}
		return list, err
	case reflect.Map:
		kind := of.Key().Kind()
		if kind == reflect.String || kind >= reflect.Int && kind <= reflect.Uintptr || of.Key().Implements(textWriter) {
			values, err := d.part(of.Elem())
			return members{{"type", "object"}, {"additionalProperties", values}}, err
		}
	case reflect.Struct:
		return d.structSchema(of)
	}
	return nil, fmt.Errorf("there is no JSON Schema for %v", of)
}

// part is the schema of a type inside another one. Null arguments are read as nil slices and maps; in
// results, these are written as empty ones.
func (d *derivation) part(of reflect.Type) (members, error) {
	schema, err := d.schemaOf(of)
	if d.use == inArguments && (of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
		schema = schema.orNull()
	}
	return schema, err
}

func (m members) orNull() members {
	if len(m) == 0 || m[0].name == "anyOf" {
		// Already null.
		return m
	}
	return members{{"anyOf", []members{m, {{"type", "null"}}}}}
}

// integer has the bounds of small types. Those of 64 bits are beyond what JSON represents exactly.
func integer(bits int, sign int64) members {
	schema := members{{"type", "integer"}}
	if bits < 63 {
		return append(schema, member{"minimum", sign << bits}, member{"maximum", int64(1)<<bits - 1})
	}
	if sign == 0 {
		schema = append(schema, member{"minimum", 0})
	}
	return schema
}

func (d *derivation) structSchema(of reflect.Type) (members, error) {
	properties, required := members{}, []string{}
	for _, field := range jsonFields(of) {
		of := field.Type
		if field.mayBeAbsent && d.use == inResults {
			// Nil is left out.
			of = pointed(of)
		}
		schema, err := d.part(of)
		about := field.Tag.Get("jsonschema")
		if word, _, hasKeywords := strings.Cut(about, "="); hasKeywords && !strings.Contains(word, " ") || about == "required" {
			err = fmt.Errorf("the tag jsonschema %q must be a description: list values with a method Enum() []any of the type, and give other keywords in a schema in the descriptor", about)
		}
		if err != nil {
			return nil, fmt.Errorf("%w (in the field %s)", err, field.Name)
		}
		if about != "" {
			schema = append(schema, member{"description", about})
		}
		properties = append(properties, member{field.name, schema})
		if !field.mayBeAbsent {
			required = append(required, field.name)
		}
	}
	schema := members{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema = append(schema, member{"required", required})
	}
	if d.use == inArguments {
		schema = append(schema, member{"additionalProperties", false})
	}
	return schema, nil
}

// A jsonField is a member of a struct in JSON.
type jsonField struct {
	reflect.StructField
	name                  string
	isTagged, mayBeAbsent bool
}

// quoted are the types of numbers with the option string, by whether they are pointers.
var quoted = map[bool]reflect.Type{false: reflect.TypeFor[string](), true: reflect.TypeFor[*string]()}

// jsonFields are the fields that encoding/json writes, also those of embedded structs.
func jsonFields(of reflect.Type) []jsonField {
	all := embeddedFields(of, nil, false)
	return slices.DeleteFunc(slices.Clone(all), func(field jsonField) bool {
		return slices.ContainsFunc(all, func(other jsonField) bool {
			depth := cmp.Compare(len(field.Index), len(other.Index))
			// encoding/json takes it, and not the other one of the same name.
			isTaken := depth < 0 || depth == 0 && field.isTagged && !other.isTagged
			return other.name == field.name && !slices.Equal(other.Index, field.Index) && !isTaken
		})
	})
}

func embeddedFields(of reflect.Type, index []int, mayBeAbsent bool) []jsonField {
	var found []jsonField
	for i := range of.NumField() {
		field := of.Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		field.Index = append(slices.Clone(index), i)
		inner := pointed(field.Type)
		switch {
		case tag == "-":
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			// A struct that embeds a pointer to itself ends here, long before encoding/json does.
			if len(index) < 10 {
				found = append(found, embeddedFields(inner, field.Index, mayBeAbsent || inner != field.Type)...)
			}
		case field.IsExported():
			has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
			if kind := inner.Kind(); has("string") && (kind >= reflect.Bool && kind <= reflect.Float64 || kind == reflect.String) {
				field.Type = quoted[inner != field.Type]
			}
			optional := mayBeAbsent || has("omitempty") || has("omitzero")
			found = append(found, jsonField{field, cmp.Or(name, field.Name), name != "", optional})
		}
	}
	return found
}
