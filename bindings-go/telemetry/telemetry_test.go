package telemetry_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
	_ "github.com/trunkline-mcp/trunkline/bindings-go/telemetry"
)

// reader reads the metrics of all tests, because the instruments are those of the first provider.
var reader = sync.OnceValue(func() *metric.ManualReader {
	made := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(made)))
	return made
})

func traced() (*tracetest.InMemoryExporter, *metric.ManualReader) {
	spans := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSyncer(spans)))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return spans, reader()
}

// spansOf waits for the spans of calls of a tool.
func spansOf(t *testing.T, spans *tracetest.InMemoryExporter, kind trace.SpanKind, count int) []tracetest.SpanStub {
	for range 3000 {
		found := slices.DeleteFunc(spans.GetSpans(), func(span tracetest.SpanStub) bool {
			return span.Name != "tools/call trace" || span.SpanKind != kind
		})
		if len(found) == count {
			return found
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there are not %d spans: %v", count, spans.GetSpans().Snapshots())
	return nil
}

// Two users call at once, each within a span of its own: every span has its own parent, and the
// handler continues the trace of its caller.
func TestSpansOfBothSidesAreInTheTraceOfTheCaller(t *testing.T) {
	spans, metrics := traced()
	server := trunkline.NewServer("traced", "1.0.0")
	defer func() { _ = server.Close(context.Background()) }()
	_, err := trunkline.AddTool(server, trunkline.Tool{Name: "trace"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		time.Sleep(time.Millisecond)
		return trace.SpanContextFromContext(ctx).TraceID().String(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	over := map[string]func() (*trunkline.Client, error){
		"memory": func() (*trunkline.Client, error) {
			return trunkline.ConnectMemory(t.Context(), server)
		},
		"HTTP": func() (*trunkline.Client, error) {
			return trunkline.Connect(t.Context(), listener.URL())
		},
	}
	const users = 8
	for name, connect := range over {
		spans.Reset()
		client, err := connect()
		if err != nil {
			t.Fatal(name, err)
		}
		ended := make(chan error, users)
		for range users {
			go func() {
				ctx, mine := otel.Tracer("test").Start(t.Context(), "user")
				defer mine.End()
				result, err := client.CallTool(ctx, "trace", nil)
				if err == nil && result.Content.Text() != mine.SpanContext().TraceID().String() {
					t.Errorf("%s: the handler was in the trace %s", name, result.Content.Text())
				}
				ended <- err
			}()
		}
		for range users {
			if err := <-ended; err != nil {
				t.Error(name, err)
			}
		}
		clients := spansOf(t, spans, trace.SpanKindClient, users)
		for _, serving := range spansOf(t, spans, trace.SpanKindServer, users) {
			isParent := func(one tracetest.SpanStub) bool { return one.SpanContext.SpanID() == serving.Parent.SpanID() }
			if !slices.ContainsFunc(clients, isParent) {
				t.Errorf("%s: the span of the server has the parent %s", name, serving.Parent.SpanID())
			}
		}
		if err := client.Close(); err != nil {
			t.Error(name, err)
		}
	}
	if names := collected(t, metrics); !slices.Contains(names, "mcp.server.operation.duration") || !slices.Contains(names, "mcp.client.operation.duration") {
		t.Fatal(names)
	}
}

func collected(t *testing.T, metrics *metric.ManualReader) (names []string) {
	var found metricdata.ResourceMetrics
	if err := metrics.Collect(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	for _, scope := range found.ScopeMetrics {
		for _, one := range scope.Metrics {
			names = append(names, one.Name)
		}
	}
	return names
}

func TestTheSpanOfMiddlewareIsTheParentInTheHandler(t *testing.T) {
	traced()
	server := trunkline.NewServer("wrapped", "1.0.0")
	defer func() { _ = server.Close(context.Background()) }()
	_, err := server.Use(func(ctx context.Context, call *trunkline.Call, _ string, _ json.RawMessage) (json.RawMessage, error) {
		outer := trace.SpanContextFromContext(ctx).TraceID()
		ctx, mine := otel.Tracer("test").Start(ctx, "middleware")
		defer mine.End()
		if mine.SpanContext().TraceID() != outer {
			t.Error("middleware has no span of its call")
		}
		return call.Next(context.WithValue(ctx, key{}, mine.SpanContext().SpanID()), nil)
	}, "tools/call")
	if err != nil {
		t.Fatal(err)
	}
	_, err = trunkline.AddTool(server, trunkline.Tool{Name: "trace"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (bool, error) {
		return trace.SpanContextFromContext(ctx).SpanID() == ctx.Value(key{}), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	result, err := client.CallTool(t.Context(), "trace", nil)
	if err != nil || result.Content.Text() != "true" {
		t.Fatal(result, err)
	}
}

// Each Logger has a port of its own, and the load is that of all ports.
func TestTheLoadIsThatOfAllServers(t *testing.T) {
	_, metrics := traced()
	running, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	loggers := []*slog.Logger{nil, slog.New(slog.DiscardHandler), slog.New(slog.DiscardHandler)}
	for _, logger := range loggers {
		server := trunkline.NewServer("busy", "1.0.0", trunkline.ServerOptions{Logger: logger})
		defer func() { _ = server.Close(context.Background()) }()
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "wait"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
			running <- struct{}{}
			<-release
			return "", nil
		}))
		client := trunkline.Must(trunkline.ConnectMemory(t.Context(), server))
		go func() {
			_, err := client.CallTool(t.Context(), "wait", nil)
			ended <- err
		}()
		<-running
	}
	var found metricdata.ResourceMetrics
	if err := metrics.Collect(t.Context(), &found); err != nil {
		t.Fatal(err)
	}
	count := int64(0)
	for _, scope := range found.ScopeMetrics {
		for _, one := range scope.Metrics {
			if sum, isSum := one.Data.(metricdata.Sum[int64]); isSum && one.Name == "trunkline.server.running_calls" {
				count = sum.DataPoints[0].Value
			}
		}
	}
	if count != int64(len(loggers)) {
		t.Errorf("%d calls are running", count)
	}
	close(release)
	for range loggers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

type key struct{}

func TestTheOptionExcludesAServer(t *testing.T) {
	spans, _ := traced()
	server := trunkline.NewServer("silent", "1.0.0", trunkline.ServerOptions{Telemetry: trunkline.Ptr(false)})
	defer func() { _ = server.Close(context.Background()) }()
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "trace"}, func(context.Context, *trunkline.Call, struct{}) (string, error) { return "", nil }); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CallTool(t.Context(), "trace", nil); err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	spansOf(t, spans, trace.SpanKindClient, 1)
	spansOf(t, spans, trace.SpanKindServer, 0)
}
