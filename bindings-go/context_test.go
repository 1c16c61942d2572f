package trunkline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

var errReason = errors.New("the reason")

// late has a tool that takes a while, and a channel that says that it began.
func late(t *testing.T) (*trunkline.Client, <-chan any) {
	t.Helper()
	server := newServer(t)
	began := make(chan any, 10)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "job"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		began <- ctx.Value(valueKey{})
		<-ctx.Done()
		return "", ctx.Err()
	}, trunkline.ToolOptions{Task: trunkline.TaskSupportOptional}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	return connected(t, client, err), began
}

func TestNothingIsSentForAContextThatHasEnded(t *testing.T) {
	client, began := late(t)
	ended, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(-time.Second), errReason)
	defer cancel()
	_, called := client.CallTool(ended, "job", nil)
	_, started := client.StartTask(ended, "job", nil)
	_, subscribed := client.Subscribe(ended, trunkline.SubscriptionFilter{Tools: true})
	_, connected := trunkline.Connect(ended, "http://127.0.0.1:1/mcp")
	for i, err := range []error{called, started, subscribed, connected} {
		if !errors.Is(err, trunkline.ErrCancelled) || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errReason) || err.Error() != errReason.Error() {
			t.Error(i, err)
		}
	}
	select {
	case <-began:
		t.Error("the tool was called")
	case <-time.After(50 * time.Millisecond):
	}
}

func TestATaskHasTheValuesOfItsContext(t *testing.T) {
	client, began := late(t)
	task, err := client.StartTask(context.WithValue(t.Context(), valueKey{}, "Ada"), "job", nil)
	if err != nil {
		t.Fatal(err)
	}
	if value := <-began; value != "Ada" {
		t.Error(value)
	}
	if err := task.Close(); err != nil {
		t.Error(err)
	}
}

func TestASubscriptionEndsWithItsContext(t *testing.T) {
	server := trunkline.NewServer("small", "1.0.0", trunkline.ServerOptions{MaxSubscriptionBytes: 1 << 10})
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	trunkline.Must(server.AddResource(trunkline.Resource{Name: "x", URI: "test://x"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return "x", nil }))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			_, err := client.Subscribe(ctx, trunkline.SubscriptionFilter{Resources: []string{"test://x"}})
			if err == nil {
				break
			}
			if !errors.Is(err, trunkline.ErrBusy) || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		cancel()
	}
}

func TestTheReasonOfACancellationMayBeAnyText(t *testing.T) {
	server := newServer(t)
	began, reason := make(chan struct{}), make(chan error, 1)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hold"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		close(began)
		<-ctx.Done()
		reason <- context.Cause(ctx)
		return "", ctx.Err()
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-began
		cancel(errors.New("no \xff"))
	}()
	if _, err := client.CallTool(ctx, "hold", nil); !errors.Is(err, trunkline.ErrCancelled) {
		t.Error(err)
	}
	select {
	case err := <-reason:
		if err.Error() != "no \uFFFD" {
			t.Errorf("%q", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the handler was not cancelled")
	}
}
