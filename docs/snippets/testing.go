// Tests of a server without sockets or processes. In your project, make them functions of *testing.T.
package main

import (
	"context"
	"errors"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type division struct {
	Dividend float64 `json:"dividend"`
	Divisor  float64 `json:"divisor"`
}

func divide(_ context.Context, _ *trunkline.Call, given division) (float64, error) {
	if given.Divisor == 0 {
		return 0, trunkline.ToolErrorf("division by zero")
	}
	return given.Dividend / given.Divisor, nil
}

type quotient struct {
	Result float64 `json:"result"`
}

func testTheFunctionItself(ctx context.Context) {
	if found, err := divide(ctx, nil, division{3, 2}); found != 1.5 || err != nil {
		panic(err)
	}
}

func testACallThroughTheProtocol(ctx context.Context, server *trunkline.Server, revision trunkline.RevisionChoice) {
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server, trunkline.ClientOptions{Revision: revision}))
	defer client.Close()
	if used := trunkline.Must(client.Info()).Revision; used != string(revision) {
		panic(used)
	}
	if text := trunkline.Must(client.CallTool(ctx, "divide", division{3, 2})).Content.Text(); text != "1.5" {
		panic(text)
	}
}

func testFailures(ctx context.Context, server *trunkline.Server) {
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	_, err := trunkline.CallTool[quotient](ctx, client, "divide", division{3, 0})
	var failure *trunkline.ToolError
	if errors.As(err, &failure) {
		fmt.Println("the handler failed:", failure.Message)
	}
}

func main() {
	ctx := context.Background()
	calculator := trunkline.NewServer("calculator", "1.0.0")
	defer calculator.Close(ctx)
	trunkline.Must(trunkline.AddTool(calculator, trunkline.Tool{Name: "divide", Description: "Divide two numbers."}, divide))
	testTheFunctionItself(ctx)
	testACallThroughTheProtocol(ctx, calculator, "2026-07-28")
	testACallThroughTheProtocol(ctx, calculator, "2024-11-05")
	testFailures(ctx, calculator)
	fmt.Println("all passed")
}
