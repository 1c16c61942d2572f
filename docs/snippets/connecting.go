// A client for an entry of a configuration file: it starts the server and negotiates a revision.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const entry = `{"command": "go", "args": ["run", "tutorial_server.go"]}`

func main() {
	ctx := context.Background()
	options := trunkline.ClientOptions{InheritEnv: true, Timeout: 10 * time.Second}
	client := trunkline.Must(trunkline.ConnectConfig(ctx, entry, options))
	defer client.Close()

	// Revision 2026-07-28 may tell the rest with the first response.
	if err := client.Ping(ctx); err != nil {
		panic(err)
	}
	info := trunkline.Must(client.Info())
	fmt.Println(info.ServerInfo.Name, info.ServerInfo.Version)
	fmt.Println(info.Revision)
	var names []string
	for name, offered := range map[string]bool{
		"logging":   info.Capabilities.Logging != nil,
		"prompts":   info.Capabilities.Prompts != nil,
		"resources": info.Capabilities.Resources != nil,
		"tools":     info.Capabilities.Tools != nil,
	} {
		if offered {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Println(strings.Join(names, ", "))
	fmt.Println(info.Instructions)
}
