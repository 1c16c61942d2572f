package trunkline

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
)

func isUsed(logger *slog.Logger) bool {
	ports.Lock()
	defer ports.Unlock()
	return ports.used[logger] != nil
}

// The port of a logger ends with its last member, whatever is in flight, and is made again.
func TestThePortOfALoggerEndsWithItsMembers(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	for range 3 {
		server := NewServer("test", "1.0.0", ServerOptions{Logger: logger})
		called, ended := make(chan struct{}), make(chan error, 1)
		Must(AddTool(server, Tool{Name: "wait"}, func(ctx context.Context, _ *Call, _ struct{}) (string, error) {
			called <- struct{}{}
			<-ctx.Done()
			return "", ctx.Err()
		}))
		listener := Must(server.Listen(HTTPOptions{Port: Ptr(0)}))
		client := Must(Connect(t.Context(), listener.URL(), ClientOptions{Logger: logger}))
		alone := slog.New(slog.DiscardHandler)
		other := Must(Connect(t.Context(), listener.URL(), ClientOptions{Logger: alone}))
		inMemory := Must(ConnectMemory(t.Context(), server))
		all := []*Client{client, other, inMemory}
		for _, client := range all {
			go func() {
				_, err := client.CallTool(context.Background(), "wait", nil)
				ended <- err
			}()
			<-called
		}
		for _, client := range all {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			select {
			case err := <-ended:
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("a call does not end with its client")
			}
		}
		if isUsed(alone) || !isUsed(logger) {
			t.Error("the port of a client stays, or that of the server has ended")
		}
		// The second close has nothing to leave.
		for range 2 {
			if err := server.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
		if isUsed(logger) {
			t.Error("the port of a server stays")
		}
	}
	for _, failed := range []error{
		errorOfConnect(Connect(t.Context(), "http://127.0.0.1:1/mcp", ClientOptions{Logger: logger})),
		errorOfConnect(Connect(t.Context(), "no URL", ClientOptions{Logger: logger})),
		errorOfConnect(Connect(t.Context(), "http://127.0.0.1:1/mcp", ClientOptions{Logger: logger, Proxy: "no URL"})),
	} {
		if failed == nil || isUsed(logger) {
			t.Error("the port of a failed client stays", failed)
		}
	}
	if err := NewServer("", "", ServerOptions{Logger: logger}).ListChanged(CategoryTools); err == nil || isUsed(logger) {
		t.Error("the port of a failed server stays", err)
	}
}

func errorOfConnect(_ *Client, err error) error { return err }

// A function of the library that waits runs the callbacks of its port as well. Ends are told all the same
// while a handler keeps the goroutine that dispatches.
func TestAShortHandlerThatBlocksHoldsUpNoEnd(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	server, slow := NewServer("test", "1.0.0", ServerOptions{Logger: logger}), NewServer("slow", "1.0.0", ServerOptions{Logger: logger})
	began, released, opening := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer server.Close(context.Background())
	defer slow.Close(context.Background())
	defer close(released)
	Must(AddTool(server, Tool{Name: "once"}, func(_ context.Context, _ *Call, given struct {
		Blocks bool `json:"blocks,omitempty"`
	}) (string, error) {
		if given.Blocks {
			began <- struct{}{}
			<-released
		}
		return "", nil
	}))
	if err := slow.SetLifespan(func() error { opening <- struct{}{}; <-released; return nil }, nil); err != nil {
		t.Fatal(err)
	}
	listener, other := Must(server.Listen(HTTPOptions{Port: Ptr(0)})), Must(server.Listen(HTTPOptions{Port: Ptr(0)}))
	client := Must(Connect(t.Context(), listener.URL()))
	defer client.Close()
	for range 20 {
		Must(client.CallTool(t.Context(), "once", nil))
	}
	go func() { _, _ = client.CallTool(context.Background(), "once", map[string]any{"blocks": true}) }()
	<-began
	go func() { _, _ = slow.Listen(HTTPOptions{Port: Ptr(0)}) }()
	<-opening
	ended := make(chan error, 1)
	go func() { ended <- other.Close(context.Background()) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the end of a listener is not told")
	}
}

// A handler that was short runs on the goroutine that dispatches. When it blocks or ends that goroutine,
// another one goes on.
func TestAShortHandlerThatBlocksHoldsUpNothing(t *testing.T) {
	server := NewServer("test", "1.0.0", ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	defer server.Close(context.Background())
	began, released := make(chan struct{}), make(chan struct{})
	type choice struct {
		Kind string `json:"kind,omitempty"`
		Text string `json:"text,omitempty"`
	}
	Must(AddTool(server, Tool{Name: "once"}, func(ctx context.Context, _ *Call, given choice) (string, error) {
		switch given.Kind {
		case "blocks":
			began <- struct{}{}
			<-released
		case "waits for its end":
			began <- struct{}{}
			<-ctx.Done()
		case "exits":
			runtime.Goexit()
		}
		return given.Kind, nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	listener := Must(server.Listen(HTTPOptions{Port: Ptr(0)}))
	client := Must(Connect(ctx, listener.URL()))
	defer client.Close()
	for _, kind := range []string{"blocks", "exits", "waits for its end", "blocks"} {
		for range 20 {
			Must(CallTool[string](ctx, client, "once", choice{}))
		}
		ended := make(chan error, 1)
		one, end := context.WithCancel(ctx)
		defer end()
		go func() {
			_, err := client.CallTool(one, "once", choice{Kind: kind})
			ended <- err
		}()
		if kind != "exits" {
			<-began
		}
		for _, length := range []int{0, 100_000, 0} {
			Must(CallTool[string](ctx, client, "once", choice{Text: strings.Repeat("a", length)}))
		}
		switch kind {
		case "blocks":
			released <- struct{}{}
		case "waits for its end":
			end()
		}
		if err := <-ended; (err != nil) != (kind == "waits for its end") {
			t.Error(kind, err)
		}
	}
}
