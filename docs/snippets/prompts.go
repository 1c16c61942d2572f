// A prompt with arguments, one of them optional, and a client that gets it.
package main

import (
	"cmp"
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func review(_ context.Context, _ *trunkline.Call, given map[string]string) (any, error) {
	ask := fmt.Sprintf("Review this code, above all for %s: %s", cmp.Or(given["focus"], "errors"), given["code"])
	return []trunkline.PromptMessage{
		{Role: trunkline.RoleUser, Content: &trunkline.TextContent{Text: ask}},
		{Role: trunkline.RoleAssistant, Content: &trunkline.TextContent{Text: "I will list each finding with its line."}},
	}, nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("review", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(server.AddPrompt(trunkline.Prompt{
		Name:        "review",
		Description: "Review code.",
		Arguments: []trunkline.PromptArgument{
			{Name: "code", Description: "The code to review", Required: true},
			{Name: "focus"},
		},
	}, review))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	for _, prompt := range trunkline.Must(client.ListPrompts(ctx)) {
		for _, argument := range prompt.Arguments {
			if argument.Required {
				fmt.Printf("%s: %s Needs %s.\n", prompt.Name, prompt.Description, argument.Name)
			}
		}
	}
	given := map[string]string{"code": "x = 1"}
	for _, message := range trunkline.Must(client.GetPrompt(ctx, "review", given)).Messages {
		fmt.Printf("%s: %s\n", message.Role, message.Content.(*trunkline.TextContent).Text)
	}
}
