// Package observe connects package trunkline with package telemetry, without which programs need no
// OpenTelemetry.
package observe

import "context"

// Observer reports requests. Records are as the C library passes them to the callbacks of
// trunkline_port_on_telemetry.
type Observer interface {
	// Begin begins the span of a record, and returns a context with it. Parent is that of the sender.
	Begin(parent context.Context, record []byte) context.Context
	// Inject returns the members of a span's trace context for its message.
	Inject(span context.Context) map[string]string
	// Enter returns a context of a handler with the span of its request.
	Enter(ctx, span context.Context) context.Context
	// End ends a span with its record. The context has no span if none was begun.
	End(span context.Context, record []byte)
	// Observe reports the load of the servers whenever the program collects metrics.
	Observe(measurements func() []byte)
}

// Installed is the observer of this program, or nil. It is set before the first server or client.
var Installed Observer
