package trunkline_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func TestVisibilityHidesFeatures(t *testing.T) {
	server := newServer(t)
	var shown sync.Map
	visible, err := server.AddVisibility(func(_ context.Context, _ *trunkline.Call, name string) (bool, error) {
		_, found := shown.Load(name)
		return found, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = trunkline.AddTool(server, trunkline.Tool{Name: "secret"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "seen", nil
	}, trunkline.ToolOptions{Visible: visible})
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	if _, err := client.CallTool(t.Context(), "secret", nil); !errors.Is(err, trunkline.ErrProtocol) {
		t.Fatal(err)
	}
	shown.Store("secret", true)
	if result, err := client.CallTool(t.Context(), "secret", nil); err != nil || result.Content.Text() != "seen" {
		t.Fatal(result, err)
	}
}

func TestALifespanOpensAndCloses(t *testing.T) {
	server := newServer(t)
	opened, closed := make(chan struct{}, 1), make(chan struct{}, 1)
	fails := errors.New("no database")
	err := server.SetLifespan(func() error {
		if fails != nil {
			return fails
		}
		opened <- struct{}{}
		return nil
	}, func() { closed <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	_, inMemory := trunkline.ConnectMemory(t.Context(), server)
	_, overHTTP := server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)})
	for _, err := range []error{inMemory, overHTTP} {
		if !errors.Is(err, trunkline.ErrTransport) || !errors.Is(err, fails) {
			t.Fatal(err)
		}
	}
	fails = nil
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	<-opened
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	<-closed
}

// A pipe connects a client to a server whose stream transport is the other end.
type pipe struct {
	toServer, toClient chan string
	closed             chan struct{}
	end                sync.Once
}

func (p *pipe) Connect(context.Context) error { return nil }

func (p *pipe) Send(ctx context.Context, message string) error {
	select {
	case p.toServer <- message:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipe) Receive(ctx context.Context) (string, error) {
	select {
	case message := <-p.toClient:
		return message, nil
	case <-p.closed:
		return "", io.EOF
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (p *pipe) Close(context.Context) error {
	p.end.Do(func() { close(p.closed) })
	return nil
}

func TestATransportOfTheProgram(t *testing.T) {
	transport := &pipe{toServer: make(chan string), toClient: make(chan string), closed: make(chan struct{})}
	go func() {
		for {
			select {
			case <-transport.toServer:
			case <-transport.closed:
				return
			}
			transport.toClient <- `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"piped","version":"1"}}}`
			// The connection ends with the second message, which asks for a response.
			<-transport.toServer
			<-transport.toServer
			_ = transport.Close(context.Background())
		}
	}()
	client, err := trunkline.ConnectTransport(t.Context(), transport, trunkline.ClientOptions{Revision: "2025-11-25", Reconnect: trunkline.Ptr(false)})
	connected(t, client, err)
	info, err := client.Info()
	if err != nil || info.ServerInfo.Name != "piped" {
		t.Fatal(info, err)
	}
	if err := client.Ping(t.Context()); !errors.Is(err, trunkline.ErrTransport) && !errors.Is(err, trunkline.ErrClosed) {
		t.Fatal(err)
	}
}

// A memoryStore keeps everything in maps, and expires nothing.
type memoryStore struct {
	lock  sync.Mutex
	texts map[string]string
	logs  map[string][]trunkline.StoredEntry
	last  int
	full  bool
}

func (s *memoryStore) Get(_ context.Context, key string) (string, bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	text, found := s.texts[key]
	return text, found, nil
}

func (s *memoryStore) Put(_ context.Context, key, text string, _ time.Duration) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.full {
		return &trunkline.StoreError{Kind: "full", Message: "no room"}
	}
	s.texts[key] = text
	return nil
}

func (s *memoryStore) PutIf(ctx context.Context, key string, expected *string, text string, keepFor time.Duration) (bool, error) {
	s.lock.Lock()
	current, found := s.texts[key]
	s.lock.Unlock()
	if found != (expected != nil) || found && current != *expected {
		return false, nil
	}
	return true, s.Put(ctx, key, text, keepFor)
}

func (s *memoryStore) Remove(_ context.Context, key string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.texts, key)
	delete(s.logs, key)
	return nil
}

func (s *memoryStore) Append(_ context.Context, log, entry string, maxEntries int, _ time.Duration) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.last++
	entries := append(s.logs[log], trunkline.StoredEntry{Position: s.last, Text: entry})
	s.logs[log] = entries[max(0, len(entries)-maxEntries):]
	return s.last, nil
}

func (s *memoryStore) Read(_ context.Context, log string, after, limit int, _ time.Duration) ([]trunkline.StoredEntry, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	var found []trunkline.StoredEntry
	for _, entry := range s.logs[log] {
		if entry.Position > after && len(found) < limit {
			found = append(found, entry)
		}
	}
	return found, nil
}

func TestAStoreOfTheProgramKeepsTasks(t *testing.T) {
	store := &memoryStore{texts: map[string]string{}, logs: map[string][]trunkline.StoredEntry{}}
	server := trunkline.NewServer("stored", "1.0.0", trunkline.ServerOptions{OwnStore: store})
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	_, err := trunkline.AddTool(server, trunkline.Tool{Name: "job"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "done", nil
	}, trunkline.ToolOptions{Task: trunkline.TaskSupportOptional})
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	task, err := client.StartTask(t.Context(), "job", nil)
	if err != nil || task.Task.TaskID == "" {
		t.Fatal(task, err)
	}
	if result, err := task.Result(t.Context()); err != nil || result.Content.Text() != "done" {
		t.Fatal(result, err)
	}
	store.lock.Lock()
	kept := len(store.texts) + len(store.logs)
	store.full = true
	store.lock.Unlock()
	if kept == 0 {
		t.Fatal("the store was not used")
	}
	if _, err := client.StartTask(t.Context(), "job", nil); err == nil {
		t.Fatal("a store that is full has room for a task")
	}
}

func TestAHandlerMustNotBeNil(t *testing.T) {
	server := newServer(t)
	_, tool := trunkline.AddTool[struct{}, string](server, trunkline.Tool{Name: "nil"}, nil)
	_, request := trunkline.AddRequestHandler[struct{}, string](server, "com.acme/nil", nil)
	_, resource := server.AddResource(trunkline.Resource{Name: "nil", URI: "nil://"}, nil)
	_, template := server.AddResourceTemplate(trunkline.ResourceTemplate{Name: "nil", URITemplate: "nil://{a}"}, nil)
	_, prompt := server.AddPrompt(trunkline.Prompt{Name: "nil"}, nil)
	_, completion := server.AddCompletion(nil, "a", nil)
	_, verifier := server.AddVerifier(nil)
	_, visibility := server.AddVisibility(nil)
	_, provider := server.AddProvider(trunkline.CategoryTools, func(context.Context, string) (any, string, error) { return nil, "", nil }, nil)
	_, middleware := server.Use(nil)
	for i, err := range []error{tool, request, resource, template, prompt, completion, verifier, visibility, provider, middleware} {
		if !errors.Is(err, trunkline.ErrInvalidArgument) || !strings.Contains(err.Error(), "is nil") {
			t.Error(i, err)
		}
	}
}

func TestAFeatureThatIsAlreadyEnabledSendsNothing(t *testing.T) {
	server := newServer(t)
	feature := trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "extra"}, func(context.Context, *trunkline.Call, struct{}) (string, error) { return "", nil }))
	changes := make(chan struct{}, 64)
	options := trunkline.ClientOptions{Revision: trunkline.RevisionChoice20251125}
	options.OnToolsChanged = func() { changes <- struct{}{} }
	client, err := trunkline.ConnectMemory(t.Context(), server, options)
	client = connected(t, client, err)
	// Notifications of a change arrive before those of the next one.
	for _, step := range []struct {
		enabled bool
		changes int
	}{{true, 0}, {true, 0}, {false, 1}, {false, 0}, {true, 1}, {true, 0}} {
		if err := feature.SetEnabled(step.enabled); err != nil {
			t.Fatal(err)
		}
		for range step.changes {
			select {
			case <-changes:
			case <-time.After(30 * time.Second):
				t.Fatal("no change was sent")
			}
		}
		tools, err := client.ListTools(t.Context())
		if err != nil || slices.ContainsFunc(tools, func(tool trunkline.Tool) bool { return tool.Name == "extra" }) != step.enabled {
			t.Error(tools, err)
		}
		select {
		case <-changes:
			t.Errorf("a change was sent without one: %+v", step)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
