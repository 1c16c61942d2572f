package trunkline

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// filled is a pointer to a copy of a value in which nil slices and maps are empty, as the schema of
// its type has them. What the program keeps is not changed.
func filled(value any) any {
	// A method of a pointer to a member is only called if the struct has an address.
	if of := reflect.TypeOf(value); of == nil || of.Kind() != reflect.Struct && !holdsLists(of) {
		return value
	}
	filler := filler{}
	made := filler.copied(reflect.ValueOf(value))
	if filler.isTooDeep {
		return value
	}
	return made.Interface()
}

// maxDepth is where encoding/json begins to look for a cycle, which it reports.
const maxDepth = 1000

type filler struct {
	depth     int
	isTooDeep bool
}

// copied is a pointer to a filled copy.
func (f *filler) copied(value reflect.Value) reflect.Value {
	made := reflect.New(value.Type())
	made.Elem().Set(value)
	f.fill(made.Elem())
	return made
}

// fill fills a value that nobody else has.
func (f *filler) fill(value reflect.Value) {
	of := value.Type()
	if f.isTooDeep || !holdsLists(of) || !value.CanSet() && of.Kind() != reflect.Struct {
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	f.isTooDeep = f.depth > maxDepth
	switch of.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			value.Set(f.copied(value.Elem()))
		}
	case reflect.Slice, reflect.Array:
		haveLists := holdsLists(of.Elem())
		if of.Kind() == reflect.Slice && (haveLists || value.IsNil()) {
			value.Set(reflect.AppendSlice(reflect.MakeSlice(of, 0, value.Len()), value))
		}
		if haveLists {
			for i := range value.Len() {
				f.fill(value.Index(i))
			}
		}
	case reflect.Map:
		if value.IsNil() || holdsLists(of.Elem()) {
			made := reflect.MakeMapWithSize(of, value.Len())
			for key, item := range value.Seq2() {
				made.SetMapIndex(key, f.copied(item).Elem())
			}
			value.Set(made)
		}
	case reflect.Struct:
		for i := range of.NumField() {
			// An empty list would not be left out.
			field := of.Field(i)
			if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); isWritten(field) && !strings.Contains(options, "omitzero") {
				f.fill(value.Field(i))
			}
		}
	}
}

// isWritten says whether encoding/json writes a field, or fields of it.
func isWritten(field reflect.StructField) bool {
	return field.Tag.Get("json") != "-" && (field.IsExported() || field.Anonymous)
}

// listHolders are the types that were asked for.
var listHolders sync.Map

// holdsLists says whether values of a type have slices or maps, or are such.
func holdsLists(of reflect.Type) bool {
	if known, asked := listHolders.Load(of); asked {
		return known.(bool)
	}
	// A type that contains itself is taken to have some.
	listHolders.Store(of, true)
	holds := of.Kind() == reflect.Slice || of.Kind() == reflect.Map
	switch of.Kind() {
	case reflect.Pointer, reflect.Array:
		holds = holdsLists(of.Elem())
	case reflect.Struct:
		for i := range of.NumField() {
			field := of.Field(i)
			holds = holds || isWritten(field) && holdsLists(field.Type)
		}
	}
	isModel := reflect.PointerTo(of).Implements(selfReaders)
	holds = holds && (isModel || !writesItself(of, jsonWriter) && !writesItself(of, textWriter))
	listHolders.Store(of, holds)
	return holds
}

// Result is the result of a tool that has content of its own for the model as well as a typed value.
// Return it, or a pointer to it, from the handler of [AddTool]: the output schema of the tool is that
// of Value, as if the handler returned only the value.
type Result[Value any] struct {
	// Content is for the model. If it is empty, the model reads the value as JSON.
	Content ContentBlocks
	// Value is the structured content. Nil slices and maps in it are empty ones.
	Value Value
	// Meta is metadata, by reverse-domain name.
	Meta any
}

// contentAndValue is any Result.
type contentAndValue interface {
	valueType() reflect.Type
	// result is in the form of the protocol. A wrapped value is a member of an object.
	result(isWrapped bool) (*CallToolResult, error)
}

func (Result[Value]) valueType() reflect.Type { return reflect.TypeFor[Value]() }

func (r Result[Value]) result(isWrapped bool) (*CallToolResult, error) {
	value := filled(allocated(r.Value))
	if isWrapped {
		value = map[string]any{"result": value}
	}
	encoded, err := encodeAny(value)
	if err != nil {
		return nil, err
	}
	content := r.Content
	if len(content) == 0 {
		content = ContentBlocks{&TextContent{Text: encoded}}
	}
	return &CallToolResult{Content: content, StructuredContent: json.RawMessage(encoded), Meta: r.Meta}, nil
}

// valueType is the type of the structured content of a handler's results.
func valueType(of reflect.Type) reflect.Type {
	if both, hasBoth := reflect.Zero(pointed(of)).Interface().(contentAndValue); hasBoth {
		return both.valueType()
	}
	return of
}
