// A tool that samples the client's model, and a client with a model.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type text struct {
	Text string `json:"text"`
}

func summarize(ctx context.Context, call *trunkline.Call, given text) (string, error) {
	question := trunkline.SamplingBlocks{&trunkline.TextContent{Text: "Summarize in three words: " + given.Text}}
	result, err := call.Sample(ctx, trunkline.SampleParams{
		Messages:  []trunkline.SamplingMessage{{Role: trunkline.RoleUser, Content: question}},
		MaxTokens: 50,
	})
	if err != nil {
		return "", err
	}
	return result.Content[0].(*trunkline.TextContent).Text, nil
}

// Here the host asks its model.
func sample(_ context.Context, request *trunkline.SampleRequest) (*trunkline.CreateMessageResult, error) {
	fmt.Println("at most", request.MaxTokens, "tokens")
	return &trunkline.CreateMessageResult{
		Role:    trunkline.RoleAssistant,
		Content: trunkline.SamplingBlocks{&trunkline.TextContent{Text: "Snow in Oslo"}},
		Model:   "a-model",
	}, nil
}

func main() {
	ctx := context.Background()
	notes := trunkline.NewServer("notes", "1.0.0")
	defer notes.Close(ctx)
	trunkline.Must(trunkline.AddTool(notes, trunkline.Tool{Name: "summarize", Description: "Summarize a text."}, summarize))

	options := trunkline.ClientOptions{ClientHandlers: trunkline.ClientHandlers{OnSample: sample}}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, notes, options))
	defer client.Close()
	given := text{"It has been snowing in Oslo since Monday."}
	fmt.Println(trunkline.Must(client.CallTool(ctx, "summarize", given)).Content.Text())
}
