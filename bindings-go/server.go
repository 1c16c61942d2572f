package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server is a server. It may have any number of listeners at the same time.
type Server struct {
	owner
	server   uintptr
	drain    uint64
	lifespan lifespan

	mine      sync.Mutex
	listeners map[*Listener]struct{}
}

// NewServer creates a server.
func NewServer(name, version string, options ServerOptions) (*Server, error) {
	shared, err := port()
	if err != nil {
		return nil, err
	}
	set, err := made(c.ServerOptionsNew)
	if err != nil {
		return nil, err
	}
	defer c.ServerOptionsFree(set)
	c.ServerOptionsSetPort(set, shared)
	to := &setting{object: set}
	if options.applyTo(to); to.err != nil {
		return nil, to.err
	}
	if options.TTL != 0 || options.Scope != "" {
		c.ServerOptionsSetCache(set, units(int64(options.TTL), int64(time.Millisecond)), text(string(options.Scope)))
	}
	setOwnStore(set, options.OwnStore)
	made, err := made(func(made, failure *uintptr) uint32 {
		return c.ServerNewWith(text(name), text(version), set, made, failure)
	})
	if err != nil {
		return nil, spelled(err, options)
	}
	drain := orDefault(options.DrainDeadline, 5*time.Second)
	// The rest is for the failures of calls that have not completed: see DrainDeadline.
	drain -= min(drain/5, 1000)
	server := &Server{owner: owner{what: "server"}, server: made, drain: drain, listeners: map[*Listener]struct{}{}}
	server.lifespan = lifespan{users: map[*user]struct{}{}, mounted: map[uint64]*lifespan{}}
	observeLoad(shared)
	return server, nil
}

// Close ends the listeners and frees the server. Calls in flight get until the context ends to
// complete, but at most as long as the option DrainDeadline.
func (server *Server) Close(ctx context.Context) error {
	server.mine.Lock()
	listeners := slices.Collect(maps.Keys(server.listeners))
	server.mine.Unlock()
	err := together(listeners, func(listener *Listener) error { return listener.Close(ctx) })
	server.release(func() { c.ServerFree(server.server) })
	server.lifespan.end()
	return err
}

// CheckStore checks whether the store of the server keeps its contract, and returns what it found to
// be wrong. It uses keys below "check/", which it removes.
func (server *Server) CheckStore(ctx context.Context) ([]string, error) {
	found, done := new(uintptr), make(chan error, 1)
	go func() {
		done <- sending(ctx, func() error {
			return server.run(func(failure *uintptr) uint32 { return c.ServerCheckStore(server.server, found, failure) })
		})
	}()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, cancelled(ctx)
	}
	return strings.FieldsFunc(string(taken(*found)), func(letter rune) bool { return letter == '\n' }), nil
}

// ServeStdio serves standard input and output until the input or the context ends, or SIGINT or
// SIGTERM arrives, and then closes the server. A process can do this only once. From then on,
// standard output is standard error.
func (server *Server) ServeStdio(ctx context.Context) error {
	// What its lifespan prints goes to standard error, too.
	if err := server.run(func(failure *uintptr) uint32 { return c.ServerHoldStdio(server.server, failure) }); err != nil {
		return err
	}
	listener, err := server.listen(func(made, failure *uintptr) uint32 {
		return c.ServerListenStdio(server.server, made, failure)
	})
	if err != nil {
		return err
	}
	return server.serve(ctx, listener)
}

// ListenAndServe listens and serves until the context ends, or SIGINT or SIGTERM arrives, and then
// closes the server.
func (server *Server) ListenAndServe(ctx context.Context, options HTTPOptions) error {
	listener, err := server.Listen(options)
	if err != nil {
		return err
	}
	return server.serve(ctx, listener)
}

func (server *Server) serve(ctx context.Context, listener *Listener) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	select {
	case <-listener.Done():
	case <-ctx.Done():
	}
	// A second signal ends the program.
	stop()
	defer flushLog()
	return server.Close(context.WithoutCancel(ctx))
}

// NoSSE, as HTTPOptions.SSE, turns off the transport of 2024-11-05.
const NoSSE = "-"

// Listen opens an HTTP endpoint, which serves in the background.
func (server *Server) Listen(options HTTPOptions) (*Listener, error) {
	return server.endpoint(options, c.ServerListenHttp)
}

func (server *Server) endpoint(options HTTPOptions, open func(server, options uintptr, listener, failure *uintptr) uint32) (*Listener, error) {
	set, err := made(c.HttpOptionsNew)
	if err != nil {
		return nil, err
	}
	defer c.HttpOptionsFree(set)
	if err := options.set(set); err != nil {
		return nil, err
	}
	listener, err := server.listen(func(made, failure *uintptr) uint32 { return open(server.server, set, made, failure) })
	return listener, spelled(err, options)
}

func (options HTTPOptions) set(set uintptr) error {
	to := &setting{object: set}
	options.applyTo(to)
	if options.Unix != "" {
		mode, err := strconv.ParseUint(cmp.Or(options.UnixMode, "0"), 8, 32)
		if err != nil {
			return &Error{Kind: ErrInvalidArgument, Message: fmt.Sprintf("UnixMode must be octal digits such as \"660\", not %q", options.UnixMode)}
		}
		c.HttpOptionsSetUnix(set, text(options.Unix), uint32(mode))
	}
	if options.SSE != "" || options.Messages != "" {
		stream := cmp.Or(options.SSE, "/sse")
		if stream == NoSSE {
			stream = ""
		}
		c.HttpOptionsSetSse(set, text(stream), text(cmp.Or(options.Messages, "/messages")))
	}
	if options.ReplayEvents != 0 || options.ReplayBytes != 0 {
		events, bytes := cmp.Or(options.ReplayEvents, 1000), cmp.Or(options.ReplayBytes, 4<<20)
		c.HttpOptionsSetReplay(set, units(int64(events), 1), units(int64(bytes), 1))
	}
	if options.Auth.Resource != "" {
		auth := inJSON(options.Auth)
		if options.Auth.Verifier != nil {
			auth["verifier"] = options.Auth.Verifier.number
		}
		to.json(c.HttpOptionsSetAuth, auth)
	}
	return to.err
}

// Listener is an endpoint of a server.
type Listener struct {
	owner
	server   *Server
	listener uintptr
	done     <-chan struct{}
	url      string
	close    func() error
}

func (server *Server) listen(open creates) (*Listener, error) {
	user, err := server.enter(context.Background())
	if err != nil {
		return nil, err
	}
	made, err := madeBy(server.run, open)
	if err != nil {
		user.end()
		return nil, err
	}
	done := make(chan struct{})
	listener := &Listener{owner: owner{what: "listener"}, server: server, listener: made, url: c.PlainListenerUrl(made)}
	listener.done = done
	ended := untilTrue(func() bool { return c.ListenerClosed(made) })
	go func() {
		<-ended
		user.end()
		close(done)
	}()
	listener.close = sync.OnceValue(listener.end)
	server.mine.Lock()
	defer server.mine.Unlock()
	server.listeners[listener] = struct{}{}
	return listener, nil
}

// URL is the URL of an HTTP endpoint.
func (listener *Listener) URL() string { return listener.url }

// Done is closed when the listener has ended.
func (listener *Listener) Done() <-chan struct{} { return listener.done }

// Close ends the listener. Calls in flight get until the context ends to complete, but at most as
// long as the server's option DrainDeadline.
func (listener *Listener) Close(ctx context.Context) error {
	// The earliest deadline counts.
	stop := context.AfterFunc(ctx, func() { _ = listener.startClose(0) })
	defer stop()
	return listener.close()
}

func (listener *Listener) startClose(milliseconds uint64) error {
	return listener.run(func(failure *uintptr) uint32 {
		return c.ListenerStartClose(listener.listener, milliseconds, failure)
	})
}

func (listener *Listener) end() error {
	server := listener.server
	err := listener.startClose(server.drain)
	return cmp.Or(err, listener.closed(listener.done, server.drain, func() error {
		err := listener.run(func(failure *uintptr) uint32 { return c.ListenerEnd(listener.listener, failure) })
		listener.release(func() { c.ListenerFree(listener.listener) })
		server.mine.Lock()
		defer server.mine.Unlock()
		delete(server.listeners, listener)
		return err
	}))
}

// Feature is something that was added to a server.
type Feature struct {
	server *Server
	number uint64
}

// Remove removes the feature. Calls in flight go on.
func (feature *Feature) Remove() error {
	feature.server.lifespan.unmount(feature.number)
	return feature.server.run(func(failure *uintptr) uint32 {
		return c.ServerRemove(feature.server.server, feature.number, failure)
	})
}

// SetEnabled hides the feature, or shows it again.
func (feature *Feature) SetEnabled(enabled bool) error {
	return feature.server.run(func(failure *uintptr) uint32 {
		return c.ServerSetEnabled(feature.server.server, feature.number, enabled, failure)
	})
}

// add adds a feature or a hook by its kind and its entry, as trunkline_server_add does, which lists
// them. The handler may be nil for kinds that have no calls.
func (server *Server) add(kind string, entry map[string]any, run callFunc) (*Feature, error) {
	encoded, err := encode(entry)
	if err != nil {
		return nil, err
	}
	return server.register(server.run, func(number *uint64, failure *uintptr) uint32 {
		callback, data := uintptr(0), uintptr(0)
		if run != nil {
			callback, data = callbacks.call, keep(run)
		}
		return c.ServerAdd(server.server, text(kind), text(encoded), callback, data, callbacks.forget, number, failure)
	})
}

func (server *Server) register(run runner, add func(number *uint64, failure *uintptr) uint32) (*Feature, error) {
	number := new(uint64)
	if err := run(func(failure *uintptr) uint32 { return add(number, failure) }); err != nil {
		return nil, err
	}
	return &Feature{server, *number}, nil
}

// first is the entry of a feature with its options.
func first[T any](name string, descriptor any, options []T) map[string]any {
	entry := map[string]any{}
	if len(options) > 0 {
		entry = inJSON(options[0])
		for name, member := range map[string]string{"Visible": "visible", "Replaces": "replaces"} {
			if other := reflect.ValueOf(options[0]).FieldByName(name); other.IsValid() && !other.IsNil() {
				entry[member] = other.Interface().(*Feature).number
			}
		}
	}
	entry[name] = descriptor
	return entry
}

// Mount offers the features of another server, with prefixed names.
func (server *Server) Mount(prefix string, other *Server) (*Feature, error) {
	return server.lifespan.mount(&other.lifespan, func() (*Feature, error) {
		return server.register(server.with(&other.owner), func(number *uint64, failure *uintptr) uint32 {
			return c.ServerMount(server.server, text(prefix), other.server, number, failure)
		})
	})
}

// Proxy offers the features of the server of a client.
func (server *Server) Proxy(client *Client, options ProxyOptions) (*Feature, error) {
	return server.register(server.with(&client.owner), func(number *uint64, failure *uintptr) uint32 {
		return c.ServerProxy(server.server, client.client, text(options.Prefix), uint32(options.MaxConnections), number, failure)
	})
}

// ListChanged tells clients that a list has changed: "tools", "resources" or "prompts". For features
// of a provider; the library tells them of all others itself.
func (server *Server) ListChanged(list string) error {
	return server.notify(c.ServerListChanged, list)
}

// ResourceUpdated tells subscribers that a resource has changed.
func (server *Server) ResourceUpdated(uri string) error {
	return server.notify(c.ServerResourceUpdated, uri)
}

// ElicitationComplete tells the client that the user is done on a page (2025-11-25).
func (server *Server) ElicitationComplete(id string) error {
	return server.notify(c.ServerElicitationComplete, id)
}

func (server *Server) notify(function withTextError, given string) error {
	return server.run(func(failure *uintptr) uint32 { return function(server.server, text(given), failure) })
}

// Use adds middleware for the methods, or for all that can be wrapped. The first is the outermost.
// It gets the request as method and params, runs the rest with Call.Next, and returns a complete
// result as JSON.
func (server *Server) Use(handle func(ctx context.Context, call *Call, method string, params json.RawMessage) (json.RawMessage, error), methods ...string) (*Feature, error) {
	hasMiddleware.Store(true)
	entry := map[string]any{}
	if len(methods) > 0 {
		entry["methods"] = methods
	}
	return server.add("middleware", entry, taking(func(ctx context.Context, call *Call, given *struct {
		Method string
		Params json.RawMessage
	}) (shape, []byte, error) {
		result, err := handle(ctx, call, given.Method, given.Params)
		return shapeResult, result, err
	}))
}
