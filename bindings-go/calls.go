package trunkline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"
)

type shape uint32

// A callFunc serves a call, and returns its result.
type callFunc func(ctx context.Context, call *Call) (any, error)

// shaped is a result that has a certain shape.
type shaped struct {
	form  shape
	value any
}

// Call is a call that a handler serves. Its methods may be used until the handler returns; after
// that, they have no effect, or fail with ErrClosed.
type Call struct {
	owner
	// lent are the arguments in memory of the library, until the call is freed.
	lent []byte
	// copying sets arguments.
	copying   sync.Once
	arguments json.RawMessage
	info      atomic.Pointer[CallInfo]
	// working has a mutex for each name of Once.
	working sync.Map
}

// errNothing leaves a call as it is: it was completed, or runs again.
var errNothing = errors.New("the call is completed")

// serve returns a function that handles a call, which is retained.
func serve(retained uintptr, run callFunc) (handle func()) {
	length := new(uintptr)
	arguments := c.PlainCallArguments(retained, length)
	call := &Call{owner: owner{what: "call", object: retained}, lent: unsafe.Slice(arguments, *length)}
	// The call has its own end: a task outlives the request that started it.
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(cause(retained)))
	// Without a destructor, which would be another callback for each call.
	cancelling := keep(cancel)
	_ = c.CallOnCancel(&call.owner, callbacks.cancel, cancelling, 0)
	return func() {
		defer call.release(c.CallFree)
		defer forget(cancelling)
		defer cancel(nil)
		err := recovered(func() error {
			form, encoded, err := returned(run(ctx, call))
			if err != nil {
				return err
			}
			return unlessEnded(c.CallReturnJson(&call.owner, uint32(form), readyJSON(encoded)))
		})
		if err != nil && ctx.Err() == nil {
			// Its methods may panic, as those of a nil pointer do.
			if err := recovered(func() error { call.fail(err); return nil }); err != nil {
				call.fail(err)
			}
		}
	}
}

// contextVar is the name of the context that middleware passes on.
const contextVar = "go.context"

// hasMiddleware says whether any server has middleware.
var hasMiddleware atomic.Bool

// cause is the context of what caused a call in this process, with the span of the call: middleware,
// which may have begun a span of its own, an HTTP request, or a request in memory.
func cause(call uintptr) context.Context {
	if hasMiddleware.Load() {
		if ctx := kept[context.Context](c.CallVar(call, text(contextVar))); ctx != nil {
			return ctx
		}
	}
	found, _ := handles.Load(c.CallExchangeData(call))
	switch caused := found.(type) {
	case *exchange:
		return observed(caused.ctx)
	case *pending:
		return observed(caused.ctx)
	}
	return observed(context.Background())
}

// unlessEnded is an error, except that a call that has already ended is no failure.
func unlessEnded(err error) error {
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

func (call *Call) fail(err error) {
	var (
		tool    *ToolError
		invalid *InvalidError
		input   *inputError
		known   *Error
	)
	switch {
	case errors.Is(err, ErrSuspended), errors.Is(err, errNothing):
	case errors.As(err, &tool):
		c.CallFailTool(&call.owner, valid(tool.Message))
	case errors.As(err, &input):
		if err := unlessEnded(c.CallRequireInput(&call.owner, input)); err != nil {
			call.fail(err)
		}
	case errors.As(err, &invalid):
		c.CallFailInvalid(&call.owner, valid(invalid.Path), valid(invalid.Message))
	case errors.As(err, &known) && known.Kind == ErrProtocol:
		if err := unlessEnded(c.CallFailProtocol(&call.owner, int64(known.Code), valid(known.Message), known.Data)); err != nil {
			c.CallFail(&call.owner, valid(err.Error()))
		}
	default:
		// The library logs it.
		c.CallFail(&call.owner, valid(err.Error()))
	}
}

// Info describes the call and its caller.
func (call *Call) Info() (*CallInfo, error) {
	if known := call.info.Load(); known != nil {
		return known, nil
	}
	info, err := decoded[CallInfo](c.CallInfo(&call.owner))
	call.info.Store(info)
	return info, err
}

// Arguments are the arguments of the call as JSON.
func (call *Call) Arguments() json.RawMessage {
	call.copying.Do(func() {
		if call.enter() {
			defer call.users.Done()
			call.arguments = bytes.Clone(call.lent)
		}
	})
	return call.arguments
}

// Progress reports progress if the caller requested it. A total of 0 means unknown.
func (call *Call) Progress(progress, total float64, message string) {
	c.CallProgress(&call.owner, progress, total, valid(message))
}

// Log sends a log message to the client of the call. The logger may be empty.
//
// Deprecated: since 2026-07-28, log to standard error or through OpenTelemetry instead.
func (call *Call) Log(level LoggingLevel, logger string, data any) error {
	encoded, err := encodeAny(data)
	if err != nil {
		return err
	}
	return unlessEnded(invoke(func(failure *uintptr) uint32 {
		return logJSON()(call.object, text(string(level)), text(valid(logger)), text(encoded), failure)
	}, &call.owner))
}

// Once runs a function once per request, even if the handler is rerun after a request for input;
// later runs get its stored result. Goroutines that call it with the same name take turns.
func Once[T any](call *Call, name string, run func() (T, error)) (T, error) {
	var value T
	working, _ := call.working.LoadOrStore(name, new(sync.Mutex))
	working.(*sync.Mutex).Lock()
	defer working.(*sync.Mutex).Unlock()
	stored, err := c.CallOnce(&call.owner, name)
	if errors.Is(err, ErrClosed) {
		return value, err
	}
	if err == nil {
		return value, json.Unmarshal(stored, &value)
	}
	if value, err = run(); err != nil {
		return value, err
	}
	return value, unlessEnded(c.CallSetOnce(&call.owner, name, &value))
}

// An Input is a request for input from the client, for RequireInput. Its answer has the same key.
type Input struct {
	Key    string `json:"-"`
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// RequireInput ends a handler with requests for input: return its error. The handler runs again
// with the answers, by key, and the state in its CallInfo.
func RequireInput(state any, requests ...Input) error {
	inputs := members{}
	for _, request := range requests {
		request.Params = present(request.Params)
		inputs = append(inputs, member{request.Key, request})
	}
	return &inputError{inputs, state}
}

type inputError struct {
	Requests members `json:"inputRequests"`
	State    any     `json:"state,omitempty"`
}

func (*inputError) Error() string { return "the handler needs input" }

// StartTask turns the call into a task, if the tool defers its tasks and the client supports them.
func (call *Call) StartTask() error { return c.CallStartTask(&call.owner) }

// SetTaskMessage sets the status message of the call's task.
func (call *Call) SetTaskMessage(message string) error {
	return c.CallSetTaskMessage(&call.owner, valid(message))
}

// CloseStream closes the stream of the response; the client reconnects for the result.
func (call *Call) CloseStream() error { return c.CallCloseStream(&call.owner) }

// ask sends a request to the client of a call.
func ask[T any](ctx context.Context, call *Call, method string, params any, options []RequestOptions) (*T, error) {
	return decoded[T](call.Request(ctx, method, present(params), options...))
}

// Elicit asks the user to fill in a form with the fields of T, whose schema is derived as for the
// arguments of AddTool. It returns nil if the user declines or cancels.
func Elicit[T any](ctx context.Context, call *Call, message string, options ...RequestOptions) (*T, error) {
	schema, err := schemaOf(reflect.TypeFor[T](), inForms)
	if err != nil {
		return nil, err
	}
	form := NewElicitInput("", message, schema)
	// Numbers in a map would be rounded.
	result, err := ask[struct {
		Action  ElicitAction    `json:"action"`
		Content json.RawMessage `json:"content"`
	}](ctx, call, form.Method, form.Params, options)
	if err != nil || result.Action != ElicitActionAccept {
		return nil, err
	}
	return decode[T](result.Content)
}

// Request sends any request to the client of the call, and cancels it when the context ends.
func (call *Call) Request(ctx context.Context, method string, params any, options ...RequestOptions) (json.RawMessage, error) {
	var ticket uint64
	return (&pending{ctx: ctx}).await(&ticket, options, func(options uintptr, data handle) (uint64, error) {
		return c.CallStartRequest(&call.owner, method, params, options, callbacks.answer, data, callbacks.completed)
	}, func(reason string) { _ = c.CallCancelRequest(&call.owner, ticket, reason) })
}

// Next runs the rest of a request in middleware: the next middleware, or the handler. Nil params
// keep the original ones. The handler's context has the values of ctx. Next returns the result as
// JSON.
func (call *Call) Next(ctx context.Context, params any) (json.RawMessage, error) {
	passed := keep(ctx)
	if err := c.CallSetVar(&call.owner, contextVar, passed, callbacks.forget); err != nil {
		forget(passed)
		return nil, err
	}
	return (&pending{ctx: ctx}).await(new(uint64), nil, func(_ uintptr, data handle) (uint64, error) {
		return 0, c.CallNext(&call.owner, params, callbacks.answer, data, callbacks.completed)
	}, func(string) {})
}

// answering is a handler of a client with typed parameters and a typed result.
func answering[In, Out any](handle func(context.Context, *In) (*Out, error)) callFunc {
	return typed(shapeResult, handle)
}

func typed[In, Out any](form shape, handle func(context.Context, *In) (*Out, error)) callFunc {
	return taking(func(ctx context.Context, _ *Call, given *In) (any, error) {
		result, err := handle(ctx, given)
		return shaped{form, filled(result)}, err
	})
}

// taking is a function that takes the arguments of its calls.
func taking[In any](run func(ctx context.Context, call *Call, given *In) (any, error)) callFunc {
	plan := planOf(reflect.TypeFor[In]())
	return func(ctx context.Context, call *Call) (any, error) {
		given := new(In)
		if err := plan.unmarshal(call.lent, given); err != nil && len(call.lent) > 0 {
			return nil, invalid(err)
		}
		return run(ctx, call, given)
	}
}

func answeringNothing[In any](handle func(context.Context, *In) error) callFunc {
	return answering(func(ctx context.Context, given *In) (*struct{}, error) {
		return &struct{}{}, handle(ctx, given)
	})
}
