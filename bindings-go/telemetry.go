package trunkline

import (
	"cmp"
	"context"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/trunkline-mcp/trunkline/bindings-go/internal/observe"
)

// The contexts of the requests that threads are sending. C begins the span of a request on the
// thread that sends it.
var senders sync.Map

// sending runs a function of the library that sends a request with a context.
func sending[T any](ctx context.Context, function func() (T, error)) (T, error) {
	if ctx.Err() != nil {
		return *new(T), cancelled(ctx)
	}
	if observe.Installed == nil {
		return function()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := threadID()
	senders.Store(thread, ctx)
	defer senders.Delete(thread)
	return function()
}

// The spans of the calls that threads are about to hand to their handlers. Besides the thread that
// dispatches, those inside a blocking function do this, too.
var served sync.Map

func observed(ctx context.Context) context.Context {
	if observe.Installed != nil {
		if span, known := served.Load(threadID()); known {
			return observe.Installed.Enter(ctx, span.(context.Context))
		}
	}
	return ctx
}

func reportTo(port uintptr, observer observe.Observer) error {
	begin := purego.NewCallback(func(record *str, trace, _ uintptr) (number handle) {
		contained(func() {
			parent := context.Background()
			if ctx, known := senders.Load(threadID()); known && trace != 0 {
				parent = ctx.(context.Context)
			}
			span := observer.Begin(parent, record.bytes())
			number = keep(span)
			if trace != 0 {
				for key, value := range observer.Inject(span) {
					c.TraceContextSet(trace, key, value)
				}
			}
		})
		return number
	})
	scope := purego.NewCallback(func(span handle, entered bool, _ uintptr) {
		if found := kept[context.Context](span); entered && found != nil {
			served.Store(threadID(), found)
		} else {
			served.Delete(threadID())
		}
	})
	end := purego.NewCallback(func(number handle, record *str, _ uintptr) {
		span := cmp.Or(kept[context.Context](number), context.Background())
		forget(number)
		contained(func() { observer.End(span, record.bytes()) })
	})
	return c.PortOnTelemetry(port, begin, scope, end, 0, 0)
}

// observeLoad reports the load of the servers of the port.
func observeLoad(port uintptr) {
	if observe.Installed != nil {
		observe.Installed.Observe(func() []byte {
			// It fails if no server reports.
			found, _ := c.PortMeasurements(port)
			return found
		})
	}
}
