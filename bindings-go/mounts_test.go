package trunkline_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const (
	mountedAt = "/api/v1/mcp"
	// More than the buffers of sockets hold.
	largeBytes = 8_000_000
)

// frameworks serve a server at mountedAt. The middleware is that of the case; compress is what the
// framework has, or what programs write.
var frameworks = map[string]struct {
	route    func(handler func(path string) http.Handler, around func(http.Handler) http.Handler) http.Handler
	compress func(http.Handler) http.Handler
}{
	"net/http": {
		route: func(handler func(string) http.Handler, around func(http.Handler) http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/api/v1/", around(http.StripPrefix("/api/v1", handler("/mcp"))))
			return mux
		},
		compress: zipped,
	},
	"chi": {
		route: func(handler func(string) http.Handler, around func(http.Handler) http.Handler) http.Handler {
			router := chi.NewRouter()
			// The logger wraps the http.ResponseWriter.
			quiet := middleware.RequestLogger(&middleware.DefaultLogFormatter{Logger: discarding{}, NoColor: true})
			router.Use(quiet, middleware.Recoverer, around)
			router.Route("/api/v1", func(below chi.Router) { below.Mount("/mcp", handler("")) })
			return router
		},
		compress: middleware.Compress(5),
	},
}

type discarding struct{}

func (discarding) Print(...any) {}

// A zippedWriter compresses everything.
type zippedWriter struct {
	http.ResponseWriter
	zip *gzip.Writer
}

func (writer zippedWriter) Write(data []byte) (int, error) { return writer.zip.Write(data) }
func (writer zippedWriter) Unwrap() http.ResponseWriter    { return writer.ResponseWriter }
func (writer zippedWriter) FlushError() error {
	if err := writer.zip.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(writer.ResponseWriter).Flush()
}

func zipped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("content-encoding", "gzip")
		zip := gzip.NewWriter(writer)
		defer zip.Close()
		next.ServeHTTP(zippedWriter{writer, zip}, request)
	})
}

// A mountRow is a case of tests/mounts.json.
type mountRow struct {
	Name    string
	Play    string
	Tool    string
	Options struct {
		WriteTimeoutMs int
		JSON           bool
	}
	Seen map[string]any
	// Lacks has the frameworks that it does not apply to, and why.
	Lacks map[string]string
}

// An event happens once.
type event struct {
	once    sync.Once
	channel chan struct{}
}

func newEvent() *event { return &event{channel: make(chan struct{})} }

func (event *event) happen() { event.once.Do(func() { close(event.channel) }) }

func (event *event) hasHappened() bool {
	select {
	case <-event.channel:
		return true
	default:
		return false
	}
}

// await has a deadline far above what a slow machine needs.
func (event *event) await(t *testing.T, what string) {
	t.Helper()
	select {
	case <-event.channel:
	case <-time.After(30 * time.Second):
		t.Fatal(what, "is late")
	}
}

// A mountSite is a mounted server.
type mountSite struct {
	*testing.T
	server                       *trunkline.Server
	web                          *httptest.Server
	started, released, cancelled *event
	// The requests that reach the framework, and those that it has handled.
	begun, ended chan struct{}
}

type echoed struct {
	Text string `json:"text"`
}

// newSite listens, with the middleware of the case.
func newSite(t *testing.T, name string, row mountRow, around func(*mountSite) func(http.Handler) http.Handler) *mountSite {
	t.Helper()
	server := trunkline.NewServer("mounted", "1")
	site := &mountSite{T: t, server: server, started: newEvent(), released: newEvent(), cancelled: newEvent(), begun: make(chan struct{}, 100), ended: make(chan struct{}, 100)}
	waits := func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 0, "")
		site.started.happen()
		select {
		case <-site.released.channel:
			return "released", nil
		case <-ctx.Done():
			site.cancelled.happen()
			return "", ctx.Err()
		}
	}
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "waits"}, waits))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "large"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 0, "")
		return strings.Repeat("x", largeBytes), nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "fills"}, func(ctx context.Context, call *trunkline.Call, none struct{}) (string, error) {
		call.Progress(1, 2, strings.Repeat("x", largeBytes))
		return waits(ctx, call, none)
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "echo"}, func(_ context.Context, _ *trunkline.Call, given echoed) (string, error) {
		return given.Text, nil
	}))
	handler := func(path string) http.Handler {
		options := trunkline.HTTPOptions{Path: path, JSON: row.Options.JSON, WriteTimeout: time.Duration(row.Options.WriteTimeoutMs) * time.Millisecond}
		return trunkline.Must(server.Handler(options))
	}
	inside := func(next http.Handler) http.Handler { return next }
	if around != nil {
		inside = around(site)
	}
	application := frameworks[name].route(handler, inside)
	site.web = httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		site.begun <- struct{}{}
		defer func() { site.ended <- struct{}{} }()
		application.ServeHTTP(writer, request)
	}))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	site.web.Config.Protocols = protocols
	site.web.Start()
	t.Cleanup(func() {
		site.released.happen()
		atOnce, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Close(atOnce)
		site.web.CloseClientConnections()
		site.web.Close()
	})
	return site
}

func (site *mountSite) await(happened <-chan struct{}, what string) {
	site.Helper()
	select {
	case <-happened:
	case <-time.After(30 * time.Second):
		site.Fatal(what, "is late")
	}
}

// message is a call of 2026-07-28 or in a session.
func message(tool string, session string) string {
	meta := map[string]any{"progressToken": 1}
	if session == "" {
		const prefix = "io.modelcontextprotocol/"
		meta[prefix+"protocolVersion"] = "2026-07-28"
		meta[prefix+"clientInfo"] = map[string]any{"name": "difficult", "version": "1"}
		meta[prefix+"clientCapabilities"] = map[string]any{}
	}
	arguments := map[string]any{}
	if tool == "echo" {
		arguments["text"] = "echoed"
	}
	params := map[string]any{"name": tool, "arguments": arguments, "_meta": meta}
	return inJSONText(map[string]any{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
}

func inJSONText(value any) string { return string(trunkline.Must(json.Marshal(value))) }

func headersOf(tool, session string) map[string]string {
	headers := map[string]string{"accept": "application/json, text/event-stream", "content-type": "application/json"}
	switch session {
	case "":
		headers["mcp-protocol-version"], headers["mcp-method"], headers["mcp-name"] = "2026-07-28", "tools/call", tool
	case "none":
	default:
		headers["mcp-protocol-version"], headers["mcp-session-id"] = "2025-11-25", session
	}
	return headers
}

func (site *mountSite) request(ctx context.Context, method, path, tool, session, body string) *http.Request {
	site.Helper()
	request, err := http.NewRequestWithContext(ctx, method, site.web.URL+path, strings.NewReader(body))
	if err != nil {
		site.Fatal(err)
	}
	for name, value := range headersOf(tool, session) {
		request.Header.Set(name, value)
	}
	return request
}

// client has connections of its own.
func (site *mountSite) client(isHTTP2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!isHTTP2)
	protocols.SetUnencryptedHTTP2(isHTTP2)
	transport := &http.Transport{Protocols: protocols}
	site.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

func textOf(t *testing.T, response *http.Response) string {
	t.Helper()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// post calls a tool, and returns the response and its text.
func (site *mountSite) post(client *http.Client, tool string) (*http.Response, string) {
	site.Helper()
	response, err := client.Do(site.request(site.Context(), http.MethodPost, mountedAt, tool, "", message(tool, "")))
	if err != nil {
		site.Fatal(err)
	}
	return response, textOf(site.T, response)
}

func (site *mountSite) others(client *http.Client) string {
	site.Helper()
	response, text := site.post(client, "echo")
	if response.StatusCode == http.StatusOK && strings.Contains(text, "echoed") {
		return "served"
	}
	return fmt.Sprint(response.StatusCode, " ", text)
}

// raw opens a connection and sends a call with that length of its body, or only the start of it.
func (site *mountSite) raw(tool string, send, length int) (connection *net.TCPConn, rest string) {
	site.Helper()
	return site.rawWith("host: 127.0.0.1\r\nconnection: close\r\n", tool, send, length)
}

func (site *mountSite) rawWith(headers, tool string, send, length int) (connection *net.TCPConn, rest string) {
	site.Helper()
	dialed, err := net.Dial("tcp", site.web.Listener.Addr().String())
	if err != nil {
		site.Fatal(err)
	}
	connection = dialed.(*net.TCPConn)
	site.Cleanup(func() { _ = connection.Close() })
	// A large buffer takes long until it has room again.
	_ = connection.SetReadBuffer(256 << 10)
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	body := message(tool, "")
	if length == 0 {
		length = len(body)
	}
	if send >= 0 {
		body, rest = body[:send], body[send:]
	}
	head := "POST " + mountedAt + " HTTP/1.1\r\n" + headers + fmt.Sprintf("content-length: %d\r\n", length)
	for name, value := range headersOf(tool, "") {
		head += name + ": " + value + "\r\n"
	}
	if _, err := io.WriteString(connection, head+"\r\n"+body); err != nil {
		site.Fatal(err)
	}
	return connection, rest
}

func (site *mountSite) session() string {
	site.Helper()
	params := map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "legacy", "version": "1"}}
	hello := inJSONText(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
	response, err := site.client(false).Do(site.request(site.Context(), http.MethodPost, mountedAt, "", "none", hello))
	if err != nil {
		site.Fatal(err)
	}
	textOf(site.T, response)
	<-site.begun
	<-site.ended
	return response.Header.Get("mcp-session-id")
}

func outcome(text, wanted, name string) string {
	if strings.Contains(text, wanted) {
		return name
	}
	return text
}

type (
	seen      = map[string]any
	mountPlay = func(t *testing.T, framework string, row mountRow) seen
)

// Each play returns what its client sees.
var mountPlays = map[string]mountPlay{
	"stuck reader": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.raw(row.Tool, -1, 0)
		site.await(site.ended, "the end of the handler")
		others := site.others(site.client(false))
		cut, _ := io.ReadAll(connection)
		if !bytes.HasPrefix(cut, []byte("HTTP/1.1 200 ")) || len(cut) >= largeBytes {
			t.Error(len(cut), string(cut[:min(len(cut), 100)]))
		}
		found := seen{"response": "given up", "others": others}
		if row.Tool == "fills" {
			site.cancelled.await(t, "the cancellation")
			found["call"] = "cancelled"
		}
		return found
	},

	"stuck reader over HTTP/2": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		client := site.client(true)
		response, err := client.Do(site.request(t.Context(), http.MethodPost, mountedAt, row.Tool, "", message(row.Tool, "")))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		site.await(site.ended, "the end of the handler")
		others := site.others(client)
		if read, err := io.Copy(io.Discard, response.Body); err == nil {
			t.Error("the response looks complete after", read, "bytes")
		}
		return seen{"response": "given up", "others": others}
	},

	"slow reader": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.raw(row.Tool, -1, 0)
		read, last, buffer := 0, "", make([]byte, 64<<10)
		for {
			more, err := io.ReadFull(connection, buffer)
			read, last = read+more, last+string(buffer[:more])
			last = last[max(0, len(last)-5):]
			if err != nil {
				break
			}
			time.Sleep(40 * time.Millisecond)
		}
		if read > largeBytes && last == "0\r\n\r\n" {
			return seen{"response": "complete"}
		}
		return seen{"response": fmt.Sprintf("cut after %d bytes", read)}
	},

	"slow body": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, rest := site.raw(row.Tool, 20, 0)
		site.await(site.begun, "the request")
		others := site.others(site.client(false))
		_, _ = io.WriteString(connection, rest)
		text, _ := io.ReadAll(connection)
		return seen{"response": outcome(string(text), "echoed", "complete"), "others": others}
	},

	"body beyond the limit": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.raw(row.Tool, 0, 2*largeBytes)
		go func() { _, _ = io.WriteString(connection, strings.Repeat(" ", largeBytes)) }()
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		return seen{"status": float64(response.StatusCode), "started": site.started.hasHappened()}
	},

	"body that never comes": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.rawWith("host: evil.example\r\n", row.Tool, 0, 10)
		// Earlier than the core gives up the body.
		_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		site.await(site.begun, "the request")
		site.await(site.ended, "the end of the handler")
		// Neither of them waits for the body.
		_ = site.server.Close(t.Context())
		ending, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := site.web.Config.Shutdown(ending); err != nil {
			t.Error(err)
		}
		return seen{"status": float64(response.StatusCode), "open": float64(len(site.begun))}
	},

	"gone within its body": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.raw(row.Tool, 20, 0)
		site.await(site.begun, "the request")
		_ = connection.Close()
		site.await(site.ended, "the end of the handler")
		// A closing server would wait for open requests.
		_ = site.server.Close(t.Context())
		return seen{"started": site.started.hasHappened(), "open": float64(len(site.begun))}
	},

	// HTTP-24
	"gone": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		connection, _ := site.raw(row.Tool, -1, 0)
		site.started.await(t, "the call")
		_ = connection.Close()
		site.cancelled.await(t, "the cancellation")
		return seen{"call": "cancelled"}
	},

	// HTTP-22
	"legacy client gone": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		session := site.session()
		leaving, leave := context.WithCancel(t.Context())
		calling := site.request(leaving, http.MethodPost, mountedAt, row.Tool, session, message(row.Tool, session))
		go func() {
			if response, err := site.client(false).Do(calling); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
		site.started.await(t, "the call")
		leave()
		site.await(site.ended, "the end of the handler")
		if others := site.others(site.client(false)); others != "served" || site.cancelled.hasHappened() {
			t.Error(others, site.cancelled.hasHappened())
		}
		told := inJSONText(map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": 2}})
		response, err := site.client(false).Do(site.request(t.Context(), http.MethodPost, mountedAt, "", session, told))
		if err != nil || response.StatusCode != http.StatusAccepted {
			t.Fatal(response, err)
		}
		_ = response.Body.Close()
		site.cancelled.await(t, "the cancellation")
		return seen{"call": "cancelled by its message"}
	},

	"deadline": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, func(site *mountSite) func(http.Handler) http.Handler {
			return func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
					ctx, cancel := context.WithCancel(request.Context())
					defer cancel()
					// As middleware.Timeout of chi, but not by the clock.
					if request.Header.Get("mcp-name") == row.Tool {
						go func() {
							<-site.started.channel
							cancel()
						}()
					}
					next.ServeHTTP(writer, request.WithContext(ctx))
				})
			}
		})
		response, _ := site.post(site.client(false), row.Tool)
		site.cancelled.await(t, "the cancellation")
		return seen{"status": float64(response.StatusCode), "call": "cancelled", "others": site.others(site.client(false))}
	},

	"shutdown": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		session := site.session()
		stream, err := site.client(false).Do(site.request(t.Context(), http.MethodGet, mountedAt, "", session, ""))
		if err != nil {
			t.Fatal(err)
		}
		called := make(chan string, 1)
		go func() {
			_, text := site.post(site.client(false), row.Tool)
			called <- text
		}()
		site.started.await(t, "the call")
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_ = site.server.Close(context.Background())
		}()
		// The stream ends while the call still runs.
		textOf(t, stream)
		meanwhile, _ := site.post(site.client(false), "echo")
		site.released.happen()
		text := <-called
		site.await(closed, "the end of the server")
		// A client must not keep a connection to a server that serves no more.
		if later, _ := site.post(site.client(false), "echo"); later.StatusCode != http.StatusServiceUnavailable || !later.Close {
			t.Error(later.Status, later.Close)
		}
		connection := "keep-alive"
		if meanwhile.Close {
			connection = "close"
		}
		return seen{"stream": "ended", "call": outcome(text, "released", "complete"), "meanwhile": float64(meanwhile.StatusCode), "connection": connection}
	},

	"compression": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, func(*mountSite) func(http.Handler) http.Handler { return frameworks[framework].compress })
		// The client asks for compression, and undoes it.
		response, err := site.client(false).Do(site.request(t.Context(), http.MethodPost, mountedAt, row.Tool, "", message(row.Tool, "")))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		first, buffer := "", make([]byte, 4096)
		for !strings.Contains(first, "\n\n") {
			read, err := response.Body.Read(buffer)
			if first += string(buffer[:read]); err != nil {
				t.Fatal(first, err)
			}
		}
		site.released.happen()
		return seen{
			"events":       outcome(first, "notifications/progress", "at once"),
			"call":         outcome(textOf(t, response), "released", "complete"),
			"cacheControl": response.Header.Get("cache-control"),
		}
	},

	"prefix": func(t *testing.T, framework string, row mountRow) seen {
		site, found := newSite(t, framework, row, nil), seen{}
		for path := range row.Seen {
			response, err := site.client(false).Do(site.request(t.Context(), http.MethodPost, path, row.Tool, "", message(row.Tool, "")))
			if err != nil {
				t.Fatal(err)
			}
			textOf(t, response)
			found[path] = float64(response.StatusCode)
		}
		return found
	},

	"HTTP/2": func(t *testing.T, framework string, row mountRow) seen {
		site := newSite(t, framework, row, nil)
		client := site.client(true)
		response, _ := site.post(client, "echo")
		if response.ProtoMajor != 2 {
			t.Error(response.Proto)
		}
		leaving, leave := context.WithCancel(t.Context())
		calling := site.request(leaving, http.MethodPost, mountedAt, row.Tool, "", message(row.Tool, ""))
		go func() {
			if response, err := client.Do(calling); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
		site.started.await(t, "the call")
		leave()
		site.cancelled.await(t, "the cancellation")
		_ = site.server.Close(t.Context())
		meanwhile, _ := site.post(client, "echo")
		found := seen{"status": float64(response.StatusCode), "call": "cancelled", "meanwhile": float64(meanwhile.StatusCode), "connection": nil}
		if connection := meanwhile.Header.Get("connection"); connection != "" {
			found["connection"] = connection
		}
		return found
	},
}

// TestAServerInAFramework plays tests/mounts.json.
func TestAServerInAFramework(t *testing.T) {
	var rows []mountRow
	if err := json.Unmarshal(trunkline.Must(os.ReadFile("../tests/mounts.json")), &rows); err != nil {
		t.Fatal(err)
	}
	for framework := range frameworks {
		for _, row := range rows {
			t.Run(framework+": "+row.Name, func(t *testing.T) {
				if reason := row.Lacks[framework]; reason != "" {
					t.Skip(reason)
				}
				t.Parallel()
				if found := mountPlays[row.Play](t, framework, row); !reflect.DeepEqual(found, row.Seen) {
					t.Error(found)
				}
			})
		}
	}
}
