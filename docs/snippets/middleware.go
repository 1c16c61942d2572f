// Middleware around each tool call: it counts calls and refuses some.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type guest struct {
	Name string `json:"name"`
}

type titleKey struct{}

// Values of the context follow requests to their handlers.
func greet(ctx context.Context, _ *trunkline.Call, given guest) (string, error) {
	return fmt.Sprintf("Hello, %s %s!", ctx.Value(titleKey{}), given.Name), nil
}

func count(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
	// Unlike json.Unmarshal, it reads exactly what the handler gets.
	request, err := trunkline.Decode[struct {
		Name      string `json:"name"`
		Arguments guest  `json:"arguments"`
	}](params)
	if err != nil {
		return nil, err
	}
	if request.Arguments.Name == "Mallory" {
		return nil, trunkline.NewProtocolError(403, "Mallory may not call.", nil)
	}
	result, err := call.Next(context.WithValue(ctx, titleKey{}, "Countess"), nil)
	fmt.Println(request.Name, "was called")
	return result, err
}

func main() {
	ctx := context.Background()
	greeter := trunkline.NewServer("greeter", "1.0.0")
	defer greeter.Close(ctx)
	trunkline.Must(greeter.Use(count, "tools/call"))
	trunkline.Must(trunkline.AddTool(greeter, trunkline.Tool{Name: "greet", Description: "Greet someone."}, greet))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, greeter))
	defer client.Close()
	fmt.Println(trunkline.Must(client.CallTool(ctx, "greet", guest{"Ada"})).Content.Text())
	_, err := client.CallTool(ctx, "greet", guest{"Mallory"})
	var failure *trunkline.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Code)
	}
}
