package trunkline

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A header is one of an HTTP message, in C.
type header struct{ name, value str }

// Handler returns an http.Handler that serves the endpoint. Values of a request's context reach the
// handlers of its calls. Paths in the options are relative to the path where it is mounted. If the
// context of a request ends before its response, the status is 504.
//
// The WriteTimeout of an http.Server, which limits whole responses, does not end event streams. The
// WriteTimeout of the options ends those whose client reads nothing for that time, and other
// responses, too, if the http.Server has no WriteTimeout. Middleware that wraps the
// http.ResponseWriter must have a method Unwrap, see [http.NewResponseController].
func (server *Server) Handler(options ...HTTPOptions) (http.Handler, error) {
	given := merged(options)
	listener, err := server.endpoint(given, c.ServerMountHttp)
	if err != nil {
		return nil, err
	}
	patience := time.Duration(orDefault(given.WriteTimeout, time.Minute)) * time.Millisecond
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		listener.serve(writer, request, patience)
	}), nil
}

// maxChunks is far above what the library sends without credit.
const maxChunks = 1 << 16

// An exchange is a request that the library answers.
type exchange struct {
	ctx    context.Context
	head   chan struct{}
	status int
	header http.Header
	chunks *queue[[]byte]
	// The response lacks its end.
	isCut atomic.Bool
}

func (exchange *exchange) begin(status int, headers []header) {
	exchange.status = status
	for _, header := range headers {
		exchange.header.Add(string(header.name.bytes()), string(header.value.bytes()))
	}
	close(exchange.head)
}

// end comes after the head, unless the exchange failed before.
func (exchange *exchange) end(isComplete bool) {
	select {
	case <-exchange.head:
		// The response may have been cut before.
		exchange.isCut.CompareAndSwap(false, !isComplete)
	default:
		exchange.begin(http.StatusInternalServerError, nil)
	}
	exchange.chunks.close()
}

// serve answers a request. A client may read nothing for as long as the patience lasts.
func (listener *Listener) serve(writer http.ResponseWriter, request *http.Request, patience time.Duration) {
	exchange := &exchange{ctx: request.Context(), head: make(chan struct{}), header: http.Header{}, chunks: newQueue[[]byte](maxChunks)}
	data := keep(exchange)
	defer forget(data)
	started, err := listener.start(request, data)
	if err != nil {
		// The server was closed: another process may serve a new connection.
		writer.Header().Set("Connection", "close")
		http.Error(writer, "Service Unavailable", http.StatusServiceUnavailable)
		return
	}
	defer c.HttpExchangeFree(started)
	isWhole, err := exchange.read(started, http.NewResponseController(writer), request.Body)
	if err != nil && !exchange.hasHead() && exchange.ctx.Err() == nil {
		c.HttpCancel(started)
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(writer, http.StatusText(status), status)
		return
	}
	exchange.respond(started, writer, request, isWhole, patience)
}

func (listener *Listener) start(request *http.Request, data handle) (uintptr, error) {
	headers := []header{{text("host"), text(request.Host)}}
	for name, values := range request.Header {
		for _, value := range values {
			headers = append(headers, header{text(name), text(value)})
		}
	}
	remote, _, err := net.SplitHostPort(request.RemoteAddr)
	if err != nil {
		// Middleware that reads the headers of a proxy leaves out the port.
		remote = request.RemoteAddr
	}
	// A link-local address has a zone.
	remote, _, _ = strings.Cut(remote, "%")
	if net.ParseIP(remote) == nil {
		// Peers at a Unix socket have none.
		remote = ""
	}
	return c.HttpRequest(&listener.owner, request.Method, request.URL.RequestURI(), unsafe.SliceData(headers), uintptr(len(headers)), remote,
		isEmpty(request.Body), callbacks.head, callbacks.chunk, callbacks.ended, data, 0)
}

// isEmpty says whether there is no body. Only that of a test is nil, made with http.NewRequest.
func isEmpty(body io.ReadCloser) bool { return body == nil || body == http.NoBody }

// restTimeout limits the rest of a body whose response is known. A client that is still sending may
// lose the response if the connection is dropped at once.
const restTimeout = 2 * time.Second

// read passes on the body of a request, and returns whether all of it was read. Once there is a
// response, or the context has ended, the rest has a deadline, which also applies when the
// http.Server discards it.
func (exchange *exchange) read(started uintptr, control *http.ResponseController, body io.ReadCloser) (isWhole bool, err error) {
	if isEmpty(body) {
		return true, nil
	}
	limit := func() { _ = control.SetReadDeadline(time.Now().Add(restTimeout)) }
	var watching sync.WaitGroup
	reading := make(chan struct{})
	watching.Go(func() {
		select {
		case <-exchange.head:
			limit()
		case <-exchange.ctx.Done():
			limit()
		case <-reading:
		}
	})
	isWhole, err = passOn(started, body)
	close(reading)
	watching.Wait()
	switch {
	case isWhole:
		// The http.Server reads on, to notice a client that disconnects.
		_ = control.SetReadDeadline(time.Time{})
	case err == nil:
		limit()
	}
	return isWhole, err
}

// passOn passes on a body until its end, or until the rest is not wanted.
func passOn(exchange uintptr, body io.Reader) (isWhole bool, err error) {
	buffer := make([]byte, 32<<10)
	for {
		read, err := body.Read(buffer)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return false, err
		}
		wanted, refused := c.HttpBody(exchange, unsafe.SliceData(buffer), uintptr(read), end)
		if refused != nil || end || !wanted {
			return end, nil
		}
	}
}

func (exchange *exchange) hasHead() bool {
	select {
	case <-exchange.head:
		return true
	default:
		return false
	}
}

// isStream says whether the response, whose head is known, is an event stream.
func (exchange *exchange) isStream() bool {
	return strings.HasPrefix(exchange.header.Get("Content-Type"), "text/event-stream")
}

func (exchange *exchange) respond(started uintptr, writer http.ResponseWriter, request *http.Request, isWhole bool, patience time.Duration) {
	ctx := exchange.ctx
	select {
	case <-exchange.head:
	case <-ctx.Done():
	}
	if !exchange.hasHead() {
		// The deadline may be one of middleware, while the client still waits.
		http.Error(writer, http.StatusText(http.StatusGatewayTimeout), http.StatusGatewayTimeout)
		return
	}
	if !isWhole {
		// A read that fails after its deadline ends the context, but the client waits for its response.
		ctx = context.WithoutCancel(ctx)
	}
	defer context.AfterFunc(ctx, exchange.chunks.close)()
	for name, values := range exchange.header {
		// A wrapper may have set some. These have one value.
		if name == "Content-Type" || name == "Access-Control-Allow-Origin" {
			writer.Header().Del(name)
		}
		writer.Header()[name] = append(writer.Header()[name], values...)
	}
	sender := sender{writer: writer, control: http.NewResponseController(writer), patience: patience}
	if web, isKnown := request.Context().Value(http.ServerContextKey).(*http.Server); isKnown {
		sender.whole = web.WriteTimeout
	}
	sender.setsDeadlines = exchange.isStream() || sender.whole <= 0
	writer.WriteHeader(exchange.status)
	// The first event may be long in coming.
	if exchange.isStream() && sender.send(nil) != nil {
		return
	}
	for {
		chunk, open := exchange.chunks.get()
		if ctx.Err() != nil || !open && !exchange.isCut.Load() {
			sender.end()
			return
		}
		if !open {
			// The client must not take it for complete.
			panic(http.ErrAbortHandler)
		}
		if sender.send(chunk) != nil {
			return
		}
		c.HttpCredit(started, uintptr(len(chunk)))
	}
}

// maxWriteBytes is what a client must read while a write may take.
const maxWriteBytes = 32 << 10

// A sender writes a response to a client, which may read nothing.
type sender struct {
	writer  http.ResponseWriter
	control *http.ResponseController
	// patience is the time that a write may take.
	patience time.Duration
	// whole is the time for a whole response, from http.Server.WriteTimeout.
	whole time.Duration
	// setsDeadlines is false if the http.Server limits the response.
	setsDeadlines bool
}

// send writes and flushes a chunk. Between chunks, a stream may be silent for any time.
func (sender *sender) send(chunk []byte) error {
	for piece := range slices.Chunk(chunk, maxWriteBytes) {
		sender.allow(sender.patience)
		if _, err := sender.writer.Write(piece); err != nil {
			return err
		}
	}
	sender.allow(sender.patience)
	if err := sender.control.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	sender.allow(0)
	return nil
}

// end leaves the last write, which the http.Server does, with a deadline.
func (sender *sender) end() { sender.allow(sender.whole) }

// allow sets the deadline of the connection for what is written next; 0 takes it away.
func (sender *sender) allow(duration time.Duration) {
	var deadline time.Time
	if duration > 0 {
		deadline = time.Now().Add(duration)
	}
	if sender.setsDeadlines {
		_ = sender.control.SetWriteDeadline(deadline)
	}
}
