// The spans of a call. The import of package telemetry is all that is needed; here an exporter
// keeps the spans in memory.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
	_ "github.com/trunkline-mcp/trunkline/bindings-go/telemetry"
)

type guest struct {
	Name string `json:"name"`
}

func greet(_ context.Context, _ *trunkline.Call, given guest) (string, error) {
	return "Hello, " + given.Name + "!", nil
}

func main() {
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSyncer(spans)))

	ctx := context.Background()
	greeter := trunkline.NewServer("greeter", "1.0.0")
	defer greeter.Close(ctx)
	trunkline.Must(trunkline.AddTool(greeter, trunkline.Tool{Name: "greet", Description: "Greet someone."}, greet))
	client := trunkline.Must(trunkline.ConnectMemory(ctx, greeter))
	trunkline.Must(client.CallTool(ctx, "greet", guest{"Ada"}))
	if err := client.Close(); err != nil {
		panic(err)
	}

	for len(spans.GetSpans()) < 4 {
		time.Sleep(10 * time.Millisecond)
	}
	var names []string
	for _, span := range spans.GetSpans() {
		names = append(names, fmt.Sprint(span.SpanKind, " ", span.Name))
	}
	slices.Sort(names)
	fmt.Println(strings.Join(names, "\n"))
}
