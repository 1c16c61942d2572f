// Starts the server next to it and calls its tool.
package main

import (
	"context"
	"fmt"
	"log"
	"os/exec"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func main() {
	ctx := context.Background()
	command := exec.Command("go", "run", "hello_server.go")
	client, err := trunkline.ConnectCommand(ctx, command, trunkline.ClientOptions{InheritEnv: true})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, "hello", map[string]string{"name": "Ada"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content.Text())
}
