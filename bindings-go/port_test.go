package trunkline

import (
	"context"
	"errors"
	"log/slog"
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
			case <-time.After(10 * time.Second):
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
