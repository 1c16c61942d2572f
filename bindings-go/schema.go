package trunkline

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

// SchemaOf returns the JSON Schema of a type as arguments, as AddTool derives it: null is accepted
// wherever encoding/json reads it as nil, and structs accept no other members.
func SchemaOf[T any]() (json.RawMessage, error) {
	schema, err := schemaOf(pointed(reflect.TypeFor[T]()), ofArguments)
	return schema.encoded(), err
}

// OutputSchemaOf returns the JSON Schema of a type as a result, as AddTool derives it for a tool that
// has none, except that a type that is not an object is not wrapped in one.
func OutputSchemaOf[T any]() (json.RawMessage, error) {
	schema, err := schemaOf(pointed(reflect.TypeFor[T]()), ofResults)
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
	blockType  = reflect.TypeFor[ContentBlock]()
)

// known are the schemas of types that write themselves as JSON.
var known = map[reflect.Type]members{
	reflect.TypeFor[json.Number](): {{"type", "number"}},
	reflect.TypeFor[time.Time]():   {{"type", "string"}, {"format", "date-time"}},
	reflect.TypeFor[big.Int]():     {{"type", "integer"}},
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
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	schema, err := schemaOf(in, ofArguments)
	if err == nil && !schema.isObject() {
		err = fmt.Errorf("trunkline: the arguments of a tool must be a struct or a map, not %v", in)
	}
	if err == nil && in.Kind() == reflect.Map {
		// Some model providers refuse a tool without it, and all others in the request.
		schema = slices.Insert(schema, 1, member{"properties", members{}})
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
	found, err := schemaOf(out, ofResults)
	if err != nil || found.isObject() {
		return found.encoded(), false, err
	}
	found, err = schemaOf(given, ofResults)
	return members{{"type", "object"}, {"properties", members{{"result", found}}}, {"required", []string{"result"}}}.encoded(), true, err
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

// A derivation derives the schema of a type inside the types around it.
type derivation struct {
	use    use
	around []reflect.Type
}

// A use is what values of a type are for.
type use int

const (
	// A form for users: clients know only simple schemas.
	inForms use = iota
	inArguments
	inResults
)

var ofForms, ofArguments, ofResults = derivation{use: inForms}, derivation{use: inArguments}, derivation{use: inResults}

// writesItself says whether encoding/json calls a method of the type or of a pointer to it.
func writesItself(of, writer reflect.Type) bool {
	return of.Kind() != reflect.Pointer && (of.Implements(writer) || reflect.PointerTo(of).Implements(writer))
}

func schemaOf(of reflect.Type, derivation derivation) (members, error) {
	if slices.Contains(derivation.around, of) {
		return nil, fmt.Errorf("trunkline: %v contains itself: give the schema in the descriptor", of)
	}
	derivation.around = append(derivation.around, of)
	schema, isKnown := known[of]
	switch {
	case isKnown:
		return slices.Clone(schema), nil
	case writesItself(of, jsonWriter):
		return members{}, nil
	case of.Kind() == reflect.String, writesItself(of, textWriter), derivation.use != inResults && writesItself(of, textReader) && !writesItself(of, jsonReader):
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
		schema, err := schemaOf(of.Elem(), derivation)
		if derivation.use == inForms {
			return schema, err
		}
		return schema.orNull(), err
	case reflect.Slice, reflect.Array:
		if of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8 {
			return derivation.nilable(members{{"type", "string"}, {"contentEncoding", "base64"}}), nil
		}
		items, err := schemaOf(of.Elem(), derivation)
		list := members{{"type", "array"}, {"items", items}}
		if of.Kind() == reflect.Array {
			return append(list, member{"minItems", of.Len()}, member{"maxItems", of.Len()}), err
		}
		return derivation.nilable(list), err
	case reflect.Map:
		kind := of.Key().Kind()
		if kind == reflect.String || kind >= reflect.Int && kind <= reflect.Uintptr || of.Key().Implements(textWriter) {
			values, err := schemaOf(of.Elem(), derivation)
			return derivation.nilable(members{{"type", "object"}, {"additionalProperties", values}}), err
		}
	case reflect.Struct:
		return structSchema(of, derivation)
	}
	return nil, fmt.Errorf("trunkline: there is no JSON Schema for %v", of)
}

// nilable is the schema of a slice or a map inside another type. Null arguments are read as nil; in
// results, nil is written as an empty one.
func (derivation derivation) nilable(schema members) members {
	if derivation.use == inArguments && len(derivation.around) > 1 {
		return schema.orNull()
	}
	return schema
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

func structSchema(of reflect.Type, derivation derivation) (members, error) {
	properties, required := members{}, []string{}
	for _, field := range jsonFields(of) {
		of := field.Type
		if field.mayBeAbsent && derivation.use == inResults {
			// Nil is left out.
			of = pointed(of)
		}
		schema, err := schemaOf(of, derivation)
		about := field.Tag.Get("jsonschema")
		if word, _, hasKeywords := strings.Cut(about, "="); hasKeywords && !strings.Contains(word, " ") || about == "required" {
			err = fmt.Errorf("trunkline: the tag jsonschema %q must be a description: give the schema in the descriptor", about)
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
	if derivation.use == inArguments {
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
