// A tool that only works in folders its client allows.
package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func folders(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	found, err := call.ListRoots(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, root := range found.Roots {
		names = append(names, cmp.Or(root.Name, root.URI))
	}
	return strings.Join(names, ", "), nil
}

func main() {
	ctx := context.Background()
	search := trunkline.NewServer("search", "1.0.0")
	defer search.Close(ctx)
	descriptor := trunkline.Tool{Name: "folders", Description: "Name the folders that may be searched."}
	trunkline.Must(trunkline.AddTool(search, descriptor, folders))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, search, trunkline.ClientOptions{
		Roots: []trunkline.Root{{URI: "file:///home/ada/notes", Name: "notes"}, {URI: "file:///srv/wiki"}},
	}))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "folders", nil)).Content.Text())
}
