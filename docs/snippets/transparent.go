// A bridge that clients see as the server behind it, which starts with their first request.
package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func main() {
	ctx := context.Background()
	bridge := trunkline.NewServer("bridge", "1.0.0")
	defer bridge.Close(ctx)

	command := exec.Command("go", "run", "tutorial_server.go")
	notes := trunkline.Must(trunkline.ConnectCommand(ctx, command, trunkline.ClientOptions{
		InheritEnv: true,
		Lazy:       true,
	}))
	defer notes.Close()
	trunkline.Must(bridge.Proxy(notes, trunkline.ProxyOptions{Transparent: true}))
	// Over HTTP: bridge.Listen
	client := trunkline.Must(trunkline.ConnectMemory(ctx, bridge))
	defer client.Close()
	var names []string
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		names = append(names, tool.Name)
	}
	fmt.Printf("%s: %s\n", trunkline.Must(client.Info()).ServerInfo.Name, strings.Join(names, " "))
}
