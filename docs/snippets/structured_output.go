// A tool that returns an object with a schema.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type place struct {
	City string `json:"city"`
}

type conditions struct {
	Sky     string  `json:"sky"`
	Degrees float64 `json:"degrees"`
}

func weather(_ context.Context, _ *trunkline.Call, given place) (conditions, error) {
	return conditions{"snow over " + given.City, -3.5}, nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("weather", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "weather", Description: "The weather of a city."}, weather))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "weather", place{"Oslo"})).Content.Text())
	today := trunkline.Must(trunkline.CallTool[conditions](ctx, client, "weather", place{"Oslo"}))
	fmt.Printf("%s, %v degrees\n", today.Sky, today.Degrees)
}
