// Information about a connection, and why one failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func backup(context.Context, *trunkline.Call, struct{}) (string, error) {
	return "", errors.New("disk full")
}

func main() {
	ctx := context.Background()
	// Sends error details, which may be secret, to clients: not for production.
	options := trunkline.ServerOptions{Debug: true}
	server := trunkline.NewServer("backup", "1.0.0", options)
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "backup", Description: "Back up all files."}, backup))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	info := trunkline.Must(client.Info())
	fmt.Println(info.Revision, info.ServerInfo.Name)
	result := trunkline.Must(client.CallTool(ctx, "backup", nil))
	if result.IsError {
		fmt.Println("error:", regexp.MustCompile("disk full").FindString(result.Content.Text()))
	}
}
