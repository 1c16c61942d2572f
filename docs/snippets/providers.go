// Table rows as resources: listed page by page and read on request.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const (
	rows = 5
	page = 2
)

func list(_ context.Context, cursor string) (any, string, error) {
	start := 0
	if cursor != "" {
		given, err := strconv.Atoi(cursor)
		if err != nil {
			return nil, "", err
		}
		start = given
	}
	var items []trunkline.Resource
	for row := start + 1; row <= min(start+page, rows); row++ {
		items = append(items, trunkline.Resource{URI: fmt.Sprintf("rows://%d", row), Name: fmt.Sprintf("row %d", row)})
	}
	if start+page >= rows {
		return items, "", nil
	}
	return items, strconv.Itoa(start + page), nil
}

func read(_ context.Context, _ *trunkline.Call, params json.RawMessage) (any, error) {
	given, err := trunkline.Decode[struct {
		URI string `json:"uri"`
	}](params)
	if err != nil {
		return nil, err
	}
	row, err := strconv.Atoi(strings.TrimPrefix(given.URI, "rows://"))
	if err != nil || row < 1 || row > rows {
		return nil, nil
	}
	return fmt.Sprintf("value %d", row), nil
}

func main() {
	ctx := context.Background()
	table := trunkline.NewServer("table", "1.0.0")
	defer table.Close(ctx)
	trunkline.Must(table.AddProvider(trunkline.CategoryResources, list, read))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, table))
	defer client.Close()
	var names []string
	for resource, err := range client.Resources(ctx) {
		if err != nil {
			panic(err)
		}
		names = append(names, resource.Name)
	}
	fmt.Println(strings.Join(names, ", "))
	fmt.Println(trunkline.Must(client.ReadResource(ctx, "rows://4")).Contents[0].Text)
}
