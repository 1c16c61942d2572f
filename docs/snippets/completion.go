// Suggestions for a prompt argument while the user types.
package main

import (
	"context"
	"fmt"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func suggest(_ context.Context, value string, _ map[string]string) (*trunkline.Completion, error) {
	found := &trunkline.Completion{}
	for _, city := range []string{"Oslo", "Osaka", "Rome"} {
		if strings.HasPrefix(city, value) {
			found.Values = append(found.Values, city)
		}
	}
	return found, nil
}

func packing(_ context.Context, _ *trunkline.Call, arguments map[string]string) (any, error) {
	return "Write a packing list for " + arguments["city"] + ".", nil
}

func main() {
	ctx := context.Background()
	trips := trunkline.NewServer("trips", "1.0.0")
	defer trips.Close(ctx)
	prompt := trunkline.Prompt{
		Name:        "packing",
		Description: "List the things to pack for a city.",
		Arguments:   []trunkline.PromptArgument{{Name: "city", Required: true}},
	}
	trunkline.Must(trips.AddPrompt(prompt, packing))
	reference := &trunkline.PromptReference{Name: "packing"}
	trunkline.Must(trips.AddCompletion(reference, "city", suggest))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, trips))
	defer client.Close()
	typed := trunkline.CompleteArgument{Name: "city", Value: "Os"}
	result := trunkline.Must(client.Complete(ctx, reference, typed, nil))
	fmt.Println(strings.Join(result.Completion.Values, ", "))
}
