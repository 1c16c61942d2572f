package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type place struct {
	City string `json:"city" jsonschema:"Where the weather is."`
}

type forecast struct {
	City    string  `json:"city"`
	Degrees float64 `json:"degrees"`
}

func predict(_ context.Context, _ *trunkline.Call, given place) (forecast, error) {
	if given.City == "Atlantis" {
		return forecast{}, trunkline.ToolErrorf("%s has sunk", given.City)
	}
	return forecast{given.City, 21.5}, nil
}

func Example() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "forecast", Description: "Predicts the weather."}, predict); err != nil {
		log.Fatal(err)
	}

	client, err := trunkline.ConnectMemory(ctx, server)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	found, err := trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Rome"})
	fmt.Println(found, err)
	_, err = trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Atlantis"})
	fmt.Println(err)
	// Output:
	// {Rome 21.5} <nil>
	// Atlantis has sunk
}

type unit string

const (
	celsius    unit = "celsius"
	fahrenheit unit = "fahrenheit"
)

func (unit) Enum() []any { return []any{celsius, fahrenheit} }

// A type that lists its values.
func ExampleSchemaOf() {
	schema, err := trunkline.SchemaOf[struct {
		Unit unit `json:"unit" jsonschema:"The unit of the degrees."`
	}]()
	fmt.Println(string(schema), err)
	// Output:
	// {"type":"object","properties":{"unit":{"type":"string","enum":["celsius","fahrenheit"],"description":"The unit of the degrees."}},"required":["unit"],"additionalProperties":false} <nil>
}

// A handler that gives the model a sentence, and programs the data.
func ExampleResult() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, func(_ context.Context, _ *trunkline.Call, given place) (trunkline.Result[forecast], error) {
		said := &trunkline.TextContent{Text: "It will be warm in " + given.City + "."}
		return trunkline.Result[forecast]{Content: trunkline.ContentBlocks{said}, Value: forecast{given.City, 21.5}}, nil
	}))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	result := trunkline.Must(client.CallTool(ctx, "forecast", place{City: "Rome"}))
	fmt.Println(result.Content.Text())
	fmt.Println(trunkline.Must(trunkline.Decode[forecast](result.StructuredContent)))
	// Output:
	// It will be warm in Rome.
	// {Rome 21.5}
}

// Names match exactly, unlike with json.Unmarshal.
func ExampleDecode() {
	params := json.RawMessage(`{"city": "Rome", "CITY": "Atlantis"}`)
	_, err := trunkline.Decode[place](params)
	fmt.Println(err)
	// Output:
	// the member "CITY" differs from "city" only in case; names must match exactly
}

// Middleware that refuses some calls.
func ExampleServer_Use() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, predict))
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
		request, err := trunkline.Decode[struct {
			Arguments place `json:"arguments"`
		}](params)
		if err != nil {
			return nil, err
		}
		if request.Arguments.City == "Atlantis" {
			return nil, trunkline.NewProtocolError(403, "no forecasts for myths", nil)
		}
		return call.Next(ctx, nil)
	}, "tools/call"))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	_, err := client.CallTool(ctx, "forecast", place{City: "Atlantis"})
	fmt.Println(err)
	// Output:
	// no forecasts for myths
}

// An iterator fetches the pages of a list as the loop reaches them.
func ExampleClient_Tools() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, predict))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, string(tool.InputSchema))
	}
	// Output:
	// forecast {"type":"object","properties":{"city":{"type":"string","description":"Where the weather is."}},"required":["city"],"additionalProperties":false}
}

// The endpoint as an http.Handler, here in a server of net/http/httptest.
func ExampleServer_Handler() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, predict))
	web := httptest.NewServer(trunkline.Must(server.Handler()))
	defer web.Close()

	client := trunkline.Must(trunkline.Connect(ctx, web.URL+"/mcp"))
	defer client.Close()
	fmt.Println(trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Rome"}))
	// Output:
	// {Rome 21.5} <nil>
}

// A server behind an http.RoundTripper of the program, here one that trusts the certificate of a
// test. In production, let the proxy listen at a Unix socket, to which other users have no access.
func ExampleConnect_roundTripper() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, predict))
	web := httptest.NewTLSServer(trunkline.Must(server.Handler()))
	defer web.Close()

	target := trunkline.Must(url.Parse(web.URL))
	local := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport: web.Client().Transport,
	})
	defer local.Close()

	client := trunkline.Must(trunkline.Connect(ctx, local.URL+"/mcp"))
	defer client.Close()
	fmt.Println(trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Rome"}))
	// Output:
	// {Rome 21.5} <nil>
}

// A handler that asks the user of its client, who fills in a form.
func ExampleElicit() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "ask"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		// The handler may run again with the answer: it returns every error.
		given, err := trunkline.Elicit[place](ctx, call, "Where are you?")
		if err != nil {
			return "", err
		}
		if given == nil {
			return "The user did not say.", nil
		}
		return "The user is in " + given.City + ".", nil
	}))

	var options trunkline.ClientOptions
	options.OnElicit = func(_ context.Context, request *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		fmt.Println(request.Message)
		return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept, Content: map[string]any{"city": "Rome"}}, nil
	}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server, options))
	defer client.Close()
	fmt.Println(trunkline.CallTool[string](ctx, client, "ask", nil))
	// Output:
	// Where are you?
	// The user is in Rome. <nil>
}

// Two servers behind one client, which puts their names before those of their tools.
func ExampleConnectGroup() {
	ctx := context.Background()
	servers := map[string]any{}
	for _, name := range []string{"europe", "asia"} {
		server := trunkline.NewServer(name, "1.0.0")
		defer server.Close(ctx)
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "forecast"}, predict))
		servers[name] = server
	}

	client := trunkline.Must(trunkline.ConnectGroup(ctx, servers))
	defer client.Close()
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		fmt.Println(tool.Name)
	}
	fmt.Println(trunkline.CallTool[forecast](ctx, client, "europe__forecast", place{City: "Rome"}))
	// Unordered output:
	// europe__forecast
	// asia__forecast
	// {Rome 21.5} <nil>
}

// Errors have a kind, for errors.Is, and facts, for errors.As.
func ExampleError() {
	_, err := trunkline.Connect(context.Background(), "http://127.0.0.1:1/mcp")
	fmt.Println(errors.Is(err, trunkline.ErrTransport))
	var failure *trunkline.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Facts().Reason == trunkline.FailureReasonRefused)
	}
	// Output:
	// true
	// true
}

// A handler that reports progress, and a client that shows it.
func ExampleCall_Progress() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "measure"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 1, "measured")
		return "done", nil
	}))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	fmt.Println(trunkline.CallTool[string](ctx, client, "measure", nil, trunkline.RequestOptions{OnProgress: func(said trunkline.Progress) {
		fmt.Println(said.Message, said.Progress, "of", *said.Total)
	}}))
	// Output:
	// measured 1 of 1
	// done <nil>
}
