// A server that changes its features at run time, for everyone or per caller.
package main

import (
	"context"
	"fmt"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type article struct {
	Article string `json:"article"`
}

func price(_ context.Context, _ *trunkline.Call, given article) (string, error) {
	return given.Article + ": 5", nil
}

func discount(_ context.Context, _ *trunkline.Call, given article) (string, error) {
	return given.Article + " is cheaper now", nil
}

// With access tokens: info.Auth.
func isStaff(_ context.Context, call *trunkline.Call, _ string) (bool, error) {
	info, err := call.Info()
	return err == nil && info.ClientInfo != nil && info.ClientInfo.Name == "staff", err
}

func showTools(ctx context.Context, server *trunkline.Server, name string) {
	options := trunkline.ClientOptions{Info: trunkline.Implementation{Name: name, Version: "1.0.0"}}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server, options))
	defer client.Close()
	fmt.Print(name, ":")
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		fmt.Print(" ", tool.Name)
	}
	fmt.Println()
}

func main() {
	ctx := context.Background()
	shop := trunkline.NewServer("shop", "1.0.0")
	defer shop.Close(ctx)
	descriptor := trunkline.Tool{Name: "price", Description: "The price of an article."}
	options := trunkline.ToolOptions{Timeout: 2 * time.Second}
	first := trunkline.Must(trunkline.AddTool(shop, descriptor, price, options))
	staff := trunkline.Must(shop.AddVisibility(isStaff))
	trunkline.Must(trunkline.AddTool(shop, trunkline.Tool{Name: "discount", Description: "Lower a price."}, discount,
		trunkline.ToolOptions{Visible: staff}))

	showTools(ctx, shop, "staff")
	showTools(ctx, shop, "guest")
	descriptor.Description = "The price of an article, in euros."
	options.Replaces = first
	second := trunkline.Must(trunkline.AddTool(shop, descriptor, price, options))
	if err := second.SetEnabled(false); err != nil {
		panic(err)
	}
	showTools(ctx, shop, "staff")
	if err := second.SetEnabled(true); err != nil {
		panic(err)
	}
}
