package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for range 20 {
		if _, err := client.CallTool(t.Context(), "early", nil); err != nil {
			t.Fatal(err)
		}
		call := <-late
		for deadline := time.Now().Add(30 * time.Second); call.StartTask() == nil || !errors.Is(call.StartTask(), trunkline.ErrClosed); {
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
	asked := make(chan struct{})
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "wonder"}, func(ctx context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		brief, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			<-asked
			cancel()
		}()
		_, err := trunkline.Elicit[struct{ Name string }](brief, call, "Who?")
		return fmt.Sprint(errors.Is(err, context.Canceled)), nil
	}))
	withdrawn := make(chan error, 1)
	options := trunkline.ClientOptions{Revision: "2025-11-25"}
	options.OnElicit = func(ctx context.Context, _ *trunkline.ElicitRequest) (*trunkline.ElicitResult, error) {
		close(asked)
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
	case <-time.After(30 * time.Second):
		t.Error("the client still asks")
	}
}

func TestArgumentsOfZerosAreSent(t *testing.T) {
	type light struct {
		On    bool     `json:"on"`
		Rooms []string `json:"rooms"`
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "light"}, func(_ context.Context, _ *trunkline.Call, given light) (string, error) {
		return fmt.Sprint(given.On), nil
	}, trunkline.ToolOptions{Task: trunkline.TaskSupportOptional}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	result, err := client.CallTool(t.Context(), "light", light{})
	if err != nil || result.Content.Text() != "false" {
		t.Error(result, err)
	}
	if on, err := trunkline.CallTool[bool](t.Context(), client, "light", light{}); err != nil || on {
		t.Error(on, err)
	}
	task, err := client.StartTask(t.Context(), "light", light{})
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	if result, err = task.Result(t.Context()); err != nil || result.Content.Text() != "false" {
		t.Error(result, err)
	}
}

func TestNothingIsAResultOfOnce(t *testing.T) {
	server := newServer(t)
	runs := 0
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "once"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		for range 2 {
			nothing, err := trunkline.Once(call, "nothing", func() (any, error) { runs++; return nil, nil })
			if nothing != nil || err != nil {
				return "", trunkline.ToolErrorf("%v %v", nothing, err)
			}
		}
		var kept map[string]any
		for range 2 {
			var err error
			kept, err = trunkline.Once(call, "map", func() (map[string]any, error) { return map[string]any{"none": nil}, nil })
			if err != nil {
				return "", trunkline.ToolErrorf("%v", err)
			}
		}
		return fmt.Sprint(kept), nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	result, err := client.CallTool(t.Context(), "once", nil)
	if err != nil || result.Content.Text() != "map[none:<nil>]" || runs != 1 {
		t.Error(result.Content.Text(), err, runs)
	}
}

func TestTheLastProgressIsReported(t *testing.T) {
	const reports = 300
	sent := make(chan struct{})
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "copy"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		for done := range reports {
			call.Progress(float64(done+1), reports, "")
			time.Sleep(time.Millisecond)
		}
		close(sent)
		return "done", nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	last := 0.0
	_, err = client.CallTool(t.Context(), "copy", nil, trunkline.RequestOptions{OnProgress: func(said trunkline.Progress) {
		if said.Progress <= last {
			t.Error(said.Progress, "after", last)
		}
		last = said.Progress
		<-sent
		time.Sleep(10 * time.Millisecond)
	}})
	if err != nil || last != reports {
		t.Error(last, err)
	}
}

func TestInvalidTextIsReplaced(t *testing.T) {
	server := newServer(t)
	for name, fail := range map[string]error{
		"text":     nil,
		"tool":     trunkline.ToolErrorf("bad \xff"),
		"invalid":  &trunkline.InvalidError{Path: "/a\xff", Message: "bad \xff"},
		"protocol": trunkline.NewProtocolError(42, "bad \xff", nil),
	} {
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
			call.Progress(1, 2, "bad \xff")
			return "bad \xff", fail
		}))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for _, name := range []string{"text", "tool", "invalid", "protocol"} {
		said := ""
		result, err := client.CallTool(t.Context(), name, nil, trunkline.RequestOptions{OnProgress: func(progress trunkline.Progress) { said = progress.Message }})
		got := fmt.Sprint(err)
		if err == nil {
			got = result.Content.Text()
		}
		if !strings.Contains(got, "bad \uFFFD") || said != "bad \uFFFD" {
			t.Errorf("%s %q %q", name, got, said)
		}
	}
}

func TestGoroutinesThatRunOnceTogetherShareItsValue(t *testing.T) {
	server := newServer(t)
	var charges atomic.Int64
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "pay"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		var paying sync.WaitGroup
		for range 3 {
			paying.Go(func() {
				number, err := trunkline.Once(call, "charge", func() (int64, error) {
					time.Sleep(20 * time.Millisecond)
					return charges.Add(1), nil
				})
				if number != 1 || err != nil {
					t.Error(number, err)
				}
			})
		}
		paying.Wait()
		return trunkline.Once(call, "outer", func() (string, error) {
			return trunkline.Once(call, "inner", func() (string, error) { return "paid", nil })
		})
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	result, err := client.CallTool(t.Context(), "pay", nil)
	if err != nil || result.Content.Text() != "paid" || charges.Load() != 1 {
		t.Error(result, err, charges.Load())
	}
}

func TestAStateThatArrivesAsItsContextEndsIsNotLost(t *testing.T) {
	server := trunkline.NewServer("test", "1.0.0", trunkline.ServerOptions{TaskPollInterval: time.Millisecond})
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	release := make(chan struct{})
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "job"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		<-release
		return "", nil
	}, trunkline.ToolOptions{Task: trunkline.TaskSupportRequired}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for i := range 300 {
		task, err := client.StartTask(t.Context(), "job", nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			release <- struct{}{}
			time.Sleep(time.Duration(i%30) * 100 * time.Microsecond)
			cancel()
		}()
		last := task.Task.Status
		for _, waiting := range []context.Context{ctx, t.Context()} {
			for state, err := range task.States(waiting) {
				if err == nil {
					last = state.Status
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		}
		if err := task.Close(); last != trunkline.TaskStatusCompleted || err != nil {
			t.Fatalf("the last state of task %d is lost: %s %v", i, last, err)
		}
	}
}

func TestASubscriptionSaysThatItsContextHasEnded(t *testing.T) {
	server := newServer(t)
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		changes, err := client.Subscribe(ctx, trunkline.SubscriptionFilter{Tools: true})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(i)*10*time.Microsecond, cancel)
		var end error
		for _, end = range changes {
		}
		if !errors.Is(end, context.Canceled) {
			t.Fatal(i, end)
		}
	}
}

// A brittleError panics when it is nil, as a mistaken handler returns it.
type brittleError struct{ said string }

func (e *brittleError) Error() string { return e.said }

func TestAnErrorThatPanicsFailsItsCallOnly(t *testing.T) {
	server := newServer(t)
	var ofTool *trunkline.ToolError
	for name, fail := range map[string]error{"own": (*brittleError)(nil), "tool": ofTool} {
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
			return "", fail
		}))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for _, name := range []string{"own", "tool"} {
		if result, err := client.CallTool(t.Context(), name, nil); err != nil || !result.IsError {
			t.Error(name, result, err)
		}
	}
}

func TestNilMembersArrive(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddRequestHandler(server, "com.acme/echo", func(_ context.Context, call *trunkline.Call, given json.RawMessage) (*string, error) {
		if err := call.Log("info", "", nil); err != nil {
			return nil, err
		}
		return nil, trunkline.NewProtocolError(42, string(given), map[string]any{"none": nil})
	}))
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, params json.RawMessage) (json.RawMessage, error) {
		return call.Next(ctx, map[string]any{"passed": nil, "given": params})
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	_, err = client.Request(t.Context(), "com.acme/echo", map[string]any{"none": nil})
	var failure *trunkline.Error
	if !errors.As(err, &failure) || !strings.Contains(failure.Message, `"none":null},"passed":null}`) || string(failure.Data) != `{"none":null}` {
		t.Errorf("%v %+v", err, failure)
	}
	if _, err := client.Request(t.Context(), "com.acme/echo", map[string]any(nil)); !errors.As(err, &failure) || failure.Code != 42 {
		t.Error(err)
	}
}

func TestAnIntegerMayHaveAFraction(t *testing.T) {
	type given struct {
		Count int64            `json:"count"`
		Lists map[string][]int `json:"lists"`
		Share float64          `json:"share"`
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "count"}, func(_ context.Context, _ *trunkline.Call, given given) (string, error) {
		return fmt.Sprint(given), nil
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for arguments, wanted := range map[string]string{
		`{"count":5.0,"lists":{"a":[1e3,7]},"share":0.5}`:             "{5 map[a:[1000 7]] 0.5}",
		`{"count":9007199254740993,"lists":{"a":[2.0]},"share":1e22}`: "{9007199254740993 map[a:[2]] 1e+22}",
	} {
		if result, err := client.CallTool(t.Context(), "count", json.RawMessage(arguments)); err != nil || result.Content.Text() != wanted {
			t.Error(arguments, result.Content.Text(), err)
		}
	}
	if result, err := client.CallTool(t.Context(), "count", json.RawMessage(`{"count":1e30,"lists":{},"share":0}`)); err != nil || !result.IsError {
		t.Error(result, err)
	}
}

func TestAnAbsentParameterOfAnInputIsLeftOut(t *testing.T) {
	options := trunkline.ClientOptions{Revision: "2025-11-25"}
	options.OnElicitURL = func(_ context.Context, asked *trunkline.ElicitURLRequest) (*trunkline.ElicitResult, error) {
		// Without one, the library makes it.
		if asked.ElicitationID == "" {
			return nil, errors.New("the request has no id")
		}
		return &trunkline.ElicitResult{Action: trunkline.ElicitActionAccept}, nil
	}
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "visit"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
		if info, err := call.Info(); err != nil || len(info.InputResponses) > 0 {
			return "visited", err
		}
		return "", trunkline.RequireInput(nil, trunkline.NewElicitURLInput("page", "Please visit", "https://example.com/", ""))
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, options)
	client = connected(t, client, err)
	if result, err := client.CallTool(t.Context(), "visit", nil); err != nil || result.Content.Text() != "visited" {
		t.Error(result, err)
	}
}
