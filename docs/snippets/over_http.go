// A server over HTTP that reads a request header in each call, and its client.
package main

import (
	"cmp"
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func tenant(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	info, err := call.Info()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s at %s", cmp.Or(info.Headers["x-tenant"], "nobody"), info.URL), nil
}

func main() {
	ctx := context.Background()
	tenants := trunkline.NewServer("tenants", "1.0.0")
	defer tenants.Close(ctx)
	trunkline.Must(trunkline.AddTool(tenants, trunkline.Tool{Name: "tenant", Description: "Name the tenant."}, tenant))

	// Port 0 is a free one; the default is 8000.
	listener := trunkline.Must(tenants.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0), Path: "/notes"}))
	options := trunkline.ClientOptions{Headers: map[string]string{"X-Tenant": "acme"}}
	client := trunkline.Must(trunkline.Connect(ctx, listener.URL(), options))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "tenant", nil)).Content.Text())
	fmt.Println(trunkline.Must(client.Info()).Revision)
}
