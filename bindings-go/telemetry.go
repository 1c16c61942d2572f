package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
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

// spanCallbacks are those of all ports: callbacks of Go are never freed.
var spanCallbacks = sync.OnceValue(func() (made struct{ begin, scope, end uintptr }) {
	observer := observe.Installed
	made.begin = purego.NewCallback(func(record *str, trace, _ uintptr) (number handle) {
		contained(context.Background(), nil, func() {
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
	made.scope = purego.NewCallback(func(span handle, entered bool, _ uintptr) {
		if found := kept[context.Context](span); entered && found != nil {
			served.Store(threadID(), found)
		} else {
			served.Delete(threadID())
		}
	})
	made.end = purego.NewCallback(func(number handle, record *str, _ uintptr) {
		span := cmp.Or(kept[context.Context](number), context.Background())
		forget(number)
		contained(span, nil, func() { observer.End(span, record.bytes()) })
	})
	return made
})

func reportTo(port uintptr) error {
	calls := spanCallbacks()
	return c.PortOnTelemetry(port, calls.begin, calls.scope, calls.end, 0, 0)
}

// observeLoad reports the load of the servers of all ports.
func observeLoad() {
	if observe.Installed != nil {
		observe.Installed.Observe(measured)
	}
}

// portLoad is what a port measures.
type portLoad struct {
	Measurements []*measurement `json:"measurements"`
}

type measurement struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Unit        string `json:"unit"`
	Monotonic   bool   `json:"monotonic"`
	Value       int64  `json:"value"`
}

// measured is the load of all ports together.
func measured() []byte {
	ports.Lock()
	all := slices.Collect(maps.Values(ports.used))
	ports.Unlock()
	var total portLoad
	for _, port := range all {
		if !port.enter() {
			continue
		}
		// An error means that no server of the port reports.
		found, err := decoded[portLoad](c.PortMeasurements(port.object))
		port.users.Done()
		if err != nil {
			continue
		}
		for _, one := range found.Measurements {
			isSame := func(other *measurement) bool { return other.Name == one.Name }
			if i := slices.IndexFunc(total.Measurements, isSame); i >= 0 {
				total.Measurements[i].Value += one.Value
			} else {
				total.Measurements = append(total.Measurements, one)
			}
		}
	}
	encoded, _ := json.Marshal(total)
	return encoded
}
