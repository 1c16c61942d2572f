// Starts the server next to it and uses it. Given a URL, it connects there instead.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func connect(ctx context.Context) (*trunkline.Client, error) {
	if len(os.Args) > 1 {
		return trunkline.Connect(ctx, os.Args[1])
	}
	command := exec.Command("go", "run", "tutorial_server.go")
	return trunkline.ConnectCommand(ctx, command, trunkline.ClientOptions{InheritEnv: true})
}

func use(ctx context.Context, client *trunkline.Client) error {
	tools, err := client.ListTools(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	fmt.Println("tools:", strings.Join(names, ", "))
	for _, text := range []string{"milk and bread", "bread"} {
		result, err := client.CallTool(ctx, "add_note", map[string]string{"name": "groceries", "text": text})
		if err != nil {
			return err
		}
		outcome := "result"
		if result.IsError {
			outcome = "error"
		}
		fmt.Printf("%s: %s\n", outcome, result.Content.Text())
	}
	notes, err := client.ReadResource(ctx, "notes://all")
	if err != nil {
		return err
	}
	fmt.Println(notes.Contents[0].Text)
	return nil
}

func main() {
	ctx := context.Background()
	client, err := connect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := use(ctx, client); err != nil {
		log.Fatal(err)
	}
}
