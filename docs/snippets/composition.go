// A gateway that exposes an older server under the newest revision, next to its own tool.
package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func hello(context.Context, *trunkline.Call, struct{}) (string, error) { return "Hello", nil }

func main() {
	ctx := context.Background()
	gateway := trunkline.NewServer("gateway", "1.0.0")
	defer gateway.Close(ctx)
	extra := trunkline.NewServer("extra", "1.0.0")
	defer extra.Close(ctx)
	trunkline.Must(trunkline.AddTool(extra, trunkline.Tool{Name: "hello", Description: "Greet."}, hello))

	command := exec.Command("go", "run", "tutorial_server.go")
	old := trunkline.Must(trunkline.ConnectCommand(ctx, command, trunkline.ClientOptions{
		InheritEnv: true,
		Revision:   "legacy",
	}))
	defer old.Close()
	trunkline.Must(gateway.Proxy(old))
	trunkline.Must(gateway.Mount("extra", extra))
	// Over HTTP: gateway.Listen
	client := trunkline.Must(trunkline.ConnectMemory(ctx, gateway, trunkline.ClientOptions{Revision: "2026-07-28"}))
	defer client.Close()
	var names []string
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		names = append(names, tool.Name)
	}
	fmt.Println(strings.Join(names, " "))
	note := map[string]string{"name": "groceries", "text": "milk"}
	result := trunkline.Must(client.CallTool(ctx, "add_note", note))
	was, is := trunkline.Must(old.Info()).Revision, trunkline.Must(client.Info()).Revision
	fmt.Printf("%s as %s: %s\n", was, is, result.Content.Text())
}
