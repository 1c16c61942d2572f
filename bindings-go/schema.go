package trunkline

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// SchemaOf is the JSON Schema of a type, as AddTool derives it.
func SchemaOf[T any]() (json.RawMessage, error) {
	schema, err := schemaOf(reflect.TypeFor[T](), nil)
	return schema.encoded(), err
}

// A members is a JSON object whose members have an order.
type members []member

type member struct {
	name  string
	value any
}

func (m members) MarshalJSON() ([]byte, error) {
	var written strings.Builder
	written.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			written.WriteByte(',')
		}
		name, err := json.Marshal(member.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		written.Write(append(append(name, ':'), value...))
	}
	written.WriteByte('}')
	return []byte(written.String()), nil
}

func (m members) encoded() json.RawMessage {
	encoded, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return encoded
}

var (
	rawType     = reflect.TypeFor[json.RawMessage]()
	timeType    = reflect.TypeFor[time.Time]()
	bytesType   = reflect.TypeFor[[]byte]()
	jsonWriter  = reflect.TypeFor[json.Marshaler]()
	textWriter  = reflect.TypeFor[encoding.TextMarshaler]()
	blockType   = reflect.TypeFor[ContentBlock]()
	blocksType  = reflect.TypeFor[[]ContentBlock]()
	resultType  = reflect.TypeFor[CallToolResult]()
	emptyObject = json.RawMessage(`{"type":"object"}`)
)

func inputSchema(in reflect.Type) (json.RawMessage, error) {
	switch {
	case in.Kind() == reflect.Struct && in.NumField() == 0, in.Kind() == reflect.Interface:
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`), nil
	case in == rawType:
		return emptyObject, nil
	}
	schema, err := schemaOf(in, nil)
	if err == nil && !schema.isObject() {
		err = fmt.Errorf("trunkline: the arguments of a tool must be a struct or a map, not %v", in)
	}
	return schema.encoded(), err
}

// outputSchema is the schema of a tool's structured content, which is an object: other values are
// wrapped in one.
func outputSchema(out reflect.Type) (schema json.RawMessage, wrapped bool, err error) {
	if out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	isContent := out == resultType || out.Implements(blockType) || reflect.PointerTo(out).Implements(blockType) || out.ConvertibleTo(blocksType)
	if isContent || out.Kind() == reflect.Interface || out.Kind() == reflect.String || out == rawType {
		return nil, false, nil
	}
	found, err := schemaOf(out, nil)
	if err != nil || found.isObject() {
		return found.encoded(), false, err
	}
	object := members{{"type", "object"}, {"properties", members{{"result", found}}}, {"required", []string{"result"}}}
	return object.encoded(), true, nil
}

func (m members) isObject() bool { return len(m) > 0 && m[0] == member{"type", "object"} }

// schemaOf is the schema of a type inside the types around it.
func schemaOf(of reflect.Type, around []reflect.Type) (members, error) {
	for _, outer := range around {
		if outer == of {
			return nil, fmt.Errorf("trunkline: %v contains itself: give the schema in the descriptor", of)
		}
	}
	around = append(around, of)
	switch {
	case of == rawType:
		return members{}, nil
	case of == timeType:
		return members{{"type", "string"}, {"format", "date-time"}}, nil
	case of == bytesType:
		return members{{"type", "string"}, {"contentEncoding", "base64"}}, nil
	case of.Kind() != reflect.Pointer && of.Implements(jsonWriter):
		return members{}, nil
	case of.Kind() != reflect.Pointer && of.Implements(textWriter):
		return members{{"type", "string"}}, nil
	}
	switch of.Kind() {
	case reflect.Bool:
		return members{{"type", "boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return members{{"type", "integer"}}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return members{{"type", "integer"}, {"minimum", 0}}, nil
	case reflect.Float32, reflect.Float64:
		return members{{"type", "number"}}, nil
	case reflect.String:
		return members{{"type", "string"}}, nil
	case reflect.Interface:
		return members{}, nil
	case reflect.Pointer:
		return schemaOf(of.Elem(), around)
	case reflect.Slice, reflect.Array:
		items, err := schemaOf(of.Elem(), around)
		return members{{"type", "array"}, {"items", items}}, err
	case reflect.Map:
		values, err := schemaOf(of.Elem(), around)
		return members{{"type", "object"}, {"additionalProperties", values}}, err
	case reflect.Struct:
		return structSchema(of, around)
	default:
		return nil, fmt.Errorf("trunkline: there is no JSON Schema for %v", of)
	}
}

func structSchema(of reflect.Type, around []reflect.Type) (members, error) {
	properties, required := members{}, []string{}
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		inside := field.Anonymous && name == "" || len(field.Index) > 1 && !promoted(of, field)
		if !field.IsExported() || name == "-" && options == "" || inside {
			continue
		}
		if name == "" {
			name = field.Name
		}
		schema, err := schemaOf(field.Type, around)
		if err != nil {
			return nil, err
		}
		if about := field.Tag.Get("jsonschema"); about != "" {
			schema = append(schema, member{"description", about})
		}
		properties = append(properties, member{name, schema})
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	schema := members{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema = append(schema, member{"required", required})
	}
	return schema, nil
}

// promoted says whether all structs that a field is in are embedded without a name of their own.
func promoted(of reflect.Type, field reflect.StructField) bool {
	for depth := 1; depth < len(field.Index); depth++ {
		outer := of.FieldByIndex(field.Index[:depth])
		name, _, _ := strings.Cut(outer.Tag.Get("json"), ",")
		if !outer.Anonymous || name != "" {
			return false
		}
	}
	return true
}
