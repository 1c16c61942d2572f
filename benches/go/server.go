// The bench server in Go: server stdio | http PORT [json] [stateless] [features] [--tools N]
// [--store URL] [--auth FILE]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type message struct {
	Message string `json:"message"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

type answer struct {
	Value string `json:"value"`
}

func echo(_ context.Context, _ *trunkline.Call, given message) (string, error) {
	return given.Message, nil
}

func add(_ context.Context, _ *trunkline.Call, given numbers) (string, error) {
	return strconv.Itoa(given.A + given.B), nil
}

func report(_ context.Context, call *trunkline.Call, given message) (string, error) {
	for number := 1.0; number <= 20; number++ {
		call.Progress(number, 20, "")
	}
	return given.Message, nil
}

func ask(ctx context.Context, call *trunkline.Call, given message) (string, error) {
	filled, err := trunkline.Elicit[answer](ctx, call, given.Message)
	if err != nil || filled == nil {
		return "no answer", err
	}
	return filled.Value, nil
}

func addAll(_ context.Context, _ *trunkline.Call, given map[string]int) (string, error) {
	sum := 0
	for _, number := range given {
		sum += number
	}
	return strconv.Itoa(sum), nil
}

func tool[In any](server *trunkline.Server, name, description string, schema json.RawMessage, handle func(context.Context, *trunkline.Call, In) (string, error)) {
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name, Description: description, InputSchema: schema}, handle))
}

// wide is the schema of 100 integers.
func wide() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for i := range 100 {
		name := fmt.Sprintf("f%02d", i)
		properties[name] = map[string]string{"type": "integer"}
		required = append(required, name)
	}
	return trunkline.Must(json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required}))
}

func has(word string) bool { return slices.Contains(os.Args, word) }

func valueOf(option string) string {
	at := slices.Index(os.Args, option)
	if at < 0 {
		return ""
	}
	return os.Args[at+1]
}

// auth reads the access tokens from a file (tests/matrix/authorization.json).
func auth(file string) (options trunkline.AuthOptions) {
	if file == "" {
		return options
	}
	var given struct {
		Auth struct {
			Resource, Issuer string
			JWKS             json.RawMessage
		}
	}
	if err := json.Unmarshal(trunkline.Must(os.ReadFile(file)), &given); err != nil {
		log.Fatal(err)
	}
	return trunkline.AuthOptions{Resource: given.Auth.Resource, Issuer: []string{given.Auth.Issuer}, JWKS: given.Auth.JWKS}
}

func main() {
	// Messages of `grow-bytes` are longer than the default allows.
	options := trunkline.ServerOptions{MaxMessageBytes: 128 << 20, Store: valueOf("--store")}
	server := trunkline.NewServer("bench", "0.0.0", options)
	tool(server, "echo", "Echo the message back", nil, echo)
	tool(server, "add", "Add two integers", nil, add)
	count, _ := strconv.Atoi(valueOf("--tools"))
	for i := range count {
		tool(server, fmt.Sprintf("tool_%03d", i), fmt.Sprintf("Generated tool number %d", i), nil, add)
	}
	if has("features") {
		tool(server, "report", "Report progress, then echo the message back", nil, report)
		tool(server, "ask", "Ask the user", nil, ask)
		tool(server, "wide", "Add 100 integers", wide(), addAll)
	}
	ctx := context.Background()
	var err error
	switch {
	case has("stdio"):
		err = server.ServeStdio(ctx)
	case has("http"):
		err = server.ListenAndServe(ctx, trunkline.HTTPOptions{
			Port:      trunkline.Ptr(trunkline.Must(strconv.Atoi(valueOf("http")))),
			JSON:      has("json"),
			Stateless: has("stateless"),
			Auth:      auth(valueOf("--auth")),
		})
	default:
		log.Fatal("usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]")
	}
	if err != nil {
		log.Fatal(err)
	}
}
