package trunkline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"runtime"
	"sync"
	"time"
)

// Client is a connection to a server, or to the servers of a group. Any number of goroutines may
// use it.
type Client struct {
	owner
	port *port
	// server is nil unless it is in this process.
	server *Server
	// patience is how long a child gets to exit, in milliseconds.
	patience uint64
	heard    *queue[notification]
	close    func() error
	done     func() <-chan struct{}
	// members are clients that the group connected itself.
	members []*Client
}

// maxNotifications may wait for the handlers of a client; later ones are dropped.
const maxNotifications = 10_000

type notification struct {
	method string
	params []byte
}

// Connect connects to a server over HTTP. For this function and the others that connect, later ones
// of several options take precedence.
//
// The library sends the requests itself, so there is no place for an [net/http.Client]. Instead of
// its parts, use the options: Proxy, CA, ClientCertificate and ClientKey for those of its Transport,
// Headers or OnRequestHeaders for a RoundTripper that sets headers, Auth or OnAccessToken for one
// that authorizes, Timeout and ConnectTimeout for its Timeout, and a URL such as
// unix:/run/server.sock to dial a Unix socket; the package telemetry traces requests. The example
// shows how requests can go through any other RoundTripper.
func Connect(ctx context.Context, url string, options ...ClientOptions) (*Client, error) {
	return connect(ctx, merged(options), func(set uintptr) (uintptr, error) { return c.ClientConnectHttp(url, set) })
}

// ConnectConfig connects to a configured server: an entry of mcpServers, a configuration with one
// server as JSON, or the path of its file.
func ConnectConfig(ctx context.Context, config string, options ...ClientOptions) (*Client, error) {
	return connect(ctx, merged(options), func(set uintptr) (uintptr, error) { return c.ClientConnectConfig(config, set) })
}

// ConnectMemory connects to a server in this process. Its handlers get the values of the context of
// each request.
func ConnectMemory(ctx context.Context, server *Server, options ...ClientOptions) (*Client, error) {
	if server == nil {
		return nil, &Error{Kind: ErrInvalidArgument, Message: "the server to connect to is nil"}
	}
	// The library may not be loaded.
	if err := server.problem(); err != nil {
		return nil, err
	}
	given := merged(options)
	// The client runs on the port of the server.
	given.Logger = server.port.log()
	client, err := connect(ctx, given, func(set uintptr) (uintptr, error) { return c.ClientConnectMemory(&server.owner, set) })
	if err != nil {
		return nil, server.explained(err)
	}
	client.server = server
	server.clients.Store(client, func(context.Context) error { return client.Close() })
	return client, nil
}

// connect opens a connection, and closes it again if the context ends before it is established.
func connect(ctx context.Context, options ClientOptions, open func(options uintptr) (uintptr, error)) (*Client, error) {
	shared, err := join(options.Logger)
	if err != nil {
		return nil, err
	}
	client := &Client{owner: owner{what: "client"}, port: shared, heard: newQueue[notification](maxNotifications), patience: orDefault(options.CloseTimeout, 2*time.Second)}
	set, err := client.options(options)
	if err != nil {
		shared.leave()
		return nil, err
	}
	defer c.ClientOptionsFree(set)
	if client.object, err = sending(ctx, func() (uintptr, error) { return open(set) }); err != nil {
		shared.leave()
		return nil, err
	}
	client.close = sync.OnceValue(client.end)
	client.done = sync.OnceValue(func() <-chan struct{} { return client.until(c.ClientClosed) })
	go client.hear(&options.ClientHandlers)
	select {
	case <-client.until(c.ClientOpened, c.ClientClosed):
		if c.ClientOpened(client.object) {
			return client, nil
		}
		err = cmp.Or[error](c.ClientEnd(&client.owner), &Error{Kind: ErrClosed, Message: "the connection was closed before it was established"})
	case <-ctx.Done():
		err = cancelled(ctx)
		client.patience = 0
	}
	_ = client.Close()
	return nil, err
}

func (client *Client) options(options ClientOptions) (uintptr, error) {
	options.Listen = options.Listen || options.subscribes()
	set, err := c.ClientOptionsFromJson(inJSON(options))
	if err != nil {
		return 0, err
	}
	c.ClientOptionsSetPort(set, client.port.object)
	c.ClientOptionsSetBackground(set, true)
	functions := options.callbacks()
	maps.Copy(functions, options.transport)
	for name, run := range functions {
		named[func(options, callback, data, destructor uintptr) uint32]("client_options_on_"+name)(set, callbacks.call, keep(&registered{run: run}), callbacks.forget)
	}
	if !options.isMember {
		c.ClientOptionsOnNotification(set, callbacks.notification, keep(client), callbacks.forget)
	}
	return set, nil
}

// hear runs the handlers of notifications, one after the other.
func (client *Client) hear(handlers *ClientHandlers) {
	heard, open := client.heard.get()
	defer func() {
		// A handler has ended the goroutine, as t.FailNow does.
		if open {
			go client.hear(handlers)
		}
	}()
	for ; open; heard, open = client.heard.get() {
		contained(context.Background(), client.port.log(), func() { handlers.notified(heard.method, heard.params) })
	}
}

// Close closes the connection; requests in flight fail.
func (client *Client) Close() error {
	if client.close == nil {
		// Never connected.
		return nil
	}
	return client.close()
}

// Done is closed when the client has ended: when it was closed or, without ClientOptions.Reconnect, when
// its connection was lost.
func (client *Client) Done() <-chan struct{} {
	if client.done == nil {
		// Never connected.
		return nil
	}
	return client.done()
}

func (client *Client) end() error {
	err := client.shut(client.patience, c.ClientStartClose, client.Done())
	client.release(c.ClientFree)
	client.port.leave()
	client.heard.close()
	if client.server != nil {
		client.server.clients.Delete(client)
	}
	return errors.Join(err, together(client.members, (*Client).Close))
}

// Info describes the server and the connection.
func (client *Client) Info() (*ClientInfo, error) {
	return decoded[ClientInfo](c.ClientInfo(&client.owner))
}

// Request sends any request and returns its result as JSON.
func (client *Client) Request(ctx context.Context, method string, params any, options ...RequestOptions) (json.RawMessage, error) {
	return client.start(ctx, new(uint64), method, params, false, options)
}

// Notify sends any notification.
func (client *Client) Notify(method string, params any) error {
	return c.ClientNotify(&client.owner, method, params)
}

// SetRoots sets the directories and files in which servers may work, and tells the server.
//
// Deprecated: since 2026-07-28, use tool arguments, resource URIs or configuration instead.
func (client *Client) SetRoots(roots []Root) error {
	return c.ClientSetRoots(&client.owner, append([]Root{}, roots...))
}

// CallTool calls a tool and decodes its structured content or, without any, its text, which is JSON
// unless Out is a string. A value that AddTool would wrap in an object is unwrapped. If the tool
// fails, the error is a *ToolError.
func CallTool[Out any](ctx context.Context, client *Client, name string, arguments any, options ...RequestOptions) (Out, error) {
	var value Out
	result, err := client.CallTool(ctx, name, arguments, options...)
	if err != nil {
		return value, err
	}
	if result.IsError {
		return value, &ToolError{result.Content.Text()}
	}
	of, content, read := reflect.TypeFor[Out](), result.StructuredContent, decodeValid[Out]
	if said, isString := any(&value).(*string); content == nil && isString {
		*said = result.Content.Text()
		return value, nil
	}
	if content == nil && isText(of) {
		content, _ = json.Marshal(result.Content.Text())
	} else if content == nil {
		content, read = json.RawMessage(result.Content.Text()), Decode[Out]
	}
	if value, err = read(content); err == nil {
		return value, nil
	}
	schema, unknown := schemaOf(pointed(of), inResults)
	if unknown == nil && !schema.isObject() {
		object, refused := Decode[struct {
			Result json.RawMessage `json:"result"`
		}](content)
		if refused == nil && object.Result != nil {
			value, err = decodeValid[Out](object.Result)
		}
	}
	if err != nil {
		err = fmt.Errorf("the result of the tool %s is no %v: %w", name, of, err)
	}
	return value, err
}

func (client *Client) start(ctx context.Context, ticket *uint64, method string, params any, all bool, options []RequestOptions) ([]byte, error) {
	asked := &pending{ctx: ctx, all: all, inMemory: client.server != nil}
	return client.await(asked, ticket, options, func(options uintptr, data handle) (uint64, error) {
		return c.ClientStart(&client.owner, method, params, options, callbacks.reply, data, callbacks.completed)
	})
}

func (client *Client) await(request *pending, ticket *uint64, options []RequestOptions, start func(options uintptr, data handle) (uint64, error)) ([]byte, error) {
	request.logger = client.port.log()
	return request.await(ticket, options, start, func(reason string) { _ = c.ClientCancel(&client.owner, *ticket, reason) })
}

// A stream is a subscription or a task: a request whose ticket stays valid until it is closed.
// Where the library has a function for each of the two, both do the same.
type stream struct {
	client *Client
	ticket uint64
}

// openStream opens a stream, and returns the reply to its request as well.
func openStream[T any](ctx context.Context, client *Client, method string, params any) (*stream, *T, error) {
	opened := &stream{client: client}
	reply, err := decoded[T](client.start(ctx, &opened.ticket, method, params, false, nil))
	if err != nil {
		// The reply may have arrived when the context ended.
		_ = opened.close()
		return nil, nil, err
	}
	runtime.AddCleanup(opened, func(forgotten stream) { _ = forgotten.close() }, *opened)
	return opened, reply, nil
}

func (s stream) close() error { return c.ClientUnsubscribe(&s.client.owner, s.ticket) }

// request sends a request about the stream.
func (s *stream) request(ctx context.Context, start func(client *owner, stream uint64, options, callback, data, destructor uintptr) (uint64, error)) ([]byte, error) {
	defer runtime.KeepAlive(s)
	return s.client.await(&pending{ctx: ctx, keepsResult: true}, new(uint64), nil, func(options uintptr, data handle) (uint64, error) {
		return start(&s.client.owner, s.ticket, options, callbacks.reply, data, callbacks.completed)
	})
}

// follow iterates over a stream until its end, which is null.
func follow[T any](ctx context.Context, stream *stream, yield func(*T, error) bool) {
	for {
		item, err := decoded[*T](stream.request(ctx, c.ClientStartNextChange))
		if err != nil {
			yield(nil, err)
			return
		}
		if *item == nil || !yield(*item, nil) {
			return
		}
	}
}

func request[T any](ctx context.Context, client *Client, method string, params any, all bool, options []RequestOptions) (*T, error) {
	return decoded[T](client.start(ctx, new(uint64), method, present(params), all, options))
}

// Subscribe subscribes to changes at the server. The iterator yields them until the loop, the
// context or the subscription ends. The subscription is active when Subscribe returns.
func (client *Client) Subscribe(ctx context.Context, filter SubscriptionFilter) (iter.Seq2[*Change, error], error) {
	stream, _, err := openStream[json.RawMessage](ctx, client, "subscribe", filter)
	if err != nil {
		return nil, err
	}
	// The iterator may never be used. If it is, the end of the context must not look like that of the
	// subscription.
	opened := *stream
	stop := context.AfterFunc(ctx, func() { _ = opened.close() })
	return func(yield func(*Change, error) bool) {
		stop()
		defer stream.close()
		follow(ctx, stream, yield)
	}, nil
}

// RunningTask is a tool call that may run as a task.
type RunningTask struct {
	stream *stream
	// Task is its state when it started. Its ID is empty if the tool did not become a task.
	Task Task
}

// StartTask calls a tool as a task, if the server allows it. Close the returned RunningTask to stop
// following the task.
func (client *Client) StartTask(ctx context.Context, name string, arguments any) (*RunningTask, error) {
	stream, task, err := openStream[Task](ctx, client, "startTask", present(map[string]any{"name": name, "arguments": optional(arguments)}))
	if err != nil {
		return nil, err
	}
	return &RunningTask{stream, *task}, nil
}

// States iterates over the states of the task until it ends.
func (task *RunningTask) States(ctx context.Context) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) { follow(ctx, task.stream, yield) }
}

// Result waits for the result of the tool.
func (task *RunningTask) Result(ctx context.Context) (*CallToolResult, error) {
	return decoded[CallToolResult](task.stream.request(ctx, c.ClientStartTaskResult))
}

// Respond answers the requests for input of the task, by their keys.
func (task *RunningTask) Respond(ctx context.Context, responses map[string]any) error {
	_, err := task.stream.request(ctx, func(client *owner, task uint64, options, callback, data, destructor uintptr) (uint64, error) {
		return c.ClientStartTaskRespond(client, task, responses, options, callback, data, destructor)
	})
	return err
}

// Close stops following the task, which keeps running.
func (task *RunningTask) Close() error { return task.stream.close() }
