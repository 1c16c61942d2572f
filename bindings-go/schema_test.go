package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type identity struct {
	ID   string `json:"id"`
	Note string `json:"note"`
}

type Label string

type blob []byte

type upper struct{ text string }

func (u *upper) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(u.text)), nil }

func (u *upper) UnmarshalText(text []byte) error {
	u.text = strings.ToLower(string(text))
	return nil
}

type shapes struct {
	identity
	Label
	*city
	// It hides the note of the embedded struct.
	Text    string           `json:"note"`
	Quoted  int              `json:"quoted,string"`
	Ratio   *float64         `json:"ratio,string,omitempty"`
	Huge    big.Int          `json:"huge"`
	Number  json.Number      `json:"number"`
	Raw     json.RawMessage  `json:"raw"`
	At      time.Time        `json:"at"`
	Address netip.Addr       `json:"address"`
	Upper   upper            `json:"upper"`
	Bytes   blob             `json:"bytes"`
	Small   int8             `json:"small"`
	Port    uint16           `json:"port"`
	Count   uint             `json:"count"`
	ByID    map[int]identity `json:"byId"`
	Hidden  string           `json:"-"`
	Dash    string           `json:"-,"`
}

func TestSchemasAreWhatEncodingJSONWrites(t *testing.T) {
	found, err := trunkline.OutputSchemaOf[shapes]()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]map[string]any
		Required   []string
	}
	if err := json.Unmarshal(found, &schema); err != nil {
		t.Fatal(err)
	}
	word := func(kind string) map[string]any { return map[string]any{"type": kind} }
	wanted := map[string]map[string]any{
		"id": word("string"), "note": word("string"), "Label": word("string"), "days": word("integer"),
		"city":   {"type": "string", "description": "Where the weather is."},
		"quoted": word("string"), "ratio": word("string"), "huge": word("integer"), "number": word("number"), "raw": {},
		"at": {"type": "string", "format": "date-time"}, "address": word("string"), "upper": word("string"),
		"bytes": {"type": "string", "contentEncoding": "base64"},
		"small": {"type": "integer", "minimum": -128.0, "maximum": 127.0},
		"port":  {"type": "integer", "minimum": 0.0, "maximum": 65535.0},
		"count": {"type": "integer", "minimum": 0.0}, "-": word("string"),
	}
	byID := schema.Properties["byId"]
	delete(schema.Properties, "byId")
	if byID["type"] != "object" || !reflect.DeepEqual(schema.Properties, wanted) {
		t.Error(string(found))
	}
	// The members of an embedded pointer may be absent.
	if required := strings.Join(schema.Required, " "); strings.Contains(required, "city") || !strings.HasPrefix(required, "id Label note quoted huge") {
		t.Error(required)
	}
	encoded, err := json.Marshal(&shapes{city: &city{}, Ratio: trunkline.Ptr(1.5), Number: "1"})
	var members map[string]any
	if err := errors.Join(err, json.Unmarshal(encoded, &members)); err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if _, known := wanted[name]; !known && name != "byId" {
			t.Errorf("encoding/json writes %s, which the schema does not have", name)
		}
	}
}

type node struct {
	Children []*node `json:"children"`
}

func TestATypeWithoutASchemaIsNamed(t *testing.T) {
	_, function := trunkline.SchemaOf[struct{ Done func() }]()
	_, key := trunkline.SchemaOf[map[float64]string]()
	// As other packages have it. It would be published as the description, and not be checked.
	_, keywords := trunkline.SchemaOf[struct {
		Unit string `jsonschema:"required,enum=C,enum=F"`
	}]()
	_, keyword := trunkline.SchemaOf[struct {
		Unit string `jsonschema:"required"`
	}]()
	for err, word := range map[error]string{
		function: "func() (in the field Done)", key: "map[float64]string",
		keywords: `"required,enum=C,enum=F" must be a description`, keyword: `"required" must be a description`,
	} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Error(err)
		}
	}
}

// A section is in sections.
type section struct {
	Sections []section `json:"sections,omitempty"`
}

type company struct {
	Staff []person `json:"staff"`
}

type person struct {
	Employer *company `json:"employer,omitempty"`
}

type linked[T any] struct {
	Value T          `json:"value"`
	Next  *linked[T] `json:"next,omitempty"`
}

type nest []nest

type folders map[string]folders

func TestTypesMayContainThemselves(t *testing.T) {
	type outer = node
	type node struct {
		Next *node `json:"next"`
	}
	const nodes = `{"type":"object","properties":{"children":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/node"},{"type":"null"}]}}},"required":["children"]}`
	for _, derived := range []struct {
		schema func() (json.RawMessage, error)
		wanted string
	}{
		{trunkline.OutputSchemaOf[outer], `{"type":"object","properties":{"children":{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}},"required":["children"]}`},
		{trunkline.SchemaOf[*outer], `{"type":"object","properties":{"children":{"anyOf":[{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},{"type":"null"}]}},"required":["children"],"additionalProperties":false}`},
		{trunkline.OutputSchemaOf[[]outer], `{"type":"array","items":{"$ref":"#/$defs/node"},"$defs":{"node":` + nodes + `}}`},
		{trunkline.OutputSchemaOf[company], `{"type":"object","properties":{"staff":{"type":"array","items":{"type":"object","properties":{"employer":{"$ref":"#"}}}}},"required":["staff"]}`},
		{trunkline.OutputSchemaOf[nest], `{"type":"array","items":{"$ref":"#"}}`},
		{trunkline.SchemaOf[nest], `{"type":"array","items":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}`},
		{trunkline.SchemaOf[folders], `{"type":"object","additionalProperties":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}`},
		{trunkline.OutputSchemaOf[struct {
			Numbers linked[int] `json:"numbers"`
			Again   linked[int] `json:"again" jsonschema:"More of them."`
		}], `{"type":"object","properties":{"numbers":{"$ref":"#/$defs/linked_int"},"again":{"$ref":"#/$defs/linked_int","description":"More of them."}},"required":["numbers","again"],"$defs":{"linked_int":{"type":"object","properties":{"value":{"type":"integer"},"next":{"$ref":"#/$defs/linked_int"}},"required":["value"]}}}`},
		{trunkline.OutputSchemaOf[struct {
			A outer `json:"a"`
			B node  `json:"b"`
		}], `{"type":"object","properties":{"a":{"$ref":"#/$defs/node"},"b":{"$ref":"#/$defs/node2"}},"required":["a","b"],"$defs":{"node":` + nodes + `,"node2":{"type":"object","properties":{"next":{"anyOf":[{"$ref":"#/$defs/node2"},{"type":"null"}]}},"required":["next"]}}}`},
	} {
		if found, err := derived.schema(); err != nil || string(found) != derived.wanted {
			t.Errorf("%v\n%s\n%s", err, found, derived.wanted)
		}
	}
}

func TestValuesThatContainValuesOfTheirType(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "object"}, func(_ context.Context, _ *trunkline.Call, given section) (section, error) { return given, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "list"}, func(_ context.Context, _ *trunkline.Call, given *section) ([]section, error) {
		return given.Sections, nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "nest"}, func(_ context.Context, _ *trunkline.Call, given folders) (nest, error) {
		return nest{nil, nest{nil}}, nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "form"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		_, err := trunkline.Elicit[section](ctx, call, "Which?")
		return fmt.Sprint(err), nil
	}))
	for _, revision := range []trunkline.RevisionChoice{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{Revision: revision})
		client = connected(t, client, err)
		for _, call := range []struct{ tool, arguments, text, refusal string }{
			{"object", `{"sections":[{"sections":[{},{}]}]}`, `{"sections":[{"sections":[{},{}]}]}`, ""},
			{"list", `{"sections":[{"sections":[{}]}]}`, `[{"sections":[{}]}]`, ""},
			{"nest", `{"a":{"b":{}},"c":null}`, `[[],[[]]]`, ""},
			{"object", `{"sections":[{"sections":[{"sections":5}]}]}`, "", "/sections/0/sections/0/sections"},
			{"object", `{"sections":[{"sections":[{"sktions":[]}]}]}`, "", "sktions"},
			{"nest", `{"a":{"b":{"c":5}}}`, "", "/a/b/c"},
			{"form", `{}`, "section contains itself, which a form cannot", ""},
		} {
			result, err := client.CallTool(t.Context(), call.tool, json.RawMessage(call.arguments))
			said := fmt.Sprint(err)
			if err == nil {
				said = result.Content.Text()
			}
			isRefused := err != nil || result.IsError
			if isRefused != (call.refusal != "") || !strings.Contains(said, call.text+call.refusal) {
				t.Errorf("%s %s %s: %s", revision, call.tool, call.arguments, said)
			}
		}
	}
}

// A Unit is one of its constants.
type Unit string

func (Unit) Enum() []any { return []any{Unit(celsius), Unit(fahrenheit)} }

// A speed is written as its name.
type speed int

var speeds = []string{"slow", "fast"}

func (s speed) MarshalText() ([]byte, error) { return []byte(speeds[s]), nil }

func (s *speed) UnmarshalText(text []byte) error {
	*s = speed(slices.Index(speeds, string(text)))
	return nil
}

func (*speed) Enum() []any { return []any{speed(0), speed(1)} }

// A color has no other values than its variables.
type color struct{ name string }

var red, green = color{"red"}, color{"green"}

func (c color) MarshalText() ([]byte, error) { return []byte(c.name), nil }

func (c *color) UnmarshalText(text []byte) error {
	*c = color{string(text)}
	return nil
}

func (color) Enum() []any { return []any{red, green} }

type retries int8

func (retries) Enum() []any { return []any{0, 1, 3} }

// A measured embeds an enumeration, whose method it gets.
type measured struct {
	Unit
	Value float64 `json:"value"`
}

type setting struct {
	Unit   Unit    `json:"unit"`
	Speed  *speed  `json:"speed,omitempty"`
	Colors []color `json:"colors,omitempty"`
	Tries  retries `json:"tries,omitempty"`
}

func TestATypeMayListItsValues(t *testing.T) {
	const unit = `{"type":"string","enum":["celsius","fahrenheit"]}`
	for _, derived := range []struct {
		schema func() (json.RawMessage, error)
		wanted string
	}{
		{trunkline.SchemaOf[Unit], unit},
		{trunkline.OutputSchemaOf[map[string]*Unit], `{"type":"object","additionalProperties":{"anyOf":[` + unit + `,{"type":"null"}]}}`},
		{trunkline.SchemaOf[speed], `{"type":"string","enum":["slow","fast"]}`},
		{trunkline.SchemaOf[color], `{"type":"string","enum":["red","green"]}`},
		{trunkline.SchemaOf[retries], `{"type":"integer","minimum":-128,"maximum":127,"enum":[0,1,3]}`},
		{trunkline.OutputSchemaOf[measured], `{"type":"object","properties":{"Unit":` + unit + `,"value":{"type":"number"}},"required":["Unit","value"]}`},
	} {
		if found, err := derived.schema(); err != nil || string(found) != derived.wanted {
			t.Errorf("%v\n%s\n%s", err, found, derived.wanted)
		}
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "set"}, func(_ context.Context, _ *trunkline.Call, given setting) (setting, error) { return given, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "choose"}, func(context.Context, *trunkline.Call, struct{}) (setting, error) { return setting{Unit: "kelvin"}, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for arguments, refusal := range map[string]string{
		`{"unit":"celsius"}`: "", `{"unit":"celsius","speed":null}`: "", `{"unit":"fahrenheit","speed":"fast","colors":["red","red"],"tries":3}`: "",
		`{"unit":"kelvin"}`: "/unit", `{"unit":"Celsius"}`: "/unit", `{"unit":"celsius","speed":1}`: "/speed",
		`{"unit":"celsius","colors":["red","blue"]}`: "/colors/1", `{"unit":"celsius","tries":2}`: "/tries",
	} {
		result, err := client.CallTool(t.Context(), "set", json.RawMessage(arguments))
		if err != nil || result.IsError != (refusal != "") || !strings.Contains(result.Content.Text(), refusal) {
			t.Errorf("%s: %v %+v", arguments, err, result)
		}
	}
	if result, err := client.CallTool(t.Context(), "choose", nil); err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "/unit") {
		t.Error(err, result)
	}
}

type nothing string

func (nothing) Enum() []any { return nil }

// A misread is read from text, but its values are written as numbers.
type misread int

func (*misread) UnmarshalText([]byte) error { return nil }

func (misread) Enum() []any { return []any{misread(1)} }

type unwritable string

func (unwritable) Enum() []any { return []any{func() {}} }

func TestAnEnumThatCannotBeIsNamed(t *testing.T) {
	for wanted, schema := range map[string]func() (json.RawMessage, error){
		"trunkline_test.nothing returns no values (in the field A)": trunkline.SchemaOf[struct{ A nothing }],
		"trunkline_test.misread returns 1, which is not of":         trunkline.SchemaOf[misread],
		"trunkline_test.unwritable: json: unsupported type: func()": trunkline.SchemaOf[unwritable],
	} {
		if _, err := schema(); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Error(wanted, err)
		}
	}
}

type tree struct {
	identity
	Names    []string          `json:"names"`
	Groups   [][]string        `json:"groups"`
	Labels   map[string]string `json:"labels"`
	Parent   *tree2            `json:"parent"`
	Sibling  *tree2            `json:"sibling"`
	Huge     big.Int           `json:"huge"`
	Maybe    []string          `json:"maybe,omitempty"`
	MaybeToo []string          `json:"maybeToo,omitzero"`
	Fixed    [1][]int          `json:"fixed"`
	Secret   []string          `json:"-"`
	private  []string
}

type tree2 struct {
	Names []string `json:"names"`
}

func TestNilInResultsMatchesTheSchema(t *testing.T) {
	server := newServer(t)
	given := &tree{Groups: [][]string{nil}, Sibling: &tree2{}, Huge: *big.NewInt(7)}
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "tree"}, func(context.Context, *trunkline.Call, struct{}) (*tree, error) { return given, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "list"}, func(context.Context, *trunkline.Call, struct{}) ([]string, error) { return nil, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for name, wanted := range map[string]string{
		"tree": `{"id":"","note":"","names":[],"groups":[[]],"labels":{},"parent":null,"sibling":{"names":[]},"huge":7,"fixed":[[]]}`,
		"list": `{"result":[]}`,
	} {
		result, err := client.CallTool(t.Context(), name, nil)
		if err != nil || result.IsError || string(result.StructuredContent) != wanted {
			t.Errorf("%s %+v %s", err, result, wanted)
		}
	}
	if given.Names != nil || given.Sibling.Names != nil || given.Groups[0] != nil {
		t.Error("the value of the program was changed")
	}
}

type service struct{ counts map[string][]int }

type branch struct {
	Names   []string `json:"names"`
	Parent  *branch  `json:"-"`
	Service *service `json:"-"`
}

type ring struct {
	Next, Last *ring
	Names      []string
}

func TestWhatIsNotWrittenIsNotRead(t *testing.T) {
	server := newServer(t)
	given := &branch{Service: &service{map[string][]int{}}}
	given.Parent = given
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "x", URI: "test://x"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return given, nil }))
	circle := &ring{}
	circle.Next, circle.Last = circle, circle
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "y", URI: "test://y"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return circle, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if result, err := client.ReadResource(t.Context(), "test://x"); err != nil || result.Contents[0].Text != `{"names":[]}` {
		t.Error(result, err)
	}
	if _, err := client.ReadResource(t.Context(), "test://y"); err == nil {
		t.Error("a cycle was written")
	}
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	client := memory(t)
	_, err := trunkline.CallTool[weather](t.Context(), client, "weather", map[string]any{"city": "Oslo", "town": "Oslo"})
	if err == nil || !strings.Contains(err.Error(), "town") {
		t.Error(err)
	}
}

func TestPointersToResultsAreResults(t *testing.T) {
	server := newServer(t)
	message := &trunkline.PromptMessage{Role: trunkline.RoleUser, Content: &trunkline.TextContent{Text: "x"}}
	for name, result := range map[string]any{
		"empty": &trunkline.GetPromptResult{}, "value": trunkline.GetPromptResult{Description: "x"},
		"message": message, "messages": []*trunkline.PromptMessage{message, message},
	} {
		trunkline.Must(server.AddPrompt(trunkline.Prompt{Name: name}, func(context.Context, *trunkline.Call, map[string]string) (any, error) { return result, nil }))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for name, messages := range map[string]int{"empty": 0, "value": 0, "message": 1, "messages": 2} {
		result, err := client.GetPrompt(t.Context(), name, nil)
		if err != nil || len(result.Messages) != messages {
			t.Error(name, result, err)
		}
	}
}

func TestAnImageIsEncodedOnce(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "image"}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.ImageContent, error) {
		return &trunkline.ImageContent{Data: []byte{1, 2, 3}, MIMEType: "image/png"}, nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	raw, err := client.Request(t.Context(), "tools/call", map[string]any{"name": "image"})
	if err != nil || !strings.Contains(string(raw), `"AQID"`) {
		t.Error(string(raw), err)
	}
	result, err := client.CallTool(t.Context(), "image", nil)
	if err != nil {
		t.Fatal(err)
	}
	if image := result.Content[0].(*trunkline.ImageContent); string(image.Data) != "\x01\x02\x03" {
		t.Error(image)
	}
}

// A priority is read from its name.
type priority int

func (p *priority) UnmarshalText(text []byte) error { *p = priority(len(text)); return nil }

func TestATypeThatReadsTextIsAnArgument(t *testing.T) {
	type given struct {
		Priority priority `json:"priority"`
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "read"}, func(_ context.Context, _ *trunkline.Call, given given) (string, error) {
		return fmt.Sprint(given), nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	result, err := client.CallTool(t.Context(), "read", map[string]string{"priority": "high"})
	if err != nil || result.Content.Text() != "{4}" {
		t.Error(result, err)
	}
}

func TestBlocksMayBeValuesAndLists(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "said"}, func(context.Context, *trunkline.Call, struct{}) (trunkline.TextContent, error) {
		return trunkline.TextContent{Text: "hello"}, nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "list"}, func(context.Context, *trunkline.Call, struct{}) ([]*trunkline.TextContent, error) {
		return []*trunkline.TextContent{{Text: "hel"}, {Text: "lo"}}, nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for _, name := range []string{"said", "list"} {
		if result, err := client.CallTool(t.Context(), name, nil); err != nil || result.Content.Text() != "hello" || result.StructuredContent != nil {
			t.Error(name, result, err)
		}
	}
}

type object struct{ text string }

func (o object) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]string{"text": o.text}) }

func TestTypesThatWriteThemselvesAreResults(t *testing.T) {
	server := newServer(t)
	add := func(_ *trunkline.Feature, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	add(trunkline.AddTool(server, trunkline.Tool{Name: "time"}, func(context.Context, *trunkline.Call, struct{}) (time.Time, error) {
		return time.Unix(0, 0).UTC(), nil
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "address"}, func(context.Context, *trunkline.Call, struct{}) (*netip.Addr, error) {
		return trunkline.Ptr(netip.MustParseAddr("::1")), nil
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "number"}, func(context.Context, *trunkline.Call, struct{}) (big.Int, error) { return *big.NewInt(7), nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "object"}, func(context.Context, *trunkline.Call, struct{}) (object, error) { return object{"x"}, nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "quoted"}, func(context.Context, *trunkline.Call, struct{}) (struct {
		N *int64 `json:"n,string"`
	}, error) {
		return struct {
			N *int64 `json:"n,string"`
		}{}, nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for name, wanted := range map[string]string{
		"time": `{"result":"1970-01-01T00:00:00Z"}`, "address": `{"result":"::1"}`, "number": `{"result":7}`,
		"object": `{"result":{"text":"x"}}`, "quoted": `{"n":null}`,
	} {
		result, err := client.CallTool(t.Context(), name, nil)
		if err != nil || result.IsError || string(result.StructuredContent) != wanted {
			t.Errorf("%s: %v %+v", name, err, result)
		}
	}
}

func TestRawJSONMatchesItsSchema(t *testing.T) {
	server := newServer(t)
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	_, err := trunkline.AddTool(server, trunkline.Tool{Name: "raw", OutputSchema: schema}, func(context.Context, *trunkline.Call, struct{}) (json.RawMessage, error) {
		return json.RawMessage(` {"a":1.0}`), nil
	})
	_, failed := trunkline.AddTool(server, trunkline.Tool{Name: "nil"}, func(context.Context, *trunkline.Call, struct{}) (json.RawMessage, error) { return nil, nil })
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if found, err := trunkline.CallTool[map[string]int](t.Context(), client, "raw", nil); err != nil || found["a"] != 1 {
		t.Error(found, err)
	}
	if result, err := client.CallTool(t.Context(), "nil", nil); err != nil || result.IsError {
		t.Error(result, err)
	}
}

func TestArgumentsMayBeAPointerOrAnything(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "pointer"}, func(_ context.Context, _ *trunkline.Call, given *city) (string, error) { return given.City, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "any"}, func(_ context.Context, _ *trunkline.Call, given any) (any, error) { return given, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if _, err := trunkline.CallTool[any](t.Context(), client, "pointer", map[string]any{"city": "Oslo", "town": "Oslo"}); err == nil || !strings.Contains(err.Error(), "town") {
		t.Error(err)
	}
	if found, err := trunkline.CallTool[map[string]any](t.Context(), client, "any", map[string]any{"town": "Oslo"}); err != nil || found["town"] != "Oslo" {
		t.Error(found, err)
	}
}

func TestAFormKeepsLargeNumbersAndReadsWholeOnes(t *testing.T) {
	var number string
	options := trunkline.ClientOptions{}
	options.OnElicit = func(context.Context, *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept, Content: map[string]any{"ID": json.Number(number)}}, nil
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "form"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		filled, err := trunkline.Elicit[struct{ ID int64 }](ctx, call, "Which?")
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(filled.ID, 10), nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, options)
	client = connected(t, client, err)
	for given, read := range map[string]string{"1234567890123456789": "1234567890123456789", "7.0": "7", "1e3": "1000"} {
		number = given
		if result, err := client.CallTool(t.Context(), "form", nil); err != nil || result.Content.Text() != read {
			t.Error(given, result, err)
		}
	}
}

func TestNilListsOfHandlersAreEmpty(t *testing.T) {
	server := newServer(t)
	reference := &trunkline.PromptReference{Name: "trip"}
	trunkline.Must(server.AddPrompt(trunkline.Prompt{Name: "trip", Arguments: []trunkline.PromptArgument{{Name: "city"}}}, func(context.Context, *trunkline.Call, map[string]string) (any, error) { return "Go.", nil }))
	trunkline.Must(server.AddCompletion(reference, "city", func(context.Context, string, map[string]string) (*trunkline.Completion, error) {
		return &trunkline.Completion{}, nil
	}))
	for of, items := range map[trunkline.Category]any{trunkline.CategoryPrompts: nil, trunkline.CategoryResourceTemplates: []trunkline.ResourceTemplate(nil)} {
		trunkline.Must(server.AddProvider(of, func(context.Context, string) (any, string, error) { return items, "", nil },
			func(context.Context, *trunkline.Call, json.RawMessage) (any, error) { return nil, nil }))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	found, err := client.Complete(t.Context(), reference, trunkline.CompleteArgument{Name: "city", Value: "O"}, nil)
	if err != nil || len(found.Completion.Values) != 0 {
		t.Error(found, err)
	}
	if prompts, err := client.ListPrompts(t.Context()); err != nil || len(prompts) != 1 {
		t.Error(prompts, err)
	}
	if templates, err := client.ListResourceTemplates(t.Context()); err != nil || len(templates) != 0 {
		t.Error(templates, err)
	}
}

func TestANilPointerIsNothing(t *testing.T) {
	server := newServer(t)
	reference := &trunkline.PromptReference{Name: "trip"}
	trunkline.Must(server.AddPrompt(trunkline.Prompt{Name: "trip", Arguments: []trunkline.PromptArgument{{Name: "city"}}}, func(context.Context, *trunkline.Call, map[string]string) (any, error) {
		return (*trunkline.GetPromptResult)(nil), nil
	}))
	trunkline.Must(server.AddCompletion(reference, "city", func(context.Context, string, map[string]string) (*trunkline.Completion, error) { return nil, nil }))
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "none", URI: "test://none"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
		return (*trunkline.ResourceContents)(nil), nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "text"}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.TextContent, error) { return nil, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if prompt, err := client.GetPrompt(t.Context(), "trip", nil); err != nil || len(prompt.Messages) != 0 {
		t.Error(prompt, err)
	}
	found, err := client.Complete(t.Context(), reference, trunkline.CompleteArgument{Name: "city", Value: "O"}, nil)
	if err != nil || len(found.Completion.Values) != 0 {
		t.Error(found, err)
	}
	var failure *trunkline.Error
	if _, err := client.ReadResource(t.Context(), "test://none"); !errors.As(err, &failure) || !strings.Contains(failure.Message, "not found") {
		t.Error(err)
	}
	if result, err := client.CallTool(t.Context(), "text", nil); err != nil || result.IsError || len(result.Content) != 0 {
		t.Error(result, err)
	}
}

type town string

type shout string

func (s shout) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s))), nil }

func TestStringTypesAreText(t *testing.T) {
	server := newServer(t)
	named := town("Oslo")
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "named"}, func(context.Context, *trunkline.Call, struct{}) (town, error) { return named, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "pointer"}, func(context.Context, *trunkline.Call, struct{}) (*town, error) { return &named, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "written"}, func(context.Context, *trunkline.Call, struct{}) (shout, error) { return "Oslo", nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "number"}, func(context.Context, *trunkline.Call, struct{}) (json.Number, error) { return "7", nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for name, wanted := range map[string]string{"named": "Oslo", "pointer": "Oslo", "written": "OSLO", "number": "7"} {
		result, err := client.CallTool(t.Context(), name, nil)
		if err != nil || result.Content.Text() != wanted || result.StructuredContent != nil {
			t.Errorf("%s %+v %v", name, result, err)
		}
		if read, err := trunkline.CallTool[town](t.Context(), client, name, nil); err != nil || string(read) != wanted {
			t.Error(name, read, err)
		}
	}
	if number, err := trunkline.CallTool[json.Number](t.Context(), client, "number", nil); err != nil || number != "7" {
		t.Error(number, err)
	}
}

type recursive struct {
	Sky    int        `json:"sky"`
	Result *recursive `json:"result"`
}

func TestWrappedValuesAreUnwrapped(t *testing.T) {
	server := newServer(t)
	moment := time.Date(2026, 7, 28, 0, 0, 0, 0, time.UTC)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "list"}, func(context.Context, *trunkline.Call, struct{}) ([]int, error) { return []int{1, 2}, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "nothing"}, func(context.Context, *trunkline.Call, struct{}) (*int, error) { return nil, nil }))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "time"}, func(context.Context, *trunkline.Call, struct{}) (time.Time, error) { return moment, nil }))
	for name, content := range map[string]string{
		"string": `{"result":"Oslo"}`, "mistaken": `{"sky":"blue","result":{"sky":7}}`,
	} {
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.CallToolResult, error) {
			return &trunkline.CallToolResult{StructuredContent: json.RawMessage(content)}, nil
		}))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if list, err := trunkline.CallTool[[]int](t.Context(), client, "list", nil); err != nil || !slices.Equal(list, []int{1, 2}) {
		t.Error(list, err)
	}
	if whole, err := trunkline.CallTool[struct {
		Result []int `json:"result"`
	}](t.Context(), client, "list", nil); err != nil || len(whole.Result) != 2 {
		t.Error(whole, err)
	}
	if nothing, err := trunkline.CallTool[*int](t.Context(), client, "nothing", nil); err != nil || nothing != nil {
		t.Error(nothing, err)
	}
	if at, err := trunkline.CallTool[time.Time](t.Context(), client, "time", nil); err != nil || !at.Equal(moment) {
		t.Error(at, err)
	}
	if name, err := trunkline.CallTool[string](t.Context(), client, "string", nil); err != nil || name != "Oslo" {
		t.Error(name, err)
	}
	if number, err := trunkline.CallTool[int](t.Context(), client, "string", nil); err == nil || !strings.Contains(err.Error(), "the result of the tool string is no int") {
		t.Error(number, err)
	}
	// An object that does not fit is not unwrapped.
	if found, err := trunkline.CallTool[struct {
		Sky int `json:"sky"`
	}](t.Context(), client, "mistaken", nil); err == nil {
		t.Error(found)
	}
	if found, err := trunkline.CallTool[recursive](t.Context(), client, "mistaken", nil); err == nil {
		t.Error(found)
	}
}

type part struct {
	Weight *float64 `json:"weight"`
}

type order struct {
	Item  *string        `json:"item"`
	Count *int           `json:"count,omitempty"`
	Tags  []string       `json:"tags"`
	Notes map[string]any `json:"notes,omitempty"`
	Bytes []byte         `json:"bytes"`
	Parts []*part        `json:"parts"`
	Main  *part          `json:"main"`
	Place [2]float64     `json:"place"`
}

func TestArgumentsMayBeNullWhereGoHasNil(t *testing.T) {
	server := newServer(t)
	var seen order
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "order"}, func(_ context.Context, _ *trunkline.Call, given order) (string, error) {
		seen = given
		return "", nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	const full = `{"item":"a","count":1,"tags":["b"],"notes":{"c":1},"bytes":"AQ==","parts":[{"weight":1}],"main":{"weight":2},"place":[1,2]}`
	for arguments, refusal := range map[string]string{
		full: "",
		`{"item":null,"count":null,"tags":null,"notes":null,"bytes":null,"parts":null,"main":null,"place":[1,2]}`: "",
		strings.Replace(full, `{"weight":1}`, "null", 1):                                                          "",
		strings.Replace(full, `{"weight":1}`, `{"weight":null}`, 1):                                               "",
		strings.Replace(full, `[1,2]`, "null", 1):                                                                 "/place",
		strings.Replace(full, `[1,2]`, "[1]", 1):                                                                  "/place",
		strings.Replace(full, `[1,2]`, "[1,2,3]", 1):                                                              "/place",
		strings.Replace(full, `"item":"a",`, "", 1):                                                               "item",
		strings.Replace(full, `"weight":2`, `"weight":2,"wieght":3`, 1):                                           "wieght",
		strings.Replace(full, `"weight":1`, `"weight":1,"wieght":3`, 1):                                           "wieght",
	} {
		seen = order{}
		result, err := client.CallTool(t.Context(), "order", json.RawMessage(arguments))
		if err != nil || result.IsError != (refusal != "") || !strings.Contains(result.Content.Text(), refusal) {
			t.Errorf("%s: %v %+v", arguments, err, result)
		}
		if isCalled := seen.Place != [2]float64{}; isCalled != (refusal == "") {
			t.Errorf("%s: %+v", arguments, seen)
		}
	}
	// The struct of the server, with all that is nil.
	if result, err := client.CallTool(t.Context(), "order", order{Place: [2]float64{1, 2}}); err != nil || result.IsError {
		t.Error(result, err)
	}
}

func TestAFormHasNoUnions(t *testing.T) {
	var schema string
	options := trunkline.ClientOptions{}
	options.OnElicit = func(_ context.Context, request *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		encoded, err := json.Marshal(request.RequestedSchema)
		schema = string(encoded)
		return &trunkline.ElicitResult{Action: trunkline.ElicitActionDecline}, err
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "form"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		_, err := trunkline.Elicit[struct {
			Days *int `json:"days,omitempty"`
		}](ctx, call, "How long?")
		return "", err
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, options)
	client = connected(t, client, err)
	if result, err := client.CallTool(t.Context(), "form", nil); err != nil || result.IsError || schema != `{"properties":{"days":{"type":"integer"}},"type":"object"}` && schema != `{"type":"object","properties":{"days":{"type":"integer"}}}` {
		t.Error(result, err, schema)
	}
}

func TestAFormOffersTheValuesOfATypeThatListsThem(t *testing.T) {
	type form struct {
		Unit   Unit    `json:"unit"`
		Colors []color `json:"colors"`
	}
	options := trunkline.ClientOptions{}
	options.OnElicit = func(_ context.Context, request *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		encoded, err := json.Marshal(request.RequestedSchema)
		for _, choices := range []string{`["celsius","fahrenheit"]`, `["red","green"]`} {
			if !strings.Contains(string(encoded), `"enum":`+choices) {
				t.Errorf("%s is not in %s", choices, encoded)
			}
		}
		return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept, Content: map[string]any{"unit": "fahrenheit", "colors": []string{"green"}}}, err
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "form"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		filled, err := trunkline.Elicit[form](ctx, call, "Which?")
		return fmt.Sprint(filled), err
	}))
	for _, revision := range []trunkline.RevisionChoice{"2025-11-25", "2026-07-28"} {
		options.Revision = revision
		client, err := trunkline.ConnectMemory(t.Context(), server, options)
		client = connected(t, client, err)
		if result, err := client.CallTool(t.Context(), "form", nil); err != nil || result.Content.Text() != "&{fahrenheit [{green}]}" {
			t.Error(err, result)
		}
	}
}

func TestEveryInputSchemaHasProperties(t *testing.T) {
	server := newServer(t)
	add := func(_ *trunkline.Feature, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add(trunkline.AddTool(server, trunkline.Tool{Name: "any"}, func(context.Context, *trunkline.Call, any) (string, error) { return "", nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "raw"}, func(context.Context, *trunkline.Call, json.RawMessage) (string, error) { return "", nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "map"}, func(context.Context, *trunkline.Call, map[string]any) (string, error) { return "", nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "numbers"}, func(context.Context, *trunkline.Call, *map[string]int) (string, error) { return "", nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "nothing"}, func(context.Context, *trunkline.Call, struct{}) (string, error) { return "", nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	tools, err := client.ListTools(t.Context())
	if err != nil || len(tools) < 5 {
		t.Fatal(tools, err)
	}
	for _, tool := range tools {
		var schema map[string]json.RawMessage
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil || schema["properties"] == nil {
			t.Error(tool.Name, string(tool.InputSchema), err)
		}
	}
	for name, refused := range map[string]bool{"any": false, "raw": false, "map": false, "numbers": true, "nothing": true} {
		if result, err := client.CallTool(t.Context(), name, map[string]any{"town": "Oslo"}); err != nil || result.IsError != refused {
			t.Error(name, result, err)
		}
	}
}

type graph struct {
	Nodes  []string       `json:"nodes"`
	Labels map[string]int `json:"labels"`
	Root   *string        `json:"root"`
}

func TestAResultHasContentAndAValue(t *testing.T) {
	server := newServer(t)
	add := func(_ *trunkline.Feature, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	said := trunkline.ContentBlocks{&trunkline.TextContent{Text: "nothing found"}}
	add(trunkline.AddTool(server, trunkline.Tool{Name: "both"}, func(context.Context, *trunkline.Call, struct{}) (trunkline.Result[graph], error) {
		return trunkline.Result[graph]{Content: said, Meta: map[string]any{"example.org/a": 1}}, nil
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "pointers"}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.Result[*graph], error) {
		return &trunkline.Result[*graph]{Content: said}, nil
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "nil"}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.Result[graph], error) { return nil, nil }))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "list"}, func(context.Context, *trunkline.Call, struct{}) (trunkline.Result[[]int], error) {
		return trunkline.Result[[]int]{Content: said, Value: []int{1, 2}}, nil
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "failed"}, func(context.Context, *trunkline.Call, struct{}) (trunkline.Result[graph], error) {
		return trunkline.Result[graph]{Content: said}, trunkline.ToolErrorf("no such graph")
	}))
	// As it is ported from other packages.
	add(trunkline.AddTool(server, trunkline.Tool{Name: "own", OutputSchema: trunkline.Must(trunkline.SchemaOf[graph]())}, func(context.Context, *trunkline.Call, struct{}) (*trunkline.CallToolResult, error) {
		value, err := json.Marshal(graph{})
		return &trunkline.CallToolResult{Content: said, StructuredContent: value}, err
	}))
	add(trunkline.AddTool(server, trunkline.Tool{Name: "typed", OutputSchema: trunkline.Must(trunkline.OutputSchemaOf[graph]())}, func(context.Context, *trunkline.Call, struct{}) (graph, error) {
		return graph{}, nil
	}))
	const empty = `{"nodes":[],"labels":{},"root":null}`
	for _, revision := range []trunkline.RevisionChoice{"2024-11-05", "2025-11-25", "2026-07-28"} {
		client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{Revision: revision})
		client = connected(t, client, err)
		for name, wanted := range map[string][2]string{
			"both": {"nothing found", empty}, "pointers": {"nothing found", empty}, "nil": {empty, empty}, "list": {"nothing found", `{"result":[1,2]}`},
			"own": {"nothing found", `{"nodes":null,"labels":null,"root":null}`}, "typed": {empty, empty},
		} {
			if revision == "2024-11-05" {
				wanted[1] = ""
			}
			result, err := client.CallTool(t.Context(), name, nil)
			if err != nil || result.IsError || result.Content.Text() != wanted[0] || string(result.StructuredContent) != wanted[1] {
				t.Errorf("%s %s: %v %+v", revision, name, err, result)
			}
		}
		if result, err := client.CallTool(t.Context(), "failed", nil); err != nil || !result.IsError || result.Content.Text() != "no such graph" {
			t.Error(result, err)
		}
	}
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "text"}, func(context.Context, *trunkline.Call, struct{}) (trunkline.Result[string], error) {
		return trunkline.Result[string]{}, nil
	}); err == nil || !strings.Contains(err.Error(), "(in the tool text)") {
		t.Error(err)
	}
}

func TestAFeatureThatIsNoJSONIsNamed(t *testing.T) {
	server := newServer(t)
	cut, meta := json.RawMessage(`{"type":`), map[string]any{"example.org/f": func() {}}
	tool := func(context.Context, *trunkline.Call, any) (string, error) { return "", nil }
	read := func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return "", nil }
	for wanted, add := range map[string]func() (*trunkline.Feature, error){
		"the InputSchema is not JSON (in the tool cut)": func() (*trunkline.Feature, error) {
			return trunkline.AddTool(server, trunkline.Tool{Name: "cut", InputSchema: cut}, tool)
		},
		"the OutputSchema is not JSON (in the tool cut)": func() (*trunkline.Feature, error) {
			return trunkline.AddTool(server, trunkline.Tool{Name: "cut", OutputSchema: cut}, tool)
		},
		"the tool noted cannot be written as JSON: tool: json: unsupported type: func()": func() (*trunkline.Feature, error) {
			return trunkline.AddTool(server, trunkline.Tool{Name: "noted", Meta: meta}, tool)
		},
		"the resource noted cannot be written as JSON: resource: ": func() (*trunkline.Feature, error) {
			return server.AddResource(trunkline.Resource{Name: "noted", URI: "test://noted", Meta: meta}, read)
		},
		"the requestHandler com.acme/sum cannot be written as JSON: paramsSchema: ": func() (*trunkline.Feature, error) {
			return trunkline.AddRequestHandler(server, "com.acme/sum", func(context.Context, *trunkline.Call, any) (*any, error) { return nil, nil }, trunkline.RequestHandlerOptions{ParamsSchema: cut})
		},
		"there is no JSON Schema for func() (in the tool function)": func() (*trunkline.Feature, error) {
			return trunkline.AddTool(server, trunkline.Tool{Name: "function"}, func(context.Context, *trunkline.Call, struct{}) (func(), error) { return nil, nil })
		},
	} {
		if _, err := add(); err == nil || !strings.HasPrefix(err.Error(), wanted) {
			t.Errorf("%q: %v", wanted, err)
		}
	}
}

func TestANilStructIsItsZeroValue(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "find"}, func(context.Context, *trunkline.Call, struct{}) (*graph, error) { return nil, nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if result, err := client.CallTool(t.Context(), "find", nil); err != nil || result.IsError || string(result.StructuredContent) != `{"nodes":[],"labels":{},"root":null}` {
		t.Error(result, err)
	}
}

func TestSchemasOfBothDirections(t *testing.T) {
	type shape struct {
		Names []string `json:"names"`
		Next  *int     `json:"next,omitempty"`
	}
	input, output := trunkline.Must(trunkline.SchemaOf[*shape]()), trunkline.Must(trunkline.OutputSchemaOf[*shape]())
	const names = `{"type":"array","items":{"type":"string"}}`
	if wanted := `{"type":"object","properties":{"names":{"anyOf":[` + names + `,{"type":"null"}]},"next":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["names"],"additionalProperties":false}`; string(input) != wanted {
		t.Error(string(input))
	}
	if wanted := `{"type":"object","properties":{"names":` + names + `,"next":{"type":"integer"}},"required":["names"]}`; string(output) != wanted {
		t.Error(string(output))
	}
}
