package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Server serves tools, resources, prompts and skills. It can have any number of listeners at the
// same time.
type Server struct {
	owner
	port     *port
	drain    uint64
	lifespan atomic.Pointer[lifespan]
	// Open listeners and in-memory clients, each with the function that closes it.
	listeners, clients sync.Map
}

// NewServer creates a server. Of several options, later ones take precedence.
//
// A name, version or option that is wrong, or a library that cannot be loaded, is the error of the
// methods of the server and of the functions that take it, as the [os/exec.Cmd] of a missing
// program fails when it is started: a program has to check that error in any case.
func NewServer(name, version string, options ...ServerOptions) *Server {
	server := &Server{owner: owner{what: "server"}}
	server.failure = server.create(name, version, merged(options))
	// There is nothing to free.
	server.freed = server.failure != nil
	return server
}

func (server *Server) create(name, version string, options ServerOptions) error {
	shared, err := join(options.Logger)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			shared.leave()
		}
	}()
	set, err := c.ServerOptionsFromJson(inJSON(options))
	if err != nil {
		return err
	}
	defer c.ServerOptionsFree(set)
	c.ServerOptionsSetPort(set, shared.object)
	if options.OwnStore != nil {
		c.ServerOptionsSetOwnStore(set, unsafe.Pointer(&callbacks.store), keep(options.OwnStore), callbacks.forget)
	}
	if server.object, err = c.ServerNewWith(name, version, set); err != nil {
		return err
	}
	server.port = shared
	server.drain = orDefault(options.DrainDeadline, 5*time.Second)
	// The rest is for the failures of calls that have not completed: see DrainDeadline.
	server.drain -= min(server.drain/5, 1000)
	observeLoad()
	return nil
}

// Close closes the listeners, then the clients in memory, which their calls may use, and frees the
// server. Calls in flight may complete until the context ends, but no longer than the option
// DrainDeadline.
func (server *Server) Close(ctx context.Context) (err error) {
	for _, users := range []*sync.Map{&server.listeners, &server.clients} {
		var ends []func(context.Context) error
		for _, end := range users.Range {
			ends = append(ends, end.(func(context.Context) error))
		}
		err = errors.Join(err, together(ends, func(end func(context.Context) error) error { return end(ctx) }))
	}
	freeing, freed := context.WithTimeout(context.Background(), gracePeriod)
	go func() {
		defer freed()
		server.release(func(object uintptr) {
			c.ServerFree(object)
			server.port.leave()
		})
		if span := server.lifespan.Load(); span != nil {
			span.end()
		}
	}()
	if <-freeing.Done(); freeing.Err() == context.DeadlineExceeded {
		err = errors.Join(err, &Error{Kind: ErrTimeout, Message: "the lifespan of the server does not return"})
	}
	return err
}

// CheckStore checks whether the server's store fulfills the contract of Store, and returns the
// violations found. It uses keys below "check/" and removes them afterwards.
func (server *Server) CheckStore(ctx context.Context) ([]string, error) {
	type outcome struct {
		violations []byte
		err        error
	}
	checked := make(chan outcome, 1)
	go func() {
		violations, err := sending(ctx, func() ([]byte, error) { return c.ServerCheckStore(&server.owner) })
		checked <- outcome{violations, err}
	}()
	select {
	case found := <-checked:
		return strings.FieldsFunc(string(found.violations), func(letter rune) bool { return letter == '\n' }), found.err
	case <-ctx.Done():
		return nil, cancelled(ctx)
	}
}

// ServeStdio serves standard input and output until the input or the context ends, or SIGINT or
// SIGTERM arrives, and then closes the server, like ListenAndServe. A process can do this only once.
// Afterwards, anything written to standard output goes to standard error.
func (server *Server) ServeStdio(ctx context.Context) error {
	return server.serve(ctx, func() (*Listener, error) { return server.listener(c.ServerListenStdio(&server.owner)) })
}

// ListenAndServe listens and serves until the context ends, or SIGINT or SIGTERM arrives, and then
// closes the server. If the lifespan is still opening then, it has as much time as calls in flight.
// After that ListenAndServe returns, with an error if the context has ended; what opens later is closed
// at once.
func (server *Server) ListenAndServe(ctx context.Context, options ...HTTPOptions) error {
	return server.serve(ctx, func() (*Listener, error) { return server.Listen(options...) })
}

func (server *Server) serve(given context.Context, open func() (*Listener, error)) error {
	// Before the first call, which a signal with its default action would silently end.
	ctx, stop := signal.NotifyContext(given, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the program.
	context.AfterFunc(ctx, stop)
	var listener *Listener
	var err error
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		listener, err = open()
	}()
	select {
	case <-opened:
	case <-ctx.Done():
		select {
		case <-opened:
		case <-time.After(time.Duration(server.drain) * time.Millisecond):
			// Nobody waits for a listener that arrives later.
			go func() {
				if <-opened; err == nil {
					_ = listener.Close(ctx)
				}
			}()
			if given.Err() != nil {
				return cancelled(given)
			}
			return nil
		}
	}
	if err != nil {
		return err
	}
	select {
	case <-listener.Done():
	case <-ctx.Done():
	}
	defer flushLog()
	return server.Close(context.WithoutCancel(ctx))
}

// Listen opens an HTTP endpoint, which serves in the background. Of several options, later ones take
// precedence.
func (server *Server) Listen(options ...HTTPOptions) (*Listener, error) {
	return server.endpoint(merged(options), c.ServerListenHttp)
}

func (server *Server) endpoint(options HTTPOptions, open func(server *owner, options uintptr) (uintptr, error)) (*Listener, error) {
	// The library may not be loaded.
	if err := server.problem(); err != nil {
		return nil, err
	}
	set, err := c.HttpOptionsFromJson(inJSON(options))
	if err != nil {
		return nil, err
	}
	defer c.HttpOptionsFree(set)
	return server.listener(open(&server.owner, set))
}

// Listener is a server that is listening.
type Listener struct {
	owner
	server *Server
	done   <-chan struct{}
	url    string
	close  func() error
}

func (server *Server) listener(made uintptr, err error) (*Listener, error) {
	if err != nil {
		return nil, server.explained(err)
	}
	listener := &Listener{owner: owner{what: "listener", object: made}, server: server, url: c.PlainListenerUrl(made)}
	listener.done = listener.until(c.ListenerClosed)
	listener.close = sync.OnceValue(listener.end)
	server.listeners.Store(listener, listener.Close)
	return listener, nil
}

// URL is the URL of an HTTP endpoint.
func (listener *Listener) URL() string { return listener.url }

// Done is closed when the listener has ended.
func (listener *Listener) Done() <-chan struct{} { return listener.done }

// Close closes the listener. Calls in flight may complete until the context ends, but no longer
// than the server's option DrainDeadline.
func (listener *Listener) Close(ctx context.Context) error {
	// The earliest deadline counts.
	defer context.AfterFunc(ctx, func() { _ = c.ListenerStartClose(&listener.owner, 0) })()
	return listener.close()
}

func (listener *Listener) end() error {
	err := listener.shut(listener.server.drain, c.ListenerStartClose, listener.done)
	if err == nil {
		err = c.ListenerEnd(&listener.owner)
	}
	listener.release(c.ListenerFree)
	listener.server.listeners.Delete(listener)
	return err
}

// Feature is a registered feature of a server.
type Feature struct {
	server *Server
	number uint64
}

// Remove removes the feature. Calls in flight continue.
func (feature *Feature) Remove() error {
	return c.ServerRemove(&feature.server.owner, feature.number)
}

// SetEnabled hides the feature, or shows it again. If it is so already, nothing is sent to clients.
func (feature *Feature) SetEnabled(enabled bool) error {
	return c.ServerSetEnabled(&feature.server.owner, feature.number, enabled)
}

// add adds a feature or a hook by its kind and its entry, as trunkline_server_add does, which lists
// them. Run, which calls the handlers of the program, may be nil for kinds that have no calls.
func (server *Server) add(kind string, entry map[string]any, run callFunc, handlers ...any) (*Feature, error) {
	if slices.ContainsFunc(handlers, isZero) {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the handler of the " + kind + " is nil"}
	}
	encoded, err := encode(entry)
	if err != nil {
		return nil, unwritable(kind, entry, err)
	}
	callback, data := uintptr(0), handle(0)
	if run != nil {
		callback, data = callbacks.call, keep(&registered{run: run})
	}
	number, err := c.ServerAdd(&server.owner, kind, json.RawMessage(encoded), callback, data, callbacks.forget)
	if err != nil {
		// The library may not have seen it.
		forget(data)
	}
	return server.feature(number, err)
}

// unwritable adds the feature and the member to an error of encoding/json, which names neither.
func unwritable(kind string, entry map[string]any, err error) error {
	name := cmp.Or(entry["method"], entry["uri"], entry["argument"])
	if descriptor := reflect.ValueOf(entry[kind]); descriptor.Kind() == reflect.Struct {
		name = descriptor.FieldByName("Name")
	}
	for member, value := range entry {
		if _, failure := json.Marshal(value); failure != nil {
			err = fmt.Errorf("%s: %w", member, failure)
		}
	}
	return &Error{Kind: ErrInvalidArgument, Message: fmt.Sprintf("the %s %v cannot be written as JSON: %v", kind, name, err)}
}

func (server *Server) feature(number uint64, err error) (*Feature, error) {
	if err != nil {
		return nil, err
	}
	return &Feature{server: server, number: number}, nil
}

// described is the entry of a feature with its options.
func described[T any](name string, descriptor any, options []T) map[string]any {
	entry := inJSON(merged(options))
	entry[name] = descriptor
	return entry
}

// Mount adds the features of another server, under prefixed names.
func (server *Server) Mount(prefix string, other *Server) (*Feature, error) {
	if other == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the mounted server is nil"}
	}
	return server.feature(c.ServerMount(&server.owner, prefix, &other.owner))
}

// Proxy adds the features of the server behind a client.
func (server *Server) Proxy(client *Client, options ...ProxyOptions) (*Feature, error) {
	given := merged(options)
	if client == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the client of the proxy is nil"}
	}
	if given.MaxConnections < 0 || given.MaxConnections > math.MaxInt32 {
		return nil, &Error{Kind: ErrInvalidArgument, Message: fmt.Sprintf("options.MaxConnections: must be from 1 to %d, not %d", math.MaxInt32, given.MaxConnections)}
	}
	prefix := given.Prefix
	given.Prefix = ""
	rest, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	return server.feature(c.ServerProxy(&server.owner, &client.owner, prefix, string(rest)))
}

// ListChanged notifies clients that a provider's list has changed. Other lists need no call.
func (server *Server) ListChanged(list Category) error {
	return c.ServerListChanged(&server.owner, string(list))
}

// ResourceUpdated notifies subscribers that a resource has changed.
func (server *Server) ResourceUpdated(uri string) error {
	return c.ServerResourceUpdated(&server.owner, uri)
}

// ElicitationComplete notifies the client that the user has finished with the page of ElicitURL
// (2025-11-25).
func (server *Server) ElicitationComplete(id string) error {
	return c.ServerElicitationComplete(&server.owner, id)
}

// Use adds middleware for the methods, or for all that can be wrapped. The first is the outermost.
// It gets the request as method and params, runs the rest with Call.Next, and returns a complete
// result as JSON.
func (server *Server) Use(handle func(ctx context.Context, call *Call, method string, params json.RawMessage) (json.RawMessage, error), methods ...string) (*Feature, error) {
	hasMiddleware.Store(true)
	return server.add("middleware", map[string]any{"methods": optional(methods)}, taking(func(ctx context.Context, call *Call, given *struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}) (any, error) {
		result, err := handle(ctx, call, given.Method, given.Params)
		return shaped{shapeResult, result}, err
	}), handle)
}
