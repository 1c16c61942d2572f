// A server with one tool. Over stdio: go run server.go; over HTTP: go run server.go 8000
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

var cities = map[string]string{"Oslo": "snow", "Rome": "sunny"}

type request struct {
	City string `json:"city"`
	Days int    `json:"days,omitempty" jsonschema:"The number of days, 3 by default."`
}

func forecast(_ context.Context, call *trunkline.Call, given request) (string, error) {
	sky, known := cities[given.City]
	if !known {
		return "", trunkline.ToolErrorf("no forecast for %s; try Oslo or Rome", given.City)
	}
	if given.Days == 0 {
		given.Days = 3
	}
	var lines []string
	for day := 1; day <= given.Days; day++ {
		call.Progress(float64(day), float64(given.Days), "")
		lines = append(lines, fmt.Sprintf("day %d: %s", day, sky))
	}
	return strings.Join(lines, "\n"), nil
}

func main() {
	server := trunkline.NewServer("weather", "1.0.0")
	descriptor := trunkline.Tool{Name: "forecast", Description: "Forecast the weather of a city."}
	trunkline.Must(trunkline.AddTool(server, descriptor, forecast))
	if err := serve(context.Background(), server); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, server *trunkline.Server) error {
	if len(os.Args) < 2 {
		return server.ServeStdio(ctx)
	}
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	fmt.Printf("listening at http://127.0.0.1:%d/mcp\n", port)
	return server.ListenAndServe(ctx, trunkline.HTTPOptions{Port: &port})
}
