package trunkline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// A record is written by another goroutine.
type written struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(text []byte) (int, error) {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.text.Write(text)
}

func (w *written) String() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.text.String()
}

func TestAFailureIsLoggedOnce(t *testing.T) {
	before, found := slog.Default(), &written{}
	slog.SetDefault(slog.New(slog.NewTextHandler(found, nil)))
	defer slog.SetDefault(before)
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "fail"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "", errors.New("the disk is full")
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "panic"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		panic("no such index")
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{})
	client = connected(t, client, err)
	for _, name := range []string{"fail", "panic"} {
		if result, err := client.CallTool(t.Context(), name, nil); err != nil || !result.IsError {
			t.Error(result, err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(found.String(), "no such index") && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	// A second record would follow at once.
	time.Sleep(100 * time.Millisecond)
	said := found.String()
	for _, reason := range []string{"the disk is full", "no such index"} {
		if count := strings.Count(said, reason); count != 1 {
			t.Errorf("%q is there %d times:\n%s", reason, count, said)
		}
	}
	if strings.Contains(said, "level=DEBUG") || strings.Contains(said, "level=INFO") {
		t.Error(said)
	}
}

func TestAProtocolErrorWithoutJSONIsLogged(t *testing.T) {
	before, found := slog.Default(), &written{}
	slog.SetDefault(slog.New(slog.NewTextHandler(found, nil)))
	defer slog.SetDefault(before)
	server := newServer(t)
	failures := map[string]error{
		"raw":   &trunkline.Error{Kind: trunkline.ErrProtocol, Code: -32000, Message: "raw", Data: json.RawMessage("oops")},
		"value": trunkline.NewProtocolError(-32000, "value", func() {}),
	}
	for name, failure := range failures {
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name}, func(context.Context, *trunkline.Call, struct{}) (string, error) { return "", failure }))
	}
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{})
	client = connected(t, client, err)
	for name := range failures {
		if result, err := client.CallTool(t.Context(), name, nil); err == nil && !result.IsError {
			t.Error(name, result)
		}
	}
	for _, reason := range []string{"unsupported type: func()", "data"} {
		for deadline := time.Now().Add(5 * time.Second); !strings.Contains(found.String(), reason) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(found.String(), reason) {
			t.Error(reason, found)
		}
	}
}

// A panicking is a handler of slog that is broken once.
type panicking struct {
	slog.Handler
	times *atomic.Int32
}

func (p panicking) Handle(ctx context.Context, record slog.Record) error {
	if p.times.Add(1) == 1 {
		panic("no")
	}
	return p.Handler.Handle(ctx, record)
}

func TestAPanicOfTheLogEndsNothing(t *testing.T) {
	before, found := slog.Default(), &written{}
	slog.SetDefault(slog.New(panicking{slog.NewTextHandler(found, nil), new(atomic.Int32)}))
	defer slog.SetDefault(before)
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "fail"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "", errors.New("the disk is full")
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{})
	client = connected(t, client, err)
	returns(t, "the log", func() {
		for !strings.Contains(found.String(), "the disk is full") {
			_, _ = client.CallTool(t.Context(), "fail", nil)
			time.Sleep(10 * time.Millisecond)
		}
	})
}
