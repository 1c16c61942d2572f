// Package telemetry reports requests to OpenTelemetry. Import it for this:
//
//	import _ "github.com/trunkline-mcp/trunkline/bindings-go/telemetry"
//
// All servers and clients of the program then report spans and metrics to the global providers, as
// the semantic conventions for MCP have them, unless their option Telemetry is false. The spans of
// requests are children of the one in the context of the request, and the context of a handler has
// the span of its call.
package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/trunkline-mcp/trunkline/bindings-go/internal/observe"
)

const scopeName = "github.com/trunkline-mcp/trunkline/bindings-go"

func init() { observe.Installed = &observer{} }

type observer struct {
	// The names of the instruments that report the load.
	measured sync.Map
}

// A record of trunkline_port_on_telemetry.
type record struct {
	part
	Kind     string            `json:"kind"`
	Context  map[string]string `json:"context"`
	Metric   *instrument       `json:"metric"`
	Requests []*part           `json:"requests"`
}

type part struct {
	Name       string         `json:"name"`
	Attributes map[string]any `json:"attributes"`
	StartUs    int64          `json:"startUs"`
	EndUs      int64          `json:"endUs"`
	Error      *string        `json:"error"`
}

type instrument struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Value       float64        `json:"value"`
	Attributes  map[string]any `json:"attributes"`
	Boundaries  []float64      `json:"boundaries"`
	Unit        string         `json:"unit"`
	Monotonic   bool           `json:"monotonic"`
}

func (o *observer) Begin(parent context.Context, text []byte) context.Context {
	record := decode[record](text)
	if len(record.Context) > 0 {
		parent = otel.GetTextMapPropagator().Extract(parent, propagation.MapCarrier(record.Context))
	}
	return begin(parent, record.Kind, &record.part)
}

func begin(parent context.Context, kind string, part *part) context.Context {
	kinds := map[string]trace.SpanKind{"server": trace.SpanKindServer, "client": trace.SpanKindClient}
	ctx, _ := otel.Tracer(scopeName).Start(parent, part.Name, trace.WithSpanKind(kinds[kind]),
		trace.WithTimestamp(time.UnixMicro(part.StartUs)), trace.WithAttributes(attributes(part.Attributes)...))
	return ctx
}

func (o *observer) Inject(span context.Context) map[string]string {
	members := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(span, members)
	return members
}

func (o *observer) Enter(ctx, span context.Context) context.Context {
	return trace.ContextWithSpan(baggage.ContextWithBaggage(ctx, baggage.FromContext(span)), trace.SpanFromContext(span))
}

func (o *observer) End(ctx context.Context, text []byte) {
	record := decode[record](text)
	if record.Name != "" && !trace.SpanFromContext(ctx).SpanContext().IsValid() {
		ctx = o.Begin(ctx, text)
	}
	for _, request := range record.Requests {
		end(begin(ctx, record.Kind, request), request)
	}
	end(ctx, &record.part)
	if given := record.Metric; given != nil {
		// Meters keep the instruments that they have made.
		histogram, err := otel.Meter(scopeName).Float64Histogram(given.Name, metric.WithDescription(given.Description),
			metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(given.Boundaries...))
		if err != nil {
			otel.Handle(err)
			return
		}
		histogram.Record(ctx, given.Value, metric.WithAttributes(attributes(given.Attributes)...))
	}
}

func end(ctx context.Context, part *part) {
	span := trace.SpanFromContext(ctx)
	if part.Name != "" {
		span.SetName(part.Name)
	}
	span.SetAttributes(attributes(part.Attributes)...)
	if part.Error != nil {
		span.SetStatus(codes.Error, *part.Error)
	}
	if part.EndUs == 0 {
		span.End()
		return
	}
	span.End(trace.WithTimestamp(time.UnixMicro(part.EndUs)))
}

func (o *observer) Observe(measurements func() []byte) {
	load := func() []instrument { return decode[struct{ Measurements []instrument }](measurements()).Measurements }
	for _, one := range load() {
		if _, isMeasured := o.measured.LoadOrStore(one.Name, true); isMeasured {
			continue
		}
		report := func(_ context.Context, observer metric.Int64Observer) error {
			for _, now := range load() {
				if now.Name == one.Name {
					observer.Observe(int64(now.Value))
				}
			}
			return nil
		}
		description, unit := metric.WithDescription(one.Description), metric.WithUnit(one.Unit)
		var err error
		if one.Monotonic {
			_, err = otel.Meter(scopeName).Int64ObservableCounter(one.Name, description, unit, metric.WithInt64Callback(report))
		} else {
			_, err = otel.Meter(scopeName).Int64ObservableUpDownCounter(one.Name, description, unit, metric.WithInt64Callback(report))
		}
		if err != nil {
			otel.Handle(err)
		}
	}
}

func attributes(given map[string]any) []attribute.KeyValue {
	found := make([]attribute.KeyValue, 0, len(given))
	for key, value := range given {
		switch value := value.(type) {
		case string:
			found = append(found, attribute.String(key, value))
		case bool:
			found = append(found, attribute.Bool(key, value))
		case json.Number:
			if whole, err := value.Int64(); err == nil {
				found = append(found, attribute.Int64(key, whole))
			} else if number, err := value.Float64(); err == nil {
				found = append(found, attribute.Float64(key, number))
			}
		}
	}
	return found
}

// decode reads what the library has written.
func decode[T any](text []byte) *T {
	value := new(T)
	reader := json.NewDecoder(bytes.NewReader(text))
	reader.UseNumber()
	if err := reader.Decode(value); err != nil && len(text) > 0 {
		otel.Handle(err)
	}
	return value
}
