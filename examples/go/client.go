// Calls the server next to it, or one at a URL: go run client.go [http://127.0.0.1:8000/mcp]
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func connect(ctx context.Context) (*trunkline.Client, error) {
	if len(os.Args) > 1 {
		return trunkline.Connect(ctx, os.Args[1])
	}
	command := exec.Command("go", "run", "server.go")
	return trunkline.ConnectCommand(ctx, command, trunkline.ClientOptions{InheritEnv: true})
}

func show(report trunkline.Progress) {
	fmt.Print("progress ", report.Progress)
	if report.Total != nil {
		fmt.Print(" of ", *report.Total)
	}
	fmt.Println()
}

func use(ctx context.Context, client *trunkline.Client) error {
	info, err := client.Info()
	if err != nil {
		return err
	}
	fmt.Println("connected, revision", info.Revision)
	tools, err := client.ListTools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		fmt.Printf("tool %s: %s\n", tool.Name, tool.Description)
	}
	options := trunkline.RequestOptions{Timeout: 10 * time.Second, OnProgress: show}
	result, err := client.CallTool(ctx, "forecast", map[string]any{"city": "Oslo", "days": 2}, options)
	if err != nil {
		return err
	}
	fmt.Println(result.Content.Text())
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
