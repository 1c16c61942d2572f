package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type city struct {
	City string `json:"city" jsonschema:"Where the weather is."`
	Days int    `json:"days,omitempty"`
}

type weather struct {
	City        string  `json:"city"`
	Temperature float64 `json:"temperature"`
}

type valueKey struct{}

// newServer has a few tools, and is closed after the test.
func newServer(t *testing.T) *trunkline.Server {
	t.Helper()
	server := trunkline.NewServer("test", "1.0.0", trunkline.ServerOptions{PageSize: 2})
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	added := func(_ *trunkline.Feature, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	added(trunkline.AddTool(server, trunkline.Tool{Name: "weather"}, func(_ context.Context, _ *trunkline.Call, given city) (weather, error) {
		if given.City == "nowhere" {
			return weather{}, trunkline.ToolErrorf("%s has no weather", given.City)
		}
		return weather{given.City, 21.5}, nil
	}))
	added(trunkline.AddTool(server, trunkline.Tool{Name: "greet"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		return fmt.Sprint("Hello, ", ctx.Value(valueKey{}), "!"), nil
	}))
	added(trunkline.AddTool(server, trunkline.Tool{Name: "slow"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 2, "half")
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(30 * time.Second):
			return "done", nil
		}
	}))
	added(trunkline.AddTool(server, trunkline.Tool{Name: "ask"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		schema := map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}
		answer, err := call.Elicit(ctx, "What is your name?", schema)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(answer.Action, " ", answer.Content["name"]), nil
	}))
	added(server.AddResource(trunkline.Resource{Name: "note", URI: "test://note"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
		return []byte{1, 2, 3}, nil
	}))
	return server
}

func TestAListThatDoesNotEndIsAnError(t *testing.T) {
	server := newServer(t)
	_, err := server.AddProvider(trunkline.CategoryResources, func(context.Context, string) (any, string, error) { return nil, "again", nil }, func(context.Context, *trunkline.Call, json.RawMessage) (any, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	returns(t, "the loop", func() {
		for _, err = range client.Resources(t.Context()) {
			if err != nil {
				break
			}
		}
	})
	if !errors.Is(err, trunkline.ErrTransport) {
		t.Error(err)
	}
}

func connected(t *testing.T, client *trunkline.Client, err error) *trunkline.Client {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func memory(t *testing.T, options ...trunkline.ClientOptions) *trunkline.Client {
	t.Helper()
	client, err := trunkline.ConnectMemory(context.Background(), newServer(t), options...)
	return connected(t, client, err)
}

func TestToolsAreTypedInBothDirections(t *testing.T) {
	client := memory(t)
	found, err := trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "Rome"})
	if err != nil || found != (weather{"Rome", 21.5}) {
		t.Fatal(found, err)
	}
	_, err = trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "nowhere"})
	var failure *trunkline.ToolError
	if !errors.As(err, &failure) || failure.Message != "nowhere has no weather" {
		t.Fatal(err)
	}
}

func TestSchemasDescribeStructs(t *testing.T) {
	schema, err := trunkline.SchemaOf[city]()
	expected := `{"type":"object","properties":{"city":{"type":"string","description":"Where the weather is."},"days":{"type":"integer"}},"required":["city"],"additionalProperties":false}`
	if err != nil || string(schema) != expected {
		t.Fatal(string(schema), err)
	}
}

func TestValuesOfAContextReachAHandlerInMemory(t *testing.T) {
	client := memory(t)
	result, err := client.CallTool(context.WithValue(t.Context(), valueKey{}, "Ada"), "greet", nil)
	if err != nil || result.Content.Text() != "Hello, Ada!" {
		t.Fatal(result, err)
	}
}

func TestACancelledContextCancelsTheCall(t *testing.T) {
	client := memory(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := client.CallTool(ctx, "slow", nil, trunkline.RequestOptions{OnProgress: func(said trunkline.Progress) {
		if said.Progress == 1 && said.Message == "half" && *said.Total == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, trunkline.ErrCancelled) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestErrorsHaveKindsAndFacts(t *testing.T) {
	client := memory(t)
	_, err := client.ReadResource(t.Context(), "test://missing")
	var failure *trunkline.Error
	if !errors.Is(err, trunkline.ErrProtocol) || !errors.As(err, &failure) || failure.Code != trunkline.CodeInvalidParams {
		t.Fatal(err)
	}
	_, err = trunkline.Connect(t.Context(), "http://127.0.0.1:1/mcp")
	if !errors.As(err, &failure) || failure.Facts().Reason != trunkline.FailureReasonRefused {
		t.Fatal(err, string(failure.Data))
	}
}

func TestListsAreFetchedPageByPage(t *testing.T) {
	client := memory(t)
	var names []string
	for tool, err := range client.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	if strings.Join(names, " ") != "weather greet slow ask" {
		t.Fatal(names)
	}
}

func TestAHandlerAsksTheUser(t *testing.T) {
	client := memory(t, trunkline.ClientOptions{ClientHandlers: trunkline.ClientHandlers{
		OnElicit: func(_ context.Context, asked *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
			return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept, Content: map[string]any{"name": asked.Message}}, nil
		},
	}})
	result, err := client.CallTool(t.Context(), "ask", nil)
	if err != nil || result.Content.Text() != "accept What is your name?" {
		t.Fatal(result, err)
	}
}

func TestAResourceHasBytes(t *testing.T) {
	client := memory(t)
	result, err := client.ReadResource(t.Context(), "test://note")
	if err != nil || string(result.Contents[0].Blob) != "\x01\x02\x03" {
		t.Fatal(result, err)
	}
}

func TestManyGoroutinesShareAClient(t *testing.T) {
	client := memory(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 20 {
				if found, err := trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "Oslo"}); err != nil || found.City != "Oslo" {
					t.Error(found, err)
				}
			}
		})
	}
	all.Wait()
}

func TestAServerIsMountedInAWebServer(t *testing.T) {
	handler, err := newServer(t).Handler()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	client, err := trunkline.Connect(t.Context(), web.URL+"/mcp")
	connected(t, client, err)
	if found, err := trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "Lima"}); err != nil || found.City != "Lima" {
		t.Fatal(found, err)
	}
}

func TestAServerListens(t *testing.T) {
	listener, err := newServer(t).Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.Connect(t.Context(), listener.URL())
	connected(t, client, err)
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := client.Info(); err != nil || info.ServerInfo.Name != "test" {
		t.Fatal(info, err)
	}
}

func TestASubscriptionReportsChanges(t *testing.T) {
	server := newServer(t)
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	changes, err := client.Subscribe(t.Context(), trunkline.SubscriptionFilter{Resources: []string{"test://note"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.ResourceUpdated("test://note"); err != nil {
		t.Fatal(err)
	}
	for change, err := range changes {
		if err != nil || change.Kind != trunkline.ChangeKindResource || change.URI != "test://note" {
			t.Fatal(change, err)
		}
		break
	}
}
