package trunkline_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// oddAnswer is a row of tests/odd-answers.json, which every language plays.
type oddAnswer struct {
	What    string         `json:"what"`
	Method  string         `json:"method"`
	Tools   string         `json:"tools"`
	Result  string         `json:"result"`
	Reads   map[string]any `json:"reads"`
	Warns   []string       `json:"warns"`
	Refused string         `json:"refused"`
}

// An oddServer has a result for each method.
type oddServer struct {
	pipe
	results map[string]string
}

func (row oddAnswer) server() *oddServer {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"odd","version":"1"}}`,
		"tools/list": row.Tools,
	}
	results[row.Method] = row.Result
	return &oddServer{pipe{toClient: make(chan string, 16), closed: make(chan struct{})}, results}
}

func (s *oddServer) Send(_ context.Context, message string) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(message), &request); err != nil || request.ID == nil {
		return err
	}
	s.toClient <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, s.results[request.Method])
	return nil
}

// names are those of the items of a list.
func names[T any](items []T, err error, name func(T) string) (map[string]any, error) {
	found := []string{}
	for _, item := range items {
		found = append(found, name(item))
	}
	return map[string]any{"names": found}, err
}

// read is what a client makes of the answer, as the table has it.
func (row oddAnswer) read(ctx context.Context, client *trunkline.Client) (map[string]any, error) {
	switch row.Method {
	case "tools/call":
		result, err := client.CallTool(ctx, "t", nil)
		if err != nil {
			return nil, err
		}
		return map[string]any{"text": result.Content.Text(), "isError": result.IsError, "blocks": len(result.Content)}, nil
	case "tools/list":
		items, err := client.ListTools(ctx)
		return names(items, err, func(item trunkline.Tool) string { return item.Name })
	case "resources/list":
		items, err := client.ListResources(ctx)
		return names(items, err, func(item trunkline.Resource) string { return item.Name })
	case "resources/templates/list":
		items, err := client.ListResourceTemplates(ctx)
		return names(items, err, func(item trunkline.ResourceTemplate) string { return item.Name })
	case "prompts/list":
		items, err := client.ListPrompts(ctx)
		return names(items, err, func(item trunkline.Prompt) string { return item.Name })
	case "prompts/get":
		result, err := client.GetPrompt(ctx, "p", nil)
		if err != nil {
			return nil, err
		}
		texts := []any{}
		for _, message := range result.Messages {
			text, isText := message.Content.(*trunkline.TextContent)
			if texts = append(texts, nil); isText {
				texts[len(texts)-1] = text.Text
			}
		}
		return map[string]any{"texts": texts}, nil
	case "resources/read":
		result, err := client.ReadResource(ctx, "a:b")
		if err != nil {
			return nil, err
		}
		texts := []string{}
		for _, contents := range result.Contents {
			if texts = append(texts, contents.Text); contents.Blob != nil {
				texts[len(texts)-1] = base64.StdEncoding.EncodeToString(contents.Blob)
			}
		}
		return map[string]any{"texts": texts}, nil
	case "completion/complete":
		result, err := client.Complete(ctx, &trunkline.PromptReference{Name: "p"}, trunkline.CompleteArgument{Name: "a", Value: "x"}, nil)
		if err != nil {
			return nil, err
		}
		return map[string]any{"values": append([]string{}, result.Completion.Values...)}, nil
	}
	info, err := client.Info()
	if err != nil {
		return nil, err
	}
	found := map[string]any{"revision": info.Revision, "server": nil}
	if info.ServerInfo != nil {
		found["server"] = info.ServerInfo.Name
	}
	return found, nil
}

// play connects to the server of the row, and reads its answer.
func (row oddAnswer) play(t *testing.T, log records) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	options := trunkline.ClientOptions{Revision: "2025-11-25", Reconnect: trunkline.Ptr(false), Logger: log.logger()}
	if row.Method == "server/discover" {
		// A client with a given revision needs none.
		options.Revision = ""
	}
	client, err := trunkline.ConnectTransport(ctx, row.server(), options)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if row.Tools != "" {
		if _, err := client.ListTools(ctx); err != nil {
			return nil, err
		}
	}
	return row.read(ctx, client)
}

func TestEveryOddAnswerHasOneVerdict(t *testing.T) {
	text, err := os.ReadFile("../tests/odd-answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []oddAnswer
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) < 130 {
		t.Fatal(len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.Method+": "+row.What, func(t *testing.T) {
			log := make(records, 64)
			found, err := row.play(t, log)
			if row.Refused != "" {
				if !errors.Is(err, trunkline.ErrTransport) || !strings.Contains(err.Error(), row.Refused) {
					t.Error(found, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]any{}
			for name := range row.Reads {
				seen[name] = found[name]
			}
			if got, expected := inPlainJSON(t, seen), inPlainJSON(t, row.Reads); got != expected {
				t.Errorf("it reads %s instead of %s", got, expected)
			}
			row.checkLog(t, log)
		})
	}
}

// checkLog finds the warning of the row, or none.
func (row oddAnswer) checkLog(t *testing.T, log records) {
	t.Helper()
	if row.Warns == nil {
		if len(log) > 0 {
			t.Error(<-log)
		}
		return
	}
	returns(t, fmt.Sprintf("the warning %q", row.Warns), func() {
		for line := range log {
			line = strings.ReplaceAll(line, `\"`, `"`)
			if !slices.ContainsFunc(row.Warns, func(part string) bool { return !strings.Contains(line, part) }) {
				return
			}
		}
	})
}
