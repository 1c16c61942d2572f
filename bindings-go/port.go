package trunkline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/trunkline-mcp/trunkline/bindings-go/internal/observe"
)

// A port runs the callbacks of the servers and clients that have the same logger. One goroutine
// dispatches them, and another stands by. A handler gets a goroutine of its own, unless nothing else is
// pending (then threads of others are awake) and it was short the last time: then it runs on the
// goroutine that dispatches, because the start of another one takes longer. If it is not short this time, the one that stands by takes over.
type port struct {
	owner
	// logger is nil for the default one.
	logger *slog.Logger
	// members are the servers and clients, counted by ports.
	members int
	isLeft  atomic.Bool
	// isDispatched and hasStandby say what its goroutines do.
	isDispatched, hasStandby atomic.Bool
	isEnding                 atomic.Bool
}

// ports are those in use, by their loggers.
var ports = struct {
	sync.Mutex
	used map[*slog.Logger]*port
}{used: map[*slog.Logger]*port{}}

// join returns the port of a logger, which the new member must leave.
func join(logger *slog.Logger) (*port, error) {
	if _, err := library(); err != nil {
		return nil, err
	}
	ports.Lock()
	defer ports.Unlock()
	found := ports.used[logger]
	if found == nil {
		made, err := c.PortNewForGo()
		if err == nil && observe.Installed != nil {
			err = reportTo(made)
		}
		if err != nil {
			return nil, err
		}
		found = &port{owner: owner{what: "port", object: made}, logger: logger}
		c.PortOnLogRecord(made, callbacks.log, keep(logger), callbacks.forget)
		ports.used[logger] = found
		go found.attend()
	}
	found.members++
	return found, nil
}

// log is the logger of the port. The zero value of a server or client has no port.
func (p *port) log() *slog.Logger {
	if p == nil {
		return nil
	}
	return p.logger
}

// leave ends the port with its last member, except that of the default logger.
func (p *port) leave() {
	if p == nil {
		return
	}
	ports.Lock()
	defer ports.Unlock()
	p.members--
	if p.members == 0 && p.logger != nil && p.enter() {
		defer p.users.Done()
		delete(ports.used, p.logger)
		p.isLeft.Store(true)
		_ = c.PlainWake(p.object)
	}
}

// conditions are what others wait for, by their channels: that a listener or a connection has ended, or
// was opened. They only change while the port dispatches.
var conditions sync.Map

// attend dispatches, or stands by while another goroutine dispatches. It returns if one stands by
// already, or the port has ended.
func (p *port) attend() {
	for !p.isLeft.Load() {
		switch {
		case p.isDispatched.CompareAndSwap(false, true):
			p.dispatch()
		case p.hasStandby.CompareAndSwap(false, true):
			p.inLibrary(func() { _ = c.PlainStandBy(p.object) })
			p.hasStandby.Store(false)
		default:
			return
		}
	}
	if p.isEnding.CompareAndSwap(false, true) {
		p.inLibrary(func() {
			// The last records, and destructors.
			for count, err := c.Dispatch(p.object, 0); count > 0 && err == nil; {
				count, err = c.Dispatch(p.object, 0)
			}
		})
		p.release(c.PortFree)
	}
}

// inLibrary calls a function of the library that waits. As the port ends, each wakes the next one.
func (p *port) inLibrary(wait func()) {
	if p.enter() {
		defer p.users.Done()
		wait()
		if p.isLeft.Load() {
			_ = c.PlainWake(p.object)
		}
	}
}

// dispatch runs callbacks until another goroutine does.
func (p *port) dispatch() {
	for !p.isLeft.Load() {
		var (
			call, data uintptr
			err        error
		)
		p.inLibrary(func() { call, data, err = c.PlainDispatchOrTake(p.object, callbacks.call) })
		if err != nil {
			report(context.Background(), p.logger, slog.LevelError, "trunkline: a callback failed", "error", err)
			// A failure that lasts must not use up a processor.
			time.Sleep(100 * time.Millisecond)
		}
		// End the waits for what has become true.
		for _, look := range conditions.Range {
			look.(func())()
		}
		if call == 0 {
			continue
		}
		found := kept[*registered](data)
		if found == nil {
			c.CallFree(call)
			continue
		}
		handle := serve(call, found.run)
		if !found.isShort.Swap(false) {
			go found.timed(handle)
			continue
		}
		p.isDispatched.Store(false)
		if !p.hasStandby.Load() {
			go p.attend()
		}
		if found.timed(handle); !p.isDispatched.CompareAndSwap(false, true) {
			return
		}
	}
	p.isDispatched.Store(false)
}

// shortCall is about what it takes to start a goroutine on another thread.
const shortCall = 50 * time.Microsecond

// A registered function serves calls.
type registered struct {
	run callFunc
	// isShort says whether the last call took less than shortCall.
	isShort atomic.Bool
}

// timed handles a call.
func (r *registered) timed(handle func()) {
	began := time.Now()
	handle()
	r.isShort.Store(time.Since(began) < shortCall)
}

// until returns a channel that is closed when the object is in one of the states, or was freed.
func (owner *owner) until(states ...func(object uintptr) bool) <-chan struct{} {
	waiting := make(chan struct{})
	look := func() {
		if owner.enter() {
			defer owner.users.Done()
			if !slices.ContainsFunc(states, func(isIn func(object uintptr) bool) bool { return isIn(owner.object) }) {
				return
			}
		}
		if _, isWaiting := conditions.LoadAndDelete(waiting); isWaiting {
			close(waiting)
		}
	}
	conditions.Store(waiting, look)
	// The object may already be in one of them.
	look()
	return waiting
}

// gracePeriod is how long after a deadline the library may report an end. It waits 30 seconds for a
// lifespan to close.
const gracePeriod = 40 * time.Second

// shut closes an object with a deadline in milliseconds, and waits for its end. The function of the
// library that waits would keep a thread for each.
func (owner *owner) shut(deadline uint64, start func(object *owner, deadline uint64) error, ended <-chan struct{}) error {
	if err := start(owner, deadline); err != nil {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-time.After(time.Duration(min(deadline, math.MaxUint32))*time.Millisecond + gracePeriod):
		return &Error{Kind: ErrTimeout, Message: "the close of the " + owner.what + " did not finish in time"}
	}
}

// together closes all at the same time.
func together[T any](all []T, end func(T) error) error {
	failures := make([]error, len(all))
	var ending sync.WaitGroup
	for i, one := range all {
		ending.Go(func() { failures[i] = end(one) })
	}
	ending.Wait()
	return errors.Join(failures...)
}

// A handle is the number by which C knows a value of Go. C must not keep pointers of Go.
type handle = uintptr

var (
	handles    sync.Map
	lastHandle atomic.Uintptr
)

func keep(value any) handle {
	number := lastHandle.Add(1)
	handles.Store(number, value)
	return number
}

func forget(number handle) { handles.Delete(number) }

// kept is the value of a handle, or the zero value when it was forgotten.
func kept[T any](number handle) T {
	found, _ := handles.Load(number)
	value, _ := found.(T)
	return value
}

// with passes the value of a handle on, unless it was forgotten.
func with[T any](number handle, use func(T)) {
	if value, isKept := handles.Load(number); isKept {
		use(value.(T))
	}
}

// callbacks has one callback of each type, because there can only be a few thousand of them.
var callbacks struct {
	call, open, close, reply, answer, completed, cancel, forget, notification, progress, log, head, chunk, ended uintptr

	store [len(storeFunctions)]uintptr
}

func registerCallbacks() {
	callbacks.call = serving(func(found *registered) callFunc { return found.run })
	callbacks.open = serving(func(span *lifespan) callFunc { return span.begin })
	callbacks.close = serving(func(span *lifespan) callFunc { return span.finish })
	for i, function := range storeFunctions {
		callbacks.store[i] = serving(function)
	}
	callbacks.reply = purego.NewCallback(replied)
	callbacks.answer = purego.NewCallback(func(_ uintptr, result uint32, json *str, failure, data uintptr) {
		replied(result, json, failure, data)
	})
	// A destructor, because what is freed gets no reply.
	callbacks.completed = purego.NewCallback(func(data uintptr) {
		with(data, func(request *pending) { close(request.reports) })
	})
	callbacks.cancel = purego.NewCallback(func(reason *str, data uintptr) {
		with(data, func(cancel context.CancelCauseFunc) {
			cancel(&Error{Kind: ErrCancelled, Message: string(reason.bytes())})
		})
	})
	callbacks.forget = purego.NewCallback(forget)
	callbacks.notification = purego.NewCallback(func(method, params *str, data uintptr) {
		client := kept[*Client](data)
		if client == nil {
			return
		}
		said := notification{string(method.bytes()), params.bytes()}
		if !client.heard.put(said, len(said.method)+len(said.params)) {
			report(context.Background(), client.port.log(), slog.LevelWarn, "trunkline: dropped a notification: they arrived faster than they were handled", "method", said.method)
		}
	})
	callbacks.progress = purego.NewCallback(func(progress, total float64, message *str, data uintptr) {
		said := Progress{Progress: progress, Message: string(message.bytes())}
		if total > 0 {
			said.Total = &total
		}
		if request := kept[*pending](data); request != nil {
			if len(request.reports) == cap(request.reports) {
				// The reader does not keep up: drop its oldest report.
				select {
				case <-request.reports:
				default:
				}
			}
			request.reports <- said
		}
	})
	callbacks.log = purego.NewCallback(logged)
	callbacks.head = purego.NewCallback(func(status uint16, headers *header, count, data uintptr) {
		with(data, func(exchange *exchange) { exchange.begin(int(status), unsafe.Slice(headers, count)) })
	})
	callbacks.chunk = purego.NewCallback(func(chunk *byte, length, data uintptr) {
		exchange, bytes := kept[*exchange](data), copied(chunk, length)
		if exchange != nil && !exchange.chunks.put(bytes, len(bytes)) {
			exchange.end(false)
		}
	})
	callbacks.ended = purego.NewCallback(func(result uint32, _ uintptr, data uintptr) {
		with(data, func(exchange *exchange) { exchange.end(result == 0) })
	})
}

// serving is a callback for calls, which a function of the kept value serves in its own goroutine.
func serving[T any](function func(kept T) callFunc) uintptr {
	return purego.NewCallback(func(call, data uintptr) {
		with(data, func(found T) { go serve(c.CallRetain(call), function(found))() })
	})
}

// replied sets the outcome of a request, which is completed afterwards.
func replied(result uint32, json *str, failure, data uintptr) {
	with(data, func(request *pending) {
		request.result, request.err = json.bytes(), failed(result)
		if failure != 0 {
			request.err = errorOf(failure)
		}
	})
}

// contained runs a function of the program, and logs a panic.
func contained(ctx context.Context, logger *slog.Logger, run func()) {
	if err := recovered(func() error { run(); return nil }); err != nil {
		report(ctx, logger, slog.LevelError, "trunkline: a callback panicked", "error", err)
	}
}

// recovered turns a panic of a function of the program into an error.
func recovered(run func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("a handler panicked: %v\n%s", reason, debug.Stack())
		}
	}()
	return run()
}

// A pending request, which the library knows by its handle.
type pending struct {
	ctx context.Context
	// True if the result is all pages of a list.
	all bool
	// True if the handlers of a server in this process get the values of the context.
	inMemory bool
	// True if a result that arrives as the context ends is returned instead of lost.
	keepsResult bool
	// Where a panic of onProgress is logged.
	logger *slog.Logger
	// Nil if the caller wants no progress.
	onProgress func(Progress)
	// Closed when the request has ended, with a result or an error.
	reports chan Progress
	result  []byte
	err     error
}

// errNoReply is the outcome of a request whose client, or server, was freed before the reply.
var errNoReply = &Error{Kind: ErrClosed, Message: "the connection was closed before the reply arrived"}

// await starts a request, whose ticket it sets, and waits for its end. When the context ends, it
// cancels the request.
func (request *pending) await(ticket *uint64, options []RequestOptions, start func(options uintptr, data handle) (uint64, error), cancel func(reason string)) ([]byte, error) {
	request.reports, request.err = make(chan Progress), errNoReply
	data := keep(request)
	defer forget(data)
	// Most requests have no options.
	set, err := uintptr(0), error(nil)
	if len(options) > 0 || request.all || request.inMemory {
		request.onProgress = merged(options).OnProgress
		if set, err = c.RequestOptionsFromJson(described("all", request.all, options)); err != nil {
			return nil, err
		}
		defer c.RequestOptionsFree(set)
		if request.onProgress != nil {
			request.reports = make(chan Progress, 64)
			c.RequestOptionsOnProgress(set, callbacks.progress, data, 0)
		}
		if request.inMemory {
			c.RequestOptionsSetUserData(set, data, 0)
		}
	}
	if *ticket, err = sending(request.ctx, func() (uint64, error) { return start(set, data) }); err != nil {
		return nil, err
	}
	for {
		select {
		case said, isOpen := <-request.reports:
			if !isOpen {
				return request.result, request.err
			}
			contained(request.ctx, request.logger, func() { request.onProgress(said) })
		case <-request.ctx.Done():
			cancel(valid(context.Cause(request.ctx).Error()))
			if request.keepsResult {
				if <-request.reports; request.err == nil {
					return request.result, nil
				}
			}
			return nil, cancelled(request.ctx)
		}
	}
}

// A cancelledError is the end of a context, which is also an error of this package.
type cancelledError struct{ cause, end error }

func cancelled(ctx context.Context) error { return &cancelledError{context.Cause(ctx), ctx.Err()} }

func (e *cancelledError) Error() string        { return e.cause.Error() }
func (e *cancelledError) Unwrap() []error      { return []error{e.cause, e.end} }
func (e *cancelledError) Is(target error) bool { return target == ErrCancelled }
