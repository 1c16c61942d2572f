package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
	wav = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAAAAAAAAAA=="
)

type (
	request = *mcp.CallToolRequest
	result  = *mcp.CallToolResult
	none    struct{}
)

func text(said string) result {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}
}

func offer[In any](server *mcp.Server, name string, handle func(context.Context, request, In) (result, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: name}, func(ctx context.Context, request request, given In) (result, any, error) {
		result, err := handle(ctx, request, given)
		return result, nil, err
	})
}

func block(server *mcp.Server, name string, content mcp.Content) {
	offer(server, name, func(context.Context, request, none) (result, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil
	})
}

func bytesOf(encoded string) []byte {
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	check(err)
	return decoded
}

func newServer() *mcp.Server {
	accept := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	server := mcp.NewServer(&mcp.Implementation{Name: "peer-go", Version: "1.0.0"}, &mcp.ServerOptions{
		PageSize:           5,
		CompletionHandler:  complete,
		SubscribeHandler:   accept,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	addTools(server)
	addRunning(server)
	addAsking(server)
	addChanging(server)
	addContent(server)
	addPrompts(server)
	return server
}

func addTools(server *mcp.Server) {
	offer(server, "echo", func(_ context.Context, _ request, given struct {
		Message string `json:"message"`
	}) (result, error) {
		return text(given.Message), nil
	})
	offer(server, "add_numbers", func(_ context.Context, _ request, given struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}) (result, error) {
		return text(fmt.Sprint(given.A + given.B)), nil
	})
	block(server, "test_image_content", &mcp.ImageContent{Data: bytesOf(png), MIMEType: "image/png"})
	block(server, "test_audio_content", &mcp.AudioContent{Data: bytesOf(wav), MIMEType: "audio/wav"})
	block(server, "test_embedded_resource", &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}})
	block(server, "test_resource_link", &mcp.ResourceLink{URI: "test://static-text", Name: "static-text"})
	type place struct {
		City string `json:"city"`
	}
	type weather struct {
		City        string  `json:"city"`
		Temperature float64 `json:"temperature"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "structured", Description: "Return structured content."}, func(_ context.Context, _ request, given place) (result, weather, error) {
		return nil, weather{given.City, 21.5}, nil
	})
	offer(server, "test_error_handling", func(context.Context, request, none) (result, error) {
		return nil, errors.New("This tool intentionally returns an error for testing")
	})
	schema := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`)
	server.AddTool(&mcp.Tool{Name: "test_x_mcp_header", Description: "Has a header.", InputSchema: schema}, func(context.Context, request) (result, error) {
		return text("called with its header"), nil
	})
}

func wait(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func addRunning(server *mcp.Server) {
	offer(server, "slow", func(ctx context.Context, _ request, given struct {
		MS int `json:"ms"`
	}) (result, error) {
		return text("done"), wait(ctx, time.Duration(given.MS)*time.Millisecond)
	})
	offer(server, "test_tool_with_progress", func(ctx context.Context, request request, _ none) (result, error) {
		for _, progress := range []float64{0, 50, 100} {
			if token := request.Params.GetProgressToken(); token != nil {
				params := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: 100}
				if err := request.Session.NotifyProgress(ctx, params); err != nil {
					return nil, err
				}
			}
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	})
	offer(server, "test_logging_tool", func(ctx context.Context, request request, _ none) (result, error) {
		err := request.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "an information"})
		return text("logged twice"), errors.Join(err, request.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "an error"}))
	})
	offer(server, "test_reconnection", func(ctx context.Context, request request, _ none) (result, error) {
		if extra := request.Extra; extra != nil && extra.CloseSSEStream != nil {
			extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 50 * time.Millisecond})
		}
		return text("Reconnection test completed successfully"), wait(ctx, 100*time.Millisecond)
	})
	offer(server, "test_whoami", func(_ context.Context, request request, _ none) (result, error) {
		caller := "nobody"
		if extra := request.Extra; extra != nil && extra.TokenInfo != nil {
			caller = extra.TokenInfo.UserID
		}
		return text("caller: " + caller), nil
	})
}

// ask offers a tool that asks the client for something, and shows the answer.
func ask[Answer mcp.InputResponse](server *mcp.Server, name string, asked mcp.InputRequest, show func(Answer) string) {
	const key = "user_name"
	server.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, request request) (result, error) {
		answer, answered := request.Params.InputResponses[key].(Answer)
		if !answered {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: asked}}, nil
		}
		return text(show(answer)), nil
	})
}

func addAsking(server *mcp.Server) {
	form := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","default":"John Doe"}}}`)
	ask(server, "test_elicitation_sep1034_defaults", &mcp.ElicitParams{Mode: "form", Message: "Please review the defaults", RequestedSchema: form}, func(answer *mcp.ElicitResult) string {
		return "action: " + answer.Action
	})
	question := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	ask(server, "test_input_required_result_elicitation", &mcp.ElicitParams{Mode: "form", Message: "What is your name?", RequestedSchema: question}, func(answer *mcp.ElicitResult) string {
		return fmt.Sprintf("Hello, %v!", answer.Content["name"])
	})
	messages := []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "How are you?"}}}
	ask(server, "test_sampling", &mcp.CreateMessageParams{Messages: messages, MaxTokens: 100}, func(answer mcp.InputResponse) string {
		encoded, err := json.Marshal(answer)
		check(err)
		return "LLM response: " + sampled(encoded)
	})
	ask(server, "test_roots", &mcp.ListRootsParams{}, func(answer *mcp.ListRootsResult) string {
		var found []string
		for _, root := range answer.Roots {
			found = append(found, root.URI)
		}
		return "roots: " + strings.Join(found, ", ")
	})
}

// sampled is the text of an answer of the model, which may be one block or several.
func sampled(encoded []byte) string {
	type block struct{ Text string }
	var one struct{ Content block }
	if json.Unmarshal(encoded, &one) == nil {
		return one.Content.Text
	}
	var many struct{ Content []block }
	if json.Unmarshal(encoded, &many) != nil || len(many.Content) == 0 {
		return ""
	}
	return many.Content[0].Text
}

// number makes names unique, because clients that share the server may call at the same time.
var number atomic.Int64

func addChanging(server *mcp.Server) {
	changes := func(tool string, add, remove func(name string)) {
		offer(server, tool, func(ctx context.Context, _ request, _ none) (result, error) {
			name := fmt.Sprintf("added_%d", number.Add(1))
			add(name)
			defer remove(name)
			return text("changed"), wait(ctx, 20*time.Millisecond)
		})
	}
	changes("test_trigger_tool_change", func(name string) { block(server, name, &mcp.TextContent{}) }, func(name string) { server.RemoveTools(name) })
	changes("test_trigger_prompt_change", func(name string) {
		server.AddPrompt(&mcp.Prompt{Name: name}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
	}, func(name string) { server.RemovePrompts(name) })
	changes("test_trigger_resource_change", func(name string) {
		server.AddResource(&mcp.Resource{Name: name, URI: "test://" + name}, contents("", "", nil))
	}, func(name string) { server.RemoveResources("test://" + name) })
	offer(server, "test_update_resource", func(ctx context.Context, _ request, _ none) (result, error) {
		return text("changed"), server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "test://watched-resource"})
	})
}

func contents(kind, said string, blob []byte) mcp.ResourceHandler {
	return func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, MIMEType: kind, Text: said, Blob: blob}}}, nil
	}
}

func addContent(server *mcp.Server) {
	add := func(name, kind string, handler mcp.ResourceHandler) {
		server.AddResource(&mcp.Resource{Name: name, URI: "test://" + name, MIMEType: kind}, handler)
	}
	add("static-text", "text/plain", contents("text/plain", "This is the content of the static text resource.", nil))
	add("static-binary", "image/png", contents("image/png", "", bytesOf(png)))
	add("watched-resource", "text/plain", contents("text/plain", "Watched resource content", nil))
	add("counted-reads", "text/plain", func(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		read, err := contents("text/plain", fmt.Sprintf("read %d", number.Add(1)), nil)(ctx, request)
		read.TTLMs = 60_000
		return read, err
	})
	const prefix, suffix = "test://template/", "/data"
	template := &mcp.ResourceTemplate{Name: "template", URITemplate: prefix + "{id}" + suffix, MIMEType: "application/json"}
	server.AddResourceTemplate(template, func(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(request.Params.URI, prefix), suffix)
		encoded, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		if err != nil {
			return nil, err
		}
		return contents("application/json", string(encoded), nil)(ctx, request)
	})
}

func addPrompts(server *mcp.Server) {
	answer := func(said string) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: said}}}}, nil
	}
	server.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return answer("This is a simple prompt for testing.")
	})
	arguments := []*mcp.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}}
	server.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Arguments: arguments}, func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		given := request.Params.Arguments
		return answer(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", given["arg1"], given["arg2"]))
	})
}

func complete(_ context.Context, request *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, word := range []string{"paris", "park", "party"} {
		if request.Params.Argument.Name == "arg1" && strings.HasPrefix(word, request.Params.Argument.Value) {
			values = append(values, word)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values}}, nil
}
