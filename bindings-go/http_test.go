package trunkline_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// calling is an HTTP request that calls a tool, and asks for its progress.
func calling(t *testing.T, url, tool string) *http.Request {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool} {
		request.Header.Set(name, value)
	}
	return request
}

func TestABodyThatCannotBeReadIsRefused(t *testing.T) {
	handler := trunkline.Must(newServer(t).Handler())
	for wanted, body := range map[int]io.Reader{
		http.StatusRequestEntityTooLarge: http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("too long")), 3),
		http.StatusBadRequest:            io.MultiReader(strings.NewReader("{"), failingReader{}),
	} {
		request := calling(t, "http://127.0.0.1", "greet")
		request.Body = io.NopCloser(body)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != wanted {
			t.Error(wanted, answer.Code, answer.Body)
		}
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestADeadlineDoesNotWaitForTheBody(t *testing.T) {
	handler := trunkline.Must(newServer(t).Handler())
	reached := make(chan context.CancelFunc, 1)
	web := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		ctx, cancel := context.WithCancel(request.Context())
		reached <- cancel
		handler.ServeHTTP(writer, request.WithContext(ctx))
	}))
	t.Cleanup(web.Close)
	body, writing := io.Pipe()
	t.Cleanup(func() { _ = writing.Close() })
	request := calling(t, web.URL, "greet")
	request.Body, request.ContentLength = body, 10
	go func() { (<-reached)() }()
	response, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusGatewayTimeout {
		t.Error(response.Status)
	}
}

// A refusal often comes before the body, and the connection stays.
func TestARefusalKeepsItsConnection(t *testing.T) {
	web := httptest.NewServer(trunkline.Must(newServer(t).Handler()))
	t.Cleanup(web.Close)
	dialed := 0
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed++
		return new(net.Dialer).DialContext(ctx, network, address)
	}}}
	t.Cleanup(client.CloseIdleConnections)
	for range 100 {
		request := calling(t, web.URL, "greet")
		request.Host = "evil.example"
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusForbidden {
			t.Fatal(response.Status)
		}
	}
	if dialed != 1 {
		t.Error("connections:", dialed)
	}
}

func TestARequestMayHaveNoBody(t *testing.T) {
	handler := trunkline.Must(newServer(t).Handler())
	request := calling(t, "http://127.0.0.1", "greet")
	request.Method, request.Body = http.MethodDelete, nil
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusMethodNotAllowed {
		t.Error(answer.Code, answer.Body)
	}
}

func TestHeadersAddToThoseOfAWrapperUnlessTheyHaveOneValue(t *testing.T) {
	handler := trunkline.Must(newServer(t).Handler())
	request, answer := calling(t, "http://127.0.0.1", "greet"), httptest.NewRecorder()
	request.Header.Set("Origin", "http://localhost:3000")
	for name, value := range map[string]string{"Content-Type": "text/plain", "Access-Control-Allow-Origin": "*", "Vary": "Cookie"} {
		answer.Header().Set(name, value)
	}
	handler.ServeHTTP(answer, request)
	for name, wanted := range map[string][]string{"Content-Type": {"application/json"}, "Access-Control-Allow-Origin": {"http://localhost:3000"}, "Vary": {"Cookie", "Origin"}} {
		if found := answer.Header().Values(name); !slices.Equal(found, wanted) {
			t.Error(name, found)
		}
	}
}

func TestADeadlineOfMiddlewareIsAnError(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "wait"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}))
	handler := trunkline.Must(server.Handler())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, calling(t, "http://127.0.0.1", "wait").WithContext(ctx))
	if answer.Code != http.StatusGatewayTimeout {
		t.Error(answer.Code, answer.Body)
	}
}

func TestAPeerMayHaveAZone(t *testing.T) {
	handler := trunkline.Must(newServer(t).Handler())
	request := calling(t, "http://127.0.0.1", "greet")
	request.RemoteAddr = "[fe80::1%eth0]:4711"
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Error(answer.Code, answer.Body)
	}
}

func TestAPeerMayHaveNoPort(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "peer"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		info, err := call.Info()
		if err != nil {
			return "", err
		}
		return "from " + info.RemoteAddress, nil
	}))
	handler := trunkline.Must(server.Handler())
	for given, wanted := range map[string]string{"192.0.2.7": "from 192.0.2.7", "2001:db8::7": "from 2001:db8::7", "@": `"from "`, "localhost:80": `"from "`} {
		request, answer := calling(t, "http://127.0.0.1", "peer"), httptest.NewRecorder()
		request.RemoteAddr = given
		handler.ServeHTTP(answer, request)
		if !strings.Contains(answer.Body.String(), wanted) {
			t.Error(given, answer.Code, answer.Body)
		}
	}
}

func TestAStreamOpensBeforeItsFirstEvent(t *testing.T) {
	web := httptest.NewServer(trunkline.Must(newServer(t).Handler()))
	t.Cleanup(web.Close)
	send := func(method, session, body string) *http.Response {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		t.Cleanup(cancel)
		request, err := http.NewRequestWithContext(ctx, method, web.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("content-type", "application/json")
		request.Header.Set("accept", "application/json, text/event-stream")
		if session != "" {
			request.Header.Set("mcp-session-id", session)
			request.Header.Set("mcp-protocol-version", "2025-06-18")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	session := send(http.MethodPost, "", initialize).Header.Get("mcp-session-id")
	send(http.MethodPost, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if opened := send(http.MethodGet, session, ""); opened.StatusCode != http.StatusOK {
		t.Error(opened.Status)
	}
}

func TestACutResponseDoesNotLookComplete(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "huge"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 2, "half")
		return strings.Repeat("x", 64<<20), nil
	}))
	web := httptest.NewServer(trunkline.Must(server.Handler()))
	t.Cleanup(web.Close)
	response, err := http.DefaultClient.Do(calling(t, web.URL, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.CopyN(io.Discard, response.Body, 1<<20); err != nil {
		t.Fatal(err)
	}
	atOnce, cancel := context.WithCancel(t.Context())
	cancel()
	_ = server.Close(atOnce)
	read, err := io.Copy(io.Discard, response.Body)
	if err == nil {
		t.Error("the response looks complete after", read, "bytes")
	}
}

// stuck opens a connection that sends a request and reads nothing of the response. Buffer is how much of
// it the system reads.
func stuck(t *testing.T, address string, request *http.Request, buffer int) net.Conn {
	t.Helper()
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := errors.Join(connection.(*net.TCPConn).SetReadBuffer(buffer), request.Write(connection)); err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestAClientThatReadsNothingIsGivenUp(t *testing.T) {
	large := strings.Repeat("x", 16<<20)
	for name, given := range map[string]struct {
		options trunkline.HTTPOptions
		whole   time.Duration
	}{
		"a stream":                           {options: trunkline.HTTPOptions{WriteTimeout: 300 * time.Millisecond}},
		"a stream, limited as a whole":       {options: trunkline.HTTPOptions{WriteTimeout: 300 * time.Millisecond}, whole: time.Second},
		"a response":                         {options: trunkline.HTTPOptions{WriteTimeout: 300 * time.Millisecond, JSON: true}},
		"a response with a limit of its own": {options: trunkline.HTTPOptions{JSON: true}, whole: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "large"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
				call.Progress(1, 2, "half")
				return large, nil
			}))
			handler := trunkline.Must(server.Handler(given.options))
			var begun, ended sync.WaitGroup
			const clients = 3
			begun.Add(clients)
			ended.Add(clients)
			web := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
				begun.Done()
				defer ended.Done()
				handler.ServeHTTP(writer, request)
			}))
			web.Config.WriteTimeout = given.whole
			web.Start()
			t.Cleanup(web.Close)
			for range clients {
				stuck(t, web.Listener.Addr().String(), calling(t, web.URL, "large"), 4096)
			}
			begun.Wait()
			returns(t, "the handler", ended.Wait)
		})
	}
}

func TestAClientThatReadsSlowlyGetsEverything(t *testing.T) {
	// Longer than a busy machine keeps the reader waiting, and shorter than it takes.
	const writeTimeout = 1500 * time.Millisecond
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "large"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 2, "half")
		return strings.Repeat("x", 12<<20), nil
	}))
	handler := trunkline.Must(server.Handler(trunkline.HTTPOptions{WriteTimeout: writeTimeout}))
	web := httptest.NewUnstartedServer(handler)
	web.Config.WriteTimeout = writeTimeout
	web.Start()
	t.Cleanup(web.Close)
	connection := stuck(t, web.Listener.Addr().String(), calling(t, web.URL, "large"), 256<<10)
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	incoming := bufio.NewReader(connection)
	response, err := http.ReadResponse(incoming, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, buffer, start := 0, make([]byte, 64<<10), time.Now()
	for err == nil {
		var more int
		more, err = io.ReadFull(response.Body, buffer)
		read += more
		time.Sleep(15 * time.Millisecond)
	}
	if took := time.Since(start); read < 12<<20 || took < writeTimeout {
		t.Error(read, took, err)
	}
	// The connection has no deadline of the response that it has served.
	time.Sleep(writeTimeout + 100*time.Millisecond)
	if err := calling(t, web.URL, "greet").Write(connection); err != nil {
		t.Fatal(err)
	}
	if response, err := http.ReadResponse(incoming, nil); err != nil || response.StatusCode != http.StatusOK {
		t.Error(response, err)
	}
}
