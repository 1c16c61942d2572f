// A server with one tool, over stdio.
package main

import (
	"context"
	"log"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type guest struct {
	Name string `json:"name"`
}

func greet(_ context.Context, _ *trunkline.Call, given guest) (string, error) {
	return "Hello, " + given.Name + "!", nil
}

func main() {
	server := trunkline.NewServer("hello", "1.0.0")
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hello", Description: "Greets someone."}, greet))
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
