// A test of a tool that asks the user, with scripted answers.
package main

import (
	"context"
	"fmt"
	"slices"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type table struct {
	People int `json:"people"`
}

func book(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	wanted, err := trunkline.Elicit[table](ctx, call, "A table for how many?")
	if err != nil {
		return "", err
	}
	if wanted == nil {
		return "Nothing was booked.", nil
	}
	return fmt.Sprintf("A table for %d is booked.", wanted.People), nil
}

func main() {
	ctx := context.Background()
	// Reruns handlers that ask, on every revision: this reveals effects before a question.
	restaurant := trunkline.NewServer("restaurant", "1.0.0", trunkline.ServerOptions{RerunHandlers: true})
	defer restaurant.Close(ctx)
	trunkline.Must(trunkline.AddTool(restaurant, trunkline.Tool{Name: "book", Description: "Book a table."}, book))

	answers := []*trunkline.ElicitResult{
		{Action: trunkline.ElicitActionAccept, Content: map[string]any{"people": 4}},
		{Action: trunkline.ElicitActionDecline},
	}
	var asked []string
	options := trunkline.ClientOptions{}
	options.OnElicit = func(_ context.Context, request *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		asked = append(asked, request.Message)
		return answers[len(asked)-1], nil
	}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, restaurant, options))
	defer client.Close()
	for _, expected := range []string{"A table for 4 is booked.", "Nothing was booked."} {
		if text := trunkline.Must(client.CallTool(ctx, "book", nil)).Content.Text(); text != expected {
			panic(text)
		}
	}
	if question := "A table for how many?"; !slices.Equal(asked, []string{question, question}) {
		panic(fmt.Sprint("asked ", asked))
	}
	fmt.Println("all passed")
}
