package trunkline_test

import (
	"context"
	"fmt"
	"log"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type place struct {
	City string `json:"city" jsonschema:"Where the weather is."`
}

type forecast struct {
	City    string  `json:"city"`
	Degrees float64 `json:"degrees"`
}

func predict(_ context.Context, _ *trunkline.Call, given place) (forecast, error) {
	if given.City == "Atlantis" {
		return forecast{}, trunkline.ToolErrorf("%s has sunk", given.City)
	}
	return forecast{given.City, 21.5}, nil
}

func Example() {
	ctx := context.Background()
	server, err := trunkline.NewServer("weather", "1.0.0", trunkline.ServerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close(ctx)
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "forecast", Description: "Predicts the weather."}, predict); err != nil {
		log.Fatal(err)
	}

	client, err := trunkline.ConnectMemory(ctx, server, trunkline.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	found, err := trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Rome"})
	fmt.Println(found, err)
	_, err = trunkline.CallTool[forecast](ctx, client, "forecast", place{City: "Atlantis"})
	fmt.Println(err)
	// Output:
	// {Rome 21.5} <nil>
	// Atlantis has sunk
}
