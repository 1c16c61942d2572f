// Errors: for the model, for the log, protocol errors, and timeouts.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type article struct {
	Article string `json:"article"`
}

func price(_ context.Context, _ *trunkline.Call, given article) (int, error) {
	if given.Article == "sun" {
		return 0, trunkline.ToolErrorf("The sun is not for sale.")
	}
	return 0, fmt.Errorf("no row for %s in prices.db", given.Article)
}

func wait(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func main() {
	ctx := context.Background()
	shop := trunkline.NewServer("shop", "1.0.0")
	defer shop.Close(ctx)
	trunkline.Must(trunkline.AddTool(shop, trunkline.Tool{Name: "price", Description: "The price of an article."}, price))
	trunkline.Must(trunkline.AddTool(shop, trunkline.Tool{Name: "wait", Description: "Never ends."}, wait))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, shop))
	defer client.Close()
	for _, name := range []string{"sun", "moon"} {
		fmt.Println(trunkline.Must(client.CallTool(ctx, "price", article{name})).Content.Text())
	}
	_, err := client.CallTool(ctx, "prize", nil)
	var failure *trunkline.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Kind, failure.Code)
	}
	_, err = client.CallTool(ctx, "wait", nil, trunkline.RequestOptions{Timeout: 50 * time.Millisecond})
	if errors.Is(err, trunkline.ErrTimeout) {
		fmt.Println("timeout")
	}
}
