// A tool with typed arguments, and a client in the same process.
package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type request struct {
	City string `json:"city" jsonschema:"The name of the city."`
	Days int    `json:"days,omitempty" jsonschema:"The number of days, 1 to 7."`
}

func forecast(_ context.Context, _ *trunkline.Call, given request) (string, error) {
	days := cmp.Or(given.Days, 2)
	if days < 1 || days > 7 {
		return "", &trunkline.InvalidError{Path: "/days", Message: "days must be 1 to 7"}
	}
	return given.City + ": " + strings.Join(slices.Repeat([]string{"snow"}, days), ", "), nil
}

func main() {
	ctx := context.Background()
	weather := trunkline.NewServer("weather", "1.0.0")
	defer weather.Close(ctx)
	descriptor := trunkline.Tool{Name: "forecast", Description: "Forecast the weather of a city."}
	trunkline.Must(trunkline.AddTool(weather, descriptor, forecast))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, weather))
	defer client.Close()
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		fmt.Printf("%s: %s\n", tool.Name, tool.Description)
	}
	fmt.Println(trunkline.Must(client.CallTool(ctx, "forecast", request{City: "Oslo"})).Content.Text())
	if result := trunkline.Must(client.CallTool(ctx, "forecast", request{"Oslo", 20})); result.IsError {
		fmt.Println("refused")
	}
}
