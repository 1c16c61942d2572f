// The official Go SDK. Usage: stdio | http PORT [json] [stateless] [--tools N], or as a client:
// client N INFLIGHT -- COMMAND... | client N INFLIGHT URL
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type message struct {
	Message string `json:"message"`
}

type numbers struct {
	A int `json:"a"`
	B int `json:"b"`
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func echo(_ context.Context, _ *mcp.CallToolRequest, given message) (*mcp.CallToolResult, any, error) {
	return said(given.Message), nil, nil
}

func add(_ context.Context, _ *mcp.CallToolRequest, given numbers) (*mcp.CallToolResult, any, error) {
	return said(strconv.Itoa(given.A + given.B)), nil, nil
}

func newServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "0.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Echo the message back"}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Add two integers"}, add)
	if at := slices.Index(os.Args, "--tools"); at > 0 {
		for i := range must(strconv.Atoi(os.Args[at+1])) {
			tool := &mcp.Tool{Name: fmt.Sprintf("tool_%03d", i), Description: fmt.Sprintf("Generated tool number %d", i)}
			mcp.AddTool(server, tool, add)
		}
	}
	return server
}

func serve(port string) error {
	server := newServer()
	options := &mcp.StreamableHTTPOptions{
		Stateless:    slices.Contains(os.Args, "stateless"),
		JSONResponse: slices.Contains(os.Args, "json"),
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, options)
	http.Handle("/mcp", handler)
	return http.ListenAndServe("127.0.0.1:"+port, nil)
}

func call(session *mcp.ClientSession, number int) {
	text := fmt.Sprintf("m%d", number)
	params := &mcp.CallToolParams{Name: "echo", Arguments: message{text}}
	result := must(session.CallTool(context.Background(), params))
	if found := result.Content[0].(*mcp.TextContent).Text; found != text {
		log.Fatal("wrong text: ", found)
	}
}

func callAll(calls, inFlight int, target []string) {
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	if target[0] == "--" {
		transport = &mcp.CommandTransport{Command: exec.Command(target[1], target[2:]...)}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "0.0.0"}, nil)
	session := must(client.Connect(context.Background(), transport, nil))
	defer session.Close()
	for number := range 200 {
		call(session, number)
	}
	fmt.Println("READY")
	var line string
	_, _ = fmt.Scanln(&line)
	var all sync.WaitGroup
	for first := range inFlight {
		all.Go(func() {
			for number := first; number < calls; number += inFlight {
				call(session, number)
			}
		})
	}
	all.Wait()
	fmt.Println("DONE")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	words := append(os.Args[1:], "")
	switch words[0] {
	case "stdio":
		if err := newServer().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Fatal(err)
		}
	case "http":
		log.Fatal(serve(words[1]))
	case "client":
		callAll(must(strconv.Atoi(words[1])), must(strconv.Atoi(words[2])), os.Args[4:])
	default:
		log.Fatal("usage: stdio | http PORT [json] [stateless] [--tools N] | client N INFLIGHT -- COMMAND... | client N INFLIGHT URL")
	}
}
