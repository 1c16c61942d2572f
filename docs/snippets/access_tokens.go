// A server over HTTP that requires access tokens, with a tool that requires a scope.
package main

import (
	"context"
	"errors"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func verify(_ context.Context, token *trunkline.AccessToken) (*trunkline.Identity, error) {
	if token.Token != "token-of-ada" {
		return nil, nil
	}
	return &trunkline.Identity{Subject: "ada", Scopes: []string{"read"}}, nil
}

func whoami(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	info, err := call.Info()
	if err != nil {
		return "", err
	}
	return info.Auth.Subject, nil
}

func remove(context.Context, *trunkline.Call, struct{}) (string, error) { return "deleted", nil }

func main() {
	ctx := context.Background()
	files := trunkline.NewServer("files", "1.0.0")
	defer files.Close(ctx)
	trunkline.Must(trunkline.AddTool(files, trunkline.Tool{Name: "whoami", Description: "Name the caller."}, whoami))
	trunkline.Must(trunkline.AddTool(files, trunkline.Tool{Name: "delete", Description: "Delete all files."}, remove,
		trunkline.ToolOptions{Scopes: []string{"write"}}))
	auth := trunkline.AuthOptions{
		Resource:             "http://127.0.0.1/mcp",
		AuthorizationServers: []string{"https://login.example.com"},
		// Replaces the built-in JWT verifier, for opaque tokens stored in your database.
		Verifier: trunkline.Must(files.AddVerifier(verify)),
	}

	listener := trunkline.Must(files.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0), Auth: auth}))
	options := trunkline.ClientOptions{Auth: trunkline.OAuthOptions{Token: "token-of-ada"}}
	client := trunkline.Must(trunkline.Connect(ctx, listener.URL(), options))
	defer client.Close()
	for _, tool := range trunkline.Must(client.ListTools(ctx)) {
		fmt.Println(tool.Name)
	}
	fmt.Println(trunkline.Must(client.CallTool(ctx, "whoami", nil)).Content.Text())

	_, err := trunkline.Connect(ctx, listener.URL())
	var failure *trunkline.Error
	if errors.As(err, &failure) && errors.Is(err, trunkline.ErrAuthorizationRequired) {
		fmt.Println(*failure.Facts().HTTPStatus)
	}
}
