package trunkline_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func TestACallThatHasReturnedIsClosed(t *testing.T) {
	server := newServer(t)
	late := make(chan *trunkline.Call, 1)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "early"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		late <- call
		return "done", nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{})
	client = connected(t, client, err)
	for range 20 {
		if _, err := client.CallTool(t.Context(), "early", nil); err != nil {
			t.Fatal(err)
		}
		call := <-late
		for deadline := time.Now().Add(5 * time.Second); call.StartTask() == nil || !errors.Is(call.StartTask(), trunkline.ErrClosed); {
			if time.Now().After(deadline) {
				t.Fatal("the call stays open")
			}
		}
		call.Progress(1, 2, "late")
		_, asked := call.Elicit(t.Context(), "late?", map[string]any{"type": "object"})
		_, once := trunkline.Once(call, "late", func() (int, error) { return 1, nil })
		_, next := call.Next(t.Context(), nil)
		_, info := call.Info()
		for i, err := range []error{asked, once, next, info, call.SetTaskMessage("late"), call.CloseStream()} {
			if !errors.Is(err, trunkline.ErrClosed) {
				t.Error(i, err)
			}
		}
	}
}

func TestARequestToTheClientEndsWithItsContext(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "wonder"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		brief, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, err := trunkline.Elicit[struct{ Name string }](brief, call, "Who?")
		return fmt.Sprint(errors.Is(err, context.DeadlineExceeded)), nil
	}))
	withdrawn := make(chan error, 1)
	options := trunkline.ClientOptions{Revision: "2025-11-25"}
	options.OnElicit = func(ctx context.Context, _ *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		<-ctx.Done()
		withdrawn <- ctx.Err()
		return nil, ctx.Err()
	}
	client, err := trunkline.ConnectMemory(t.Context(), server, options)
	client = connected(t, client, err)
	if said, err := trunkline.CallTool[string](t.Context(), client, "wonder", nil); err != nil || said != "true" {
		t.Error(said, err)
	}
	select {
	case <-withdrawn:
	case <-time.After(10 * time.Second):
		t.Error("the client still asks")
	}
}
