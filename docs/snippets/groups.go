// Many servers behind one client. One of them fails to start; the others work.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func main() {
	ctx := context.Background()
	servers := map[string]any{
		"notes":  []string{"go", "run", "tutorial_server.go"},
		"broken": []string{"no-such-program"},
	}
	group := trunkline.Must(trunkline.ConnectGroup(ctx, servers, trunkline.ClientOptions{InheritEnv: true}))
	defer group.Close()
	states := map[string]string{}
	for _, server := range trunkline.Must(group.Servers(ctx)) {
		states[server.Name] = "connected"
		if server.Error != nil {
			states[server.Name] = "failed"
		}
	}
	fmt.Printf("notes: %s\nbroken: %s\n", states["notes"], states["broken"])
	for _, tool := range trunkline.Must(group.ListTools(ctx)) {
		fmt.Println(tool.Name)
	}
	note := map[string]string{"name": "groceries", "text": "milk"}
	fmt.Println(trunkline.Must(group.CallTool(ctx, "notes__add_note", note)).Content.Text())
}
