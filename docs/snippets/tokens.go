// A client that gets access tokens from a function, and a new one when the server refuses one.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func whoami(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	info, err := call.Info()
	if err != nil {
		return "", err
	}
	return info.Auth.Subject, nil
}

func verify(_ context.Context, token *trunkline.AccessToken) (*trunkline.Identity, error) {
	if token.Token != "token-of-today" {
		return nil, nil
	}
	return &trunkline.Identity{Subject: "ada"}, nil
}

func main() {
	ctx := context.Background()
	files := trunkline.NewServer("files", "1.0.0")
	defer files.Close(ctx)
	trunkline.Must(trunkline.AddTool(files, trunkline.Tool{Name: "whoami", Description: "Name the caller."}, whoami))
	listener := trunkline.Must(files.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0), Auth: trunkline.AuthOptions{
		Resource:             "http://127.0.0.1/mcp",
		AuthorizationServers: []string{"https://login.example.com"},
		Verifier:             trunkline.Must(files.AddVerifier(verify)),
	}}))

	token := "token-of-yesterday"
	options := trunkline.ClientOptions{}
	options.OnAccessToken = func(_ context.Context, request *trunkline.TokenRequest) (*trunkline.Token, error) {
		if request.Refused {
			fmt.Println("the token was refused") // here the program gets a new token
			token = "token-of-today"
		}
		return &trunkline.Token{Token: token}, nil
	}
	client := trunkline.Must(trunkline.Connect(ctx, listener.URL(), options))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "whoami", nil)).Content.Text())
}
