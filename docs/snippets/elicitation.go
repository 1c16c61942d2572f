// A tool that asks the user a question, and a client that answers it.
package main

import (
	"context"
	"fmt"

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

// Here the user fills in the form of request.RequestedSchema.
func answer(_ context.Context, request *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
	fmt.Println(request.Message)
	return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept, Content: map[string]any{"people": 4}}, nil
}

func main() {
	ctx := context.Background()
	restaurant := trunkline.NewServer("restaurant", "1.0.0")
	defer restaurant.Close(ctx)
	trunkline.Must(trunkline.AddTool(restaurant, trunkline.Tool{Name: "book", Description: "Book a table."}, book))

	options := trunkline.ClientOptions{ClientHandlers: trunkline.ClientHandlers{OnElicit: answer}}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, restaurant, options))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "book", nil)).Content.Text())
}
