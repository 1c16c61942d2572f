// A server in net/http, and a client that calls it.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type userKey struct{}

// signedIn puts what the web framework knows into the context, which handlers get.
func signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		ctx := context.WithValue(request.Context(), userKey{}, "Ada")
		next.ServeHTTP(writer, request.WithContext(ctx))
	})
}

func hello(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
	return fmt.Sprintf("Hello from net/http, %s", ctx.Value(userKey{})), nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("mounted", "1.0.0")
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hello", Description: "Greet."}, hello))

	mux := http.NewServeMux()
	mux.Handle("/mcp", signedIn(trunkline.Must(server.Handler())))
	web := httptest.NewServer(mux) // or an http.Server
	defer web.Close()
	// Shutdown of an http.Server waits for open responses, and clients keep streams open, so the
	// server ends them first.
	defer server.Close(ctx)

	client := trunkline.Must(trunkline.Connect(ctx, web.URL+"/mcp"))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "hello", nil)).Content.Text())
}
