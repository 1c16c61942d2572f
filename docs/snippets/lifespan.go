// A server that opens a database before the first call and closes it after the last.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// A database stands for a pool of connections.
type database struct{ name string }

func (database *database) open() error {
	database.name = "orders"
	fmt.Println(database.name, "opens")
	return nil
}

func (database *database) close() { fmt.Println(database.name, "closes") }

func (database *database) count(context.Context, *trunkline.Call, struct{}) (int, error) {
	return 7, nil
}

func main() {
	ctx := context.Background()
	orders := trunkline.NewServer("orders", "1.0.0")
	defer orders.Close(ctx)
	database := &database{}
	if err := orders.SetLifespan(database.open, database.close); err != nil {
		panic(err)
	}
	trunkline.Must(trunkline.AddTool(orders, trunkline.Tool{Name: "count", Description: "Count the orders."}, database.count))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, orders))
	defer client.Close()
	fmt.Println(trunkline.Must(trunkline.CallTool[int](ctx, client, "count", nil)))
}
