// Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
// tokens.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: login URL")
	}
	ctx := context.Background()
	auth := trunkline.OAuthOptions{ClientName: "Tool list", Store: "file"}
	client, err := trunkline.Connect(ctx, os.Args[1], trunkline.ClientOptions{Auth: auth})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	tools, err := client.ListTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools {
		fmt.Println(tool.Name)
	}
}
