// A vendor-specific method, and a client that calls it.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const schema = `{
	"type": "object",
	"properties": {"terms": {"type": "array", "items": {"type": "integer"}}},
	"required": ["terms"]
}`

type terms struct {
	Terms []int `json:"terms"`
}

type total struct {
	Sum int `json:"sum"`
}

func sum(_ context.Context, call *trunkline.Call, given terms) (*total, error) {
	found := &total{}
	for _, term := range given.Terms {
		found.Sum += term
	}
	call.Progress(1, 1, "")
	return found, nil
}

func main() {
	ctx := context.Background()
	sums := trunkline.NewServer("sums", "1.0.0")
	defer sums.Close(ctx)
	options := trunkline.RequestHandlerOptions{ParamsSchema: json.RawMessage(schema)}
	trunkline.Must(trunkline.AddRequestHandler(sums, "com.acme/sum", sum, options))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, sums))
	defer client.Close()
	reply := trunkline.Must(client.Request(ctx, "com.acme/sum", terms{[]int{1, 2, 39}}))
	fmt.Println(trunkline.Must(trunkline.Decode[total](reply)).Sum)
}
