package trunkline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// readers are the cases of tests/json-readers.json, which other languages can play as well.
type readers struct {
	Schema json.RawMessage `json:"schema"`
	Cases  []reading       `json:"cases"`
	// Texts that are no JSON.
	Refused []reading `json:"refused"`
}

type reading struct {
	Name      string `json:"name"`
	Sent      string `json:"sent"`
	Seen      string `json:"seen"`
	MayRefuse string `json:"mayRefuse"`
}

func readersOfJSON(t *testing.T) readers {
	t.Helper()
	text, err := os.ReadFile("../tests/json-readers.json")
	if err != nil {
		t.Fatal(err)
	}
	var found readers
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Cases) < 40 || len(found.Refused) < 8 {
		t.Fatal("cases are missing")
	}
	return found
}

type transfer struct {
	Amount json.Number `json:"amount,omitempty"`
	Kind   string      `json:"kind,omitempty"`
}

// payment has the members of the schema.
type payment struct {
	transfer
	Status   string              `json:"status,omitempty"`
	Huge     json.Number         `json:"huge,omitempty"`
	Transfer *transfer           `json:"transfer,omitempty"`
	Items    []transfer          `json:"items,omitempty"`
	Named    map[string]transfer `json:"named,omitempty"`
}

// comparable is a value in which equal numbers are equal.
func comparableJSON(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(text, err)
	}
	var plain func(value any) any
	plain = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			for name, member := range value {
				value[name] = plain(member)
			}
		case []any:
			for i, item := range value {
				value[i] = plain(item)
			}
		case json.Number:
			number, isNumber := new(big.Rat).SetString(value.String())
			if !isNumber {
				t.Fatal(value)
			}
			return number.String()
		}
		return value
	}
	return plain(value)
}

func inPlainJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// check compares what was seen, or the error instead of it, with what may be.
func (r reading) check(t *testing.T, who, seen string, refusal string) {
	t.Helper()
	switch {
	case refusal == "":
		if !reflect.DeepEqual(comparableJSON(t, seen), comparableJSON(t, r.Seen)) {
			t.Errorf("%s: %s sees %.200s instead of %.200s", r.Name, who, seen, r.Seen)
		}
	case r.MayRefuse == "" || !strings.Contains(refusal, r.MayRefuse):
		t.Errorf("%s: %s is refused: %.300s", r.Name, who, refusal)
	}
}

// posted is the response to a request of 2026-07-28, whose params are the text.
func posted(t *testing.T, handler http.Handler, tool, params string) (response struct {
	Result *trunkline.CallToolResult `json:"result"`
	Inputs map[string]any            `json:"-"`
	State  string                    `json:"-"`
	Error  *trunkline.Error          `json:"error"`
}) {
	t.Helper()
	request := calling(t, "http://127.0.0.1", tool)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `",` + params + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`
	fresh := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
	fresh.Header = request.Header
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, fresh)
	text := answer.Body.Bytes()
	if _, event, isStream := bytes.Cut(text, []byte("data: {")); isStream {
		text = append([]byte{'{'}, event...)
		text, _, _ = bytes.Cut(text, []byte("\n"))
	}
	var state struct {
		Result struct {
			Inputs map[string]any `json:"inputRequests"`
			State  string         `json:"requestState"`
		} `json:"result"`
	}
	if err := errors.Join(json.Unmarshal(text, &response), json.Unmarshal(text, &state)); err != nil {
		t.Fatalf("%v: %q", err, answer.Body.String())
	}
	response.Inputs, response.State = state.Result.Inputs, state.Result.State
	return response
}

// call calls a tool with arguments as text, and returns why it was refused.
func called(t *testing.T, handler http.Handler, tool, arguments string) (refusal string) {
	t.Helper()
	response := posted(t, handler, tool, `"arguments":`+arguments)
	switch {
	case response.Error != nil:
		return response.Error.Message + string(response.Error.Data)
	case response.Result.IsError:
		return response.Result.Content.Text()
	}
	return ""
}

func TestHandlersSeeTheArgumentsThatWereValidated(t *testing.T) {
	given := readersOfJSON(t)
	server := newServer(t)
	var seen, judged string
	tool := func(name string) trunkline.Tool { return trunkline.Tool{Name: name, InputSchema: given.Schema} }
	trunkline.Must(trunkline.AddTool(server, tool("struct"), func(_ context.Context, _ *trunkline.Call, given payment) (string, error) {
		seen = inPlainJSON(t, given)
		return "", nil
	}))
	trunkline.Must(trunkline.AddTool(server, tool("raw"), func(_ context.Context, call *trunkline.Call, given json.RawMessage) (string, error) {
		read, err := trunkline.Decode[*payment](given)
		seen = inPlainJSON(t, read)
		return "", err
	}))
	handler := trunkline.Must(server.Handler())
	for _, reading := range given.Cases {
		for _, name := range []string{"struct", "raw"} {
			seen = ""
			refusal := called(t, handler, name, reading.Sent)
			reading.check(t, name, seen, refusal)
		}
	}
	for _, reading := range given.Refused {
		seen = ""
		if refusal := called(t, handler, "struct", reading.Sent); refusal == "" || seen != "" {
			t.Errorf("%s: %q %s", reading.Name, refusal, seen)
		}
	}
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
		request, err := trunkline.Decode[struct {
			Arguments payment `json:"arguments"`
		}](params)
		if err != nil {
			return nil, err
		}
		judged = inPlainJSON(t, request.Arguments)
		return call.Next(ctx, nil)
	}, "tools/call"))
	for _, reading := range given.Cases {
		seen, judged = "", ""
		refusal := called(t, handler, "struct", reading.Sent)
		reading.check(t, "middleware", judged, refusal)
		reading.check(t, "the handler behind it", seen, refusal)
	}
}

// A scripted transport is a server of 2025-11-25 with one tool, whose structured content is a text.
type scripted struct {
	pipe
	lock          sync.Mutex
	schema        json.RawMessage
	content       string
	notifications []string
}

func newScripted(schema json.RawMessage) *scripted {
	return &scripted{pipe: pipe{toClient: make(chan string, 16), closed: make(chan struct{})}, schema: schema}
}

func (s *scripted) Send(_ context.Context, message string) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(message), &request); err != nil || request.ID == nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	result := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"scripted","version":"1"}}`,
		"tools/list": fmt.Sprintf(`{"tools":[{"name":"pay","inputSchema":{"type":"object"},"outputSchema":%s}]}`, s.schema),
		"tools/call": fmt.Sprintf(`{"content":[],%s}`, s.content),
	}[request.Method]
	if result == "" {
		result = "{}"
	}
	for _, notification := range s.notifications {
		s.toClient <- notification
	}
	s.notifications = nil
	s.toClient <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	return nil
}

func (s *scripted) set(content string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.content = content
}

func scriptedClient(t *testing.T, schema json.RawMessage) (*scripted, *trunkline.Client) {
	t.Helper()
	transport := newScripted(schema)
	client, err := trunkline.ConnectTransport(t.Context(), transport, trunkline.ClientOptions{Revision: "2025-11-25", Reconnect: trunkline.Ptr(false)})
	client = connected(t, client, err)
	// Results are validated against the schemas that are known.
	if tools, err := client.ListTools(t.Context()); err != nil || len(tools) != 1 {
		t.Fatal(tools, err)
	}
	return transport, client
}

func TestClientsSeeTheContentThatWasValidated(t *testing.T) {
	given := readersOfJSON(t)
	transport, client := scriptedClient(t, given.Schema)
	for _, reading := range given.Cases {
		transport.set(`"structuredContent":` + reading.Sent)
		found, err := trunkline.CallTool[payment](t.Context(), client, "pay", nil)
		refusal := ""
		if err != nil {
			refusal = err.Error()
		}
		reading.check(t, "the client", inPlainJSON(t, found), refusal)
	}
}

func TestMembersOfResultsInAnotherCaseAreRefused(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number","maximum":10}}}`)
	transport, client := scriptedClient(t, schema)
	transport.set(`"structuredContent":{"amount":1}`)
	if found, err := trunkline.CallTool[transfer](t.Context(), client, "pay", nil); err != nil || found.Amount != "1" {
		t.Fatal(found, err)
	}
	for _, content := range []string{
		`"structuredContent":{"amount":1},"STRUCTUREDCONTENT":{"amount":999999}`,
		`"structuredContent":{"amount":1},"ſtructuredContent":{"amount":999999}`,
	} {
		transport.set(content)
		if found, err := trunkline.CallTool[transfer](t.Context(), client, "pay", nil); !errors.Is(err, trunkline.ErrTransport) || !strings.Contains(err.Error(), "tructured") {
			t.Error(content, found, err)
		}
	}
	for content, wanted := range map[string]string{
		`"structuredContent":{},"_meta":{"A":1,"a":2}`:            "",
		`"isError":false,"ISERROR":true`:                          `"ISERROR" differs from "isError" only in case`,
		`"content":[{"type":"text","text":"a","TEXT":"b"}]`:       "twice",
		`"structuredContent":{},"structuredContent":{"amount":1}`: "twice",
	} {
		transport.set(content)
		if _, err := client.CallTool(t.Context(), "pay", nil); wanted == "" && err != nil || wanted != "" && err == nil {
			t.Error(content, err)
		}
	}
}

func TestMiddlewareKeepsIntegersOfResults(t *testing.T) {
	server := newServer(t)
	const content = `{"huge":18446744073709551617,"least":-9223372036854775809}`
	open := json.RawMessage(`{"type":"object"}`)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "huge", InputSchema: open, OutputSchema: open}, func(_ context.Context, _ *trunkline.Call, given json.RawMessage) (json.RawMessage, error) {
		return given, nil
	}))
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
		return call.Next(ctx, params)
	}, "tools/call"))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	result, err := client.CallTool(t.Context(), "huge", json.RawMessage(content))
	if err != nil || string(result.StructuredContent) != content {
		t.Errorf("%+v, %v", result, err)
	}
}

// The policy of docs/snippets/middleware.go.
func TestAPolicyJudgesWhatRuns(t *testing.T) {
	server := newServer(t)
	var greeted []string
	type guest struct {
		Name string `json:"name"`
	}
	open := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hello", InputSchema: open}, func(_ context.Context, _ *trunkline.Call, given guest) (string, error) {
		greeted = append(greeted, given.Name)
		return "", nil
	}))
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
		request, err := trunkline.Decode[struct {
			Name      string `json:"name"`
			Arguments guest  `json:"arguments"`
		}](params)
		if err != nil {
			return nil, err
		}
		if request.Name != "hello" || request.Arguments.Name == "Mallory" {
			return nil, trunkline.NewProtocolError(403, "refused by the policy", nil)
		}
		return call.Next(ctx, nil)
	}, "tools/call"))
	handler := trunkline.Must(server.Handler())
	if response := posted(t, handler, "hello", `"arguments":{"name":"Ada"}`); response.Error != nil || len(greeted) != 1 {
		t.Fatal(response.Error, greeted)
	}
	for params, member := range map[string]string{
		`"arguments":{"name":"Mallory"}`:                                 "policy",
		`"arguments":{"name":"Mallory"},"ARGUMENTS":{"name":"Ada"}`:      "ARGUMENTS",
		`"arguments":{"name":"Mallory","NAME":"Ada"}`:                    "NAME",
		`"arguments":{"name":"Ada"},"NAME":"wipe"`:                       "NAME",
		`"arguments":{"name":"Mallory"},"Argument\u017f":{"name":"Ada"}`: "Arguments",
	} {
		response := posted(t, handler, "hello", params)
		if response.Error == nil || !strings.Contains(strings.ReplaceAll(response.Error.Message, "ſ", "s"), member) {
			t.Error(params, response.Result, response.Error)
		}
	}
	if len(greeted) != 1 {
		t.Error(greeted)
	}
}

func TestAnAnswerInAnotherCaseIsNoConsent(t *testing.T) {
	server := newServer(t)
	outcomes := make(chan string, 8)
	type consent struct {
		Sure bool `json:"sure"`
	}
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "wipe"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		given, err := trunkline.Elicit[consent](ctx, call, "Wipe everything?")
		if errors.Is(err, trunkline.ErrSuspended) {
			return "", err
		}
		outcomes <- fmt.Sprint(given != nil && given.Sure, err)
		return "", err
	}))
	handler := trunkline.Must(server.Handler())
	for answer, wanted := range map[string]string{
		`{"action":"accept","content":{"sure":true}}`:                          "true <nil>",
		`{"action":"decline"}`:                                                 "false <nil>",
		`{"action":"decline","ACTION":"accept","content":{"sure":true}}`:       "ACTION",
		`{"action":"accept","content":{"sure":false},"Content":{"sure":true}}`: "Content",
		`{"action":"accept","content":{"sure":false,"SURE":true}}`:             "SURE",
	} {
		first := posted(t, handler, "wipe", `"arguments":{}`)
		if len(first.Inputs) != 1 {
			t.Fatalf("%+v", first)
		}
		for key := range first.Inputs {
			posted(t, handler, "wipe", fmt.Sprintf(`"arguments":{},"inputResponses":{%q:%s},"requestState":%q`, key, answer, first.State))
		}
		select {
		case outcome := <-outcomes:
			if !strings.Contains(outcome, wanted) || strings.HasPrefix(outcome, "true") != strings.HasPrefix(wanted, "true") {
				t.Error(answer, outcome)
			}
		default:
			if strings.Contains(wanted, "nil") {
				t.Error(answer, "the handler did not end")
			}
		}
	}
}

type own struct{ amount json.Number }

func (o *own) UnmarshalJSON(data []byte) error {
	read, err := trunkline.Decode[transfer](data)
	o.amount = read.Amount
	return err
}

func TestDecodeNamesTheMember(t *testing.T) {
	type deep struct {
		Items []*map[string]payment `json:"items"`
		Own   own                   `json:"own"`
		Any   any                   `json:"any"`
		City  string
	}
	for text, wanted := range map[string]trunkline.InvalidError{
		`{"items":[{},{"a/b":{"items":[{"kind":"a","KIND":"b"}]}}]}`: {Path: "/items/1/a~1b/items/0/KIND", Message: `the member "KIND" differs from "kind" only in case; names must match exactly`},
		`{"own":{"amount":1,"AMOUNT":2}}`:                            {Path: "/AMOUNT", Message: `the member "AMOUNT" differs from "amount" only in case; names must match exactly`},
		`{"own":{"other":{"a":1,"a":2}}}`:                            {Path: "/own/other/a", Message: `the member "a" occurs twice`},
		`{"any":{},"any":1}`:                                         {Path: "/any", Message: `the member "any" occurs twice`},
		`{"city":"Oslo"}`:                                            {Path: "/city", Message: `the member "city" differs from "City" only in case; names must match exactly`},
	} {
		found, err := trunkline.Decode[deep]([]byte(text))
		var invalid *trunkline.InvalidError
		if !errors.As(err, &invalid) || *invalid != wanted || !reflect.DeepEqual(found, deep{}) {
			t.Errorf("%s: %+v %#v", text, found, err)
		}
	}
	found, err := trunkline.Decode[deep]([]byte(`{"any":{"a":1,"A":2,"a":3},"City":"Oslo","own":{"amount":7}}`))
	if err != nil || found.City != "Oslo" || found.Own.amount != "7" || !reflect.DeepEqual(found.Any, map[string]any{"a": 3.0, "A": 2.0}) {
		t.Errorf("%+v %v", found, err)
	}
	for _, text := range []string{``, `{`, `{"items":7}`, `null x`} {
		if found, err := trunkline.Decode[deep]([]byte(text)); err == nil || !strings.Contains(err.Error(), "the JSON does not fit") {
			t.Error(text, found, err)
		}
	}
	if read, err := trunkline.Decode[struct {
		Days int8 `json:"days"`
	}]([]byte(`{"days":5.0}`)); err != nil || read.Days != 5 {
		t.Error(read, err)
	}
}
