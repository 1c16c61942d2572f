// A program of a user, who has run `go get` and nothing else: it serves a tool in memory and calls it.
package main

import (
	"context"
	"fmt"
	"log"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type person struct {
	Name string `json:"name"`
}

func hello(_ context.Context, _ *trunkline.Call, given person) (string, error) {
	return "Hello, " + given.Name + "!", nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("hello", trunkline.Version)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hello"}, hello))
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	result := trunkline.Must(client.CallTool(ctx, "hello", person{"Ada"}))
	fmt.Println(result.Content.Text())
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
	if err := server.Close(ctx); err != nil {
		log.Fatal(err)
	}
}
