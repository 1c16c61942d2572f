package trunkline_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// A guarded server refuses requests until the user has logged in, which never happens.
func guarded(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	answer := func(path string, document map[string]any) {
		mux.HandleFunc(path, func(writer http.ResponseWriter, _ *http.Request) {
			writer.Header().Set("content-type", "application/json")
			_ = json.NewEncoder(writer).Encode(document)
		})
	}
	mux.HandleFunc("/mcp", func(writer http.ResponseWriter, _ *http.Request) {
		writer.Header().Set("www-authenticate", `Bearer resource_metadata="`+server.URL+`/.well-known/oauth-protected-resource/mcp"`)
		writer.WriteHeader(http.StatusUnauthorized)
	})
	answer("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}})
	answer("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"},
	})
	return server
}

func TestACancelledLoginFreesItsPort(t *testing.T) {
	server := guarded(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shown := make(chan string, 1)
	options := trunkline.ClientOptions{}
	options.Auth = trunkline.OAuthOptions{ClientID: "test"}
	options.OnOpenURL = func(_ context.Context, page *trunkline.AuthorizeRequest) error {
		shown <- page.URL
		cancel()
		return nil
	}
	_, err := trunkline.Connect(ctx, server.URL+"/mcp", options)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, trunkline.ErrCancelled) {
		t.Fatal(err)
	}
	page, err := url.Parse(<-shown)
	if err != nil {
		t.Fatal(err)
	}
	redirect, err := url.Parse(page.Query().Get("redirect_uri"))
	if err != nil || redirect.Port() == "" {
		t.Fatal(page, err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", redirect.Port()))
		if err == nil {
			_ = listener.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestTheUseOfSomethingClosedNamesIt(t *testing.T) {
	ctx := t.Context()
	server := trunkline.NewServer("closed", "1.0.0")
	other := trunkline.NewServer("other", "1.0.0")
	client := trunkline.Must(trunkline.ConnectMemory(ctx, other))
	if err := errors.Join(client.Close(), server.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	_, called := client.CallTool(ctx, "x", nil)
	_, proxied := other.Proxy(client)
	_, connected := trunkline.ConnectMemory(ctx, server)
	_, mounted := other.Mount("x", server)
	_, listening := server.Listen()
	_, grouped := trunkline.ConnectGroup(ctx, map[string]any{"x": client})
	_, member := trunkline.ConnectGroup(ctx, map[string]any{"x": server})
	for what, failures := range map[string][]error{"the client was closed": {called, proxied, grouped}, "the server was closed": {connected, mounted, listening, member}} {
		for i, err := range failures {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Error(what, i, err)
			}
		}
	}
	if !errors.Is(called, trunkline.ErrClosed) {
		t.Error(called)
	}
	if err := other.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestAGroupHasTheTargetsOfOtherClients(t *testing.T) {
	server := newServer(t)
	command := exec.Command(os.Args[0])
	command.Env = []string{"TRUNKLINE_TEST_SERVER=1", "TRUNKLINE_LIBRARY=" + os.Getenv("TRUNKLINE_LIBRARY"), "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
	shared := memory(t)
	group, err := trunkline.ConnectGroup(t.Context(), map[string]any{"command": command, "memory": server, "shared": shared})
	group = connected(t, group, err)
	later := memory(t)
	for name, target := range map[string]any{"later": later, "program": command} {
		if err := group.AddServer(t.Context(), name, target); err != nil {
			t.Fatal(name, err)
		}
	}
	for _, target := range []any{server, &exec.Cmd{Path: os.Args[0], Stdin: os.Stdin}} {
		if err := group.AddServer(t.Context(), "refused", target); !errors.Is(err, trunkline.ErrInvalidArgument) {
			t.Error(target, err)
		}
	}
	tools, err := group.ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	for _, name := range []string{"command__exit", "memory__weather", "shared__weather", "later__weather", "program__exit"} {
		if !strings.Contains(strings.Join(names, " "), name) {
			t.Error(name, names)
		}
	}
	if err := group.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := shared.ListTools(t.Context()); err != nil {
		t.Error("the group closed a client that it shares:", err)
	}
}

func TestWhatACommandCannotDoIsRefused(t *testing.T) {
	for word, change := range map[string]func(*exec.Cmd){
		"Stdin":      func(command *exec.Cmd) { command.Stdin = strings.NewReader("") },
		"Stderr":     func(command *exec.Cmd) { command.Stderr = io.Discard },
		"ExtraFiles": func(command *exec.Cmd) { command.ExtraFiles = []*os.File{os.Stdin} },
		"context":    func(command *exec.Cmd) { *command = *exec.CommandContext(t.Context(), os.Args[0]) },
		"Path":       func(command *exec.Cmd) { *command = *exec.Command("no-such-program") },
	} {
		command := exec.Command(os.Args[0])
		change(command)
		_, alone := trunkline.ConnectCommand(t.Context(), command)
		_, grouped := trunkline.ConnectGroup(t.Context(), map[string]any{"x": command})
		for _, err := range []error{alone, grouped} {
			if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), word) {
				t.Error(word, err)
			}
		}
	}
}

func TestNilIsRefusedOrEmpty(t *testing.T) {
	server := newServer(t)
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	_, alone := trunkline.ConnectCommand(t.Context(), nil)
	_, grouped := trunkline.ConnectGroup(t.Context(), map[string]any{"x": (*exec.Cmd)(nil)})
	_, skill := server.AddSkill(nil)
	for _, err := range []error{alone, grouped, skill} {
		if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), "nil") {
			t.Error(err)
		}
	}
	if err := client.SetRoots(nil); err != nil {
		t.Error(err)
	}
}

func TestACommandWritesItsErrorsToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", "pwd >&2; exit 1")
	command.Stderr, command.Dir = file, "/"
	_, err = trunkline.ConnectCommand(t.Context(), command)
	_ = file.Close()
	written, failed := os.ReadFile(path)
	if err == nil || failed != nil || !strings.HasPrefix(string(written), "/\n") {
		t.Error(err, failed, string(written))
	}
}

func TestClosingAClientInMemoryEndsItsCalls(t *testing.T) {
	server := newServer(t)
	began, ended := make(chan struct{}), make(chan error, 1)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hold"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	called := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), "hold", nil)
		called <- err
	}()
	<-began
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	for what, failure := range map[string]chan error{"handler": ended, "caller": called} {
		select {
		case err := <-failure:
			if err == nil {
				t.Error(what, "succeeded")
			}
		case <-time.After(30 * time.Second):
			t.Error(what, "goes on")
		}
	}
}

func TestAWriteTimeoutDoesNotEndAStream(t *testing.T) {
	server := newServer(t)
	handler, err := server.Handler()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewUnstartedServer(handler)
	web.Config.WriteTimeout = 200 * time.Millisecond
	web.Start()
	t.Cleanup(web.Close)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "later"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 2, "half")
		time.Sleep(600 * time.Millisecond)
		return "done", nil
	}))
	response, err := http.DefaultClient.Do(calling(t, web.URL, "later"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("content-type"); !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatal(kind, response.Status)
	}
	var said []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if all := strings.Join(said, "\n"); lines.Err() != nil || !strings.Contains(all, `"done"`) {
		t.Error(all, lines.Err())
	}
}

func TestMessagesNameOptionsAsInGo(t *testing.T) {
	page := trunkline.NewServer("x", "1", trunkline.ServerOptions{PageSize: -1}).ResourceUpdated("x://y")
	idle := trunkline.NewServer("x", "1", trunkline.ServerOptions{SessionIdle: -1}).ResourceUpdated("x://y")
	duplicate := trunkline.NewServer("x", "1", trunkline.ServerOptions{OnDuplicate: "maybe"}).ResourceUpdated("x://y")
	_, revision := trunkline.Connect(t.Context(), "http://127.0.0.1:1/mcp", trunkline.ClientOptions{Revision: "2020-01-01"})
	options := trunkline.ClientOptions{Auth: trunkline.OAuthOptions{Token: "x", ClientID: "y"}}
	_, auth := trunkline.Connect(t.Context(), "http://127.0.0.1:1/mcp", options)
	_, info := trunkline.Connect(t.Context(), "http://127.0.0.1:1/mcp", trunkline.ClientOptions{Info: trunkline.Implementation{Version: "1"}})
	for words, err := range map[string]error{"PageSize: ": page, "SessionIdle: ": idle, "OnDuplicate: must": duplicate, "Revision: ": revision, "ClientID is for OAuth and cannot be combined with `Token`": auth, "needs the strings name and version, which must not be empty": info} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Error(err)
		}
	}
}

func TestSeveralOptionsAreOne(t *testing.T) {
	server := newServer(t)
	report := func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		call.Progress(1, 2, "")
		return "reported", nil
	}
	restricted := trunkline.ToolOptions{Scopes: []string{"write"}}
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "report"}, report, restricted, trunkline.ToolOptions{Ui: "ui://report"}); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	reports := make(chan trunkline.Progress, 1)
	reporting := trunkline.RequestOptions{OnProgress: func(progress trunkline.Progress) { reports <- progress }}
	result, err := client.CallTool(t.Context(), "report", nil, reporting, trunkline.RequestOptions{Timeout: time.Minute})
	if err != nil || result.IsError {
		t.Fatal(result, err)
	}
	if progress := <-reports; progress.Progress != 1 {
		t.Error(progress)
	}
	tools, err := client.ListTools(t.Context())
	if err != nil || !strings.Contains(string(trunkline.Must(json.Marshal(tools))), "ui://report") {
		t.Error(tools, err)
	}
}

func TestMetadataIsFoundBelowAPrefix(t *testing.T) {
	server := newServer(t)
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	verifier := trunkline.Must(server.AddVerifier(func(context.Context, *trunkline.AccessToken) (*trunkline.Identity, error) { return nil, nil }))
	auth := trunkline.AuthOptions{Resource: web.URL + "/api/mcp", AuthorizationServers: []string{"https://login.example.com"}, Verifier: verifier}
	handler := trunkline.Must(server.Handler(trunkline.HTTPOptions{Path: "/mcp", Auth: auth}))
	mux.Handle("/api/", http.StripPrefix("/api", handler))
	get := func(address string) (*http.Response, string) {
		response, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(body)
	}
	refused, _ := get(web.URL + "/api/mcp")
	_, rest, _ := strings.Cut(refused.Header.Get("www-authenticate"), `resource_metadata="`)
	address, _, _ := strings.Cut(rest, `"`)
	if refused.StatusCode != http.StatusUnauthorized || !strings.HasPrefix(address, web.URL+"/api/") {
		t.Fatal(refused.Status, address)
	}
	if found, document := get(address); found.StatusCode != http.StatusOK || !strings.Contains(document, auth.Resource) {
		t.Error(address, found.Status, document)
	}
}

func TestAVerifierSeesTheRequest(t *testing.T) {
	server := newServer(t)
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	var later *trunkline.AccessToken
	verifier := trunkline.Must(server.AddVerifier(func(_ context.Context, token *trunkline.AccessToken) (*trunkline.Identity, error) {
		later = token
		info, err := token.Info()
		if err != nil || info.Headers["x-tenant"] != "weather" || info.Target != "/mcp?a=b" || info.RemoteAddress != "127.0.0.1" {
			t.Error(info, err)
		}
		return &trunkline.Identity{Subject: "ada", ExpiresAt: time.Now().Add(time.Hour)}, nil
	}))
	auth := trunkline.AuthOptions{Resource: web.URL + "/mcp", AuthorizationServers: []string{"https://login.example.com"}, Verifier: verifier}
	mux.Handle("/mcp", trunkline.Must(server.Handler(trunkline.HTTPOptions{Auth: auth})))
	var options trunkline.ClientOptions
	options.Headers = map[string]string{"X-Tenant": "weather", "Authorization": "Bearer secret"}
	client, err := trunkline.Connect(t.Context(), web.URL+"/mcp?a=b", options)
	connected(t, client, err)
	if _, err := later.Info(); err == nil {
		t.Error("the request outlives its verifier")
	}
	if _, err := new(trunkline.AccessToken).Info(); !errors.Is(err, trunkline.ErrInvalidArgument) {
		t.Error(err)
	}
}

func TestAGroupHearsOfEachChangeOnce(t *testing.T) {
	server := newServer(t)
	heard := make(chan struct{}, 10)
	options := trunkline.ClientOptions{}
	options.OnToolsChanged = func() { heard <- struct{}{} }
	group, err := trunkline.ConnectGroup(t.Context(), map[string]any{"memory": server}, options)
	connected(t, group, err)
	if err := server.ListChanged(trunkline.CategoryTools); err != nil {
		t.Fatal(err)
	}
	<-heard
	select {
	case <-heard:
		t.Error("the handler ran twice")
	case <-time.After(300 * time.Millisecond):
	}
}

func TestStandardErrorNeedsAPath(t *testing.T) {
	removed, failed := os.CreateTemp(t.TempDir(), "")
	_, pipe, err := os.Pipe()
	if err := errors.Join(failed, err, os.Remove(removed.Name())); err != nil {
		t.Fatal(err)
	}
	for _, file := range []*os.File{removed, pipe} {
		command := exec.Command(os.Args[0])
		command.Stderr = file
		_, err := trunkline.ConnectCommand(t.Context(), command)
		if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), "still at its path") {
			t.Error(file.Name(), err)
		}
	}
}

// The number of a descriptor may be that of another file when the program starts again.
func TestACommandThatStartsAgainWritesToTheSameFile(t *testing.T) {
	folder := t.TempDir()
	file, err := os.Create(filepath.Join(folder, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("sh", "-c", `echo started >&2; TRUNKLINE_TEST_SERVER=1 exec "$0"`, os.Args[0])
	command.Stderr = file
	client, err := trunkline.ConnectCommand(t.Context(), command, trunkline.ClientOptions{InheritEnv: true})
	client = connected(t, client, err)
	number := file.Fd()
	_ = file.Close()
	other, err := os.Create(filepath.Join(folder, "other"))
	if err != nil || other.Fd() != number {
		t.Skip("the system gives another number", err)
	}
	defer other.Close()
	_, _ = client.CallTool(t.Context(), "exit", nil)
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, failed := os.ReadFile(file.Name())
	if wrong, err := os.ReadFile(other.Name()); errors.Join(err, failed) != nil || len(wrong) > 0 || strings.Count(string(written), "started") != 2 {
		t.Errorf("%q %q %v %v", written, wrong, err, failed)
	}
}

func TestTheModeOfASocketIsOctal(t *testing.T) {
	server := newServer(t)
	for _, mode := range []string{"0o600", "rw", "68", "-1"} {
		_, err := server.Listen(trunkline.HTTPOptions{Unix: filepath.Join(t.TempDir(), "socket"), UnixMode: mode})
		if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), mode) {
			t.Error(mode, err)
		}
	}
	path := filepath.Join(t.TempDir(), "socket")
	trunkline.Must(server.Listen(trunkline.HTTPOptions{Unix: path, UnixMode: "0660"}))
	if found, err := os.Stat(path); err != nil || found.Mode().Perm() != 0o660 {
		t.Error(found, err)
	}
}

func TestAShortTimeIsNotZero(t *testing.T) {
	server := newServer(t)
	read := func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return "x", nil }
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "x", URI: "test://x"}, read, trunkline.ResourceOptions{TTL: time.Microsecond}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if result, err := client.Request(t.Context(), "resources/read", map[string]any{"uri": "test://x"}); err != nil || !strings.Contains(string(result), `"ttlMs":1`) {
		t.Error(string(result), err)
	}
}

// A server with half of the options must not be open to everyone.
func TestAuthWithoutAResourceIsRefused(t *testing.T) {
	server := trunkline.NewServer("server", "1.0.0")
	defer server.Close(t.Context())
	_, err := server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0), Auth: trunkline.AuthOptions{Scopes: []string{"read"}}})
	if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), "Resource is missing") {
		t.Error(err)
	}
}

func TestWhatIsNoTargetIsRefused(t *testing.T) {
	address, err := url.Parse("http://127.0.0.1:9/mcp")
	if err != nil {
		t.Fatal(err)
	}
	group, err := trunkline.ConnectGroup(t.Context(), map[string]any{})
	group = connected(t, group, err)
	for _, target := range []any{
		5, nil, address, true, "localhost:8000", "127.0.0.1:8000/mcp", "ftp://host/mcp", "http://", "", []string{}, map[string]any{}, map[string]any{"urls": "x"},
		(*trunkline.Client)(nil), (*trunkline.Server)(nil), json.RawMessage(`"http"`), json.RawMessage(`{`),
	} {
		_, grouped := trunkline.ConnectGroup(t.Context(), map[string]any{"x": target})
		added := group.AddServer(t.Context(), "x", target)
		for _, err := range []error{grouped, added} {
			if !errors.Is(err, trunkline.ErrInvalidArgument) {
				t.Errorf("%T %v: %v", target, target, err)
			}
		}
	}
	for _, target := range []any{map[string]any{"comand": "x", "args": []string{}}, json.RawMessage(`{"args":[],"comand":"x"}`)} {
		if err := group.AddServer(t.Context(), "x", target); err == nil || !strings.Contains(err.Error(), `needs the member command or url, and has ["args" "comand"]`) {
			t.Error(err)
		}
	}
	if servers, err := group.Servers(t.Context()); err != nil || len(servers) != 0 {
		t.Error(servers, err)
	}
}

func TestAServerOfAGroupHasAnError(t *testing.T) {
	group, err := trunkline.ConnectGroup(t.Context(), map[string]any{"x": map[string]string{"url": "http://127.0.0.1:9/mcp"}})
	group = connected(t, group, err)
	servers, err := group.Servers(t.Context())
	if err != nil || len(servers) != 1 || !errors.Is(servers[0].Error, trunkline.ErrTransport) || !strings.Contains(servers[0].Error.Error(), "127.0.0.1:9") {
		t.Error(servers, err)
	}
}

func TestZeroValuesAreErrors(t *testing.T) {
	server := newServer(t)
	var client trunkline.Client
	var none trunkline.Server
	_, listed := client.ListTools(t.Context())
	_, info := client.Info()
	_, listened := none.Listen()
	_, connected := trunkline.ConnectMemory(t.Context(), nil)
	_, connectedToZero := trunkline.ConnectMemory(t.Context(), &none)
	_, transport := trunkline.ConnectTransport(t.Context(), nil)
	_, mounted := server.Mount("x", nil)
	_, proxied := server.Proxy(nil)
	for i, err := range []error{listed, info, listened, connected, connectedToZero, transport, mounted, proxied, client.Notify("x", nil)} {
		if !errors.Is(err, trunkline.ErrInvalidArgument) {
			t.Error(i, err)
		}
	}
	if err := errors.Join(client.Close(), none.Close(t.Context())); err != nil {
		t.Error(err)
	}
}

// The error of a server is that of whatever is done with it.
func TestAServerThatCannotBeMadeSaysSo(t *testing.T) {
	server, other := trunkline.NewServer("", "1.0.0"), newServer(t)
	none := func(context.Context, *trunkline.Call, struct{}) (string, error) { return "", nil }
	_, added := trunkline.AddTool(server, trunkline.Tool{Name: "x"}, none)
	_, connected := trunkline.ConnectMemory(t.Context(), server)
	_, grouped := trunkline.ConnectGroup(t.Context(), map[string]any{"x": server})
	_, handled := server.Handler()
	_, listening := server.Listen()
	_, mounted := other.Mount("x", server)
	_, checked := server.CheckStore(t.Context())
	for what, err := range map[string]error{
		"AddTool": added, "ConnectMemory": connected, "ConnectGroup": grouped, "Handler": handled, "Listen": listening, "Mount": mounted,
		"CheckStore": checked, "ListenAndServe": server.ListenAndServe(t.Context()), "ServeStdio": server.ServeStdio(t.Context()),
		"SetLifespan": server.SetLifespan(nil, nil), "ListChanged": server.ListChanged(trunkline.CategoryTools),
	} {
		if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), "Name must not be empty") {
			t.Error(what, err)
		}
	}
	if err := server.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Zero differs from the default where an option is a pointer, and is the default elsewhere.
func TestOptionsWhoseZeroIsNotTheirDefault(t *testing.T) {
	server := newServer(t)
	for name, row := range map[string]struct {
		options trunkline.HTTPOptions
		status  int
	}{
		"a path of its own": {trunkline.HTTPOptions{SSE: trunkline.Ptr("/events")}, http.StatusNotFound},
		"no path":           {trunkline.HTTPOptions{SSE: trunkline.Ptr("")}, http.StatusNotFound},
		"the default":       {trunkline.HTTPOptions{}, http.StatusOK},
	} {
		listener := trunkline.Must(server.Listen(row.options, trunkline.HTTPOptions{Port: trunkline.Ptr(0)}))
		ctx, cancel := context.WithCancel(t.Context())
		request := trunkline.Must(http.NewRequestWithContext(ctx, http.MethodGet, strings.Replace(listener.URL(), "/mcp", "/sse", 1), nil))
		request.Header.Set("Accept", "text/event-stream")
		response, err := http.DefaultClient.Do(request)
		cancel()
		if err != nil || response.StatusCode != row.status {
			t.Error(name, response, err)
		}
		if err := listener.Close(t.Context()); err != nil {
			t.Error(name, err)
		}
	}
	_, proxied := server.Proxy(memory(t), trunkline.ProxyOptions{MaxConnections: -1})
	if !errors.Is(proxied, trunkline.ErrInvalidArgument) || !strings.Contains(proxied.Error(), "MaxConnections: ") {
		t.Error(proxied)
	}
	for name, options := range map[string]trunkline.HTTPOptions{
		"Port": {Port: trunkline.Ptr(-1)}, "ReplayEvents": {ReplayEvents: trunkline.Ptr(-1)}, "WriteTimeout": {WriteTimeout: -1},
	} {
		if _, err := server.Listen(options); !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), name+": ") {
			t.Error(name, err)
		}
	}
}
