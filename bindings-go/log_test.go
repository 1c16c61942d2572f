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
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for _, name := range []string{"fail", "panic"} {
		if result, err := client.CallTool(t.Context(), name, nil); err != nil || !result.IsError {
			t.Error(result, err)
		}
	}
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(found.String(), "no such index") && time.Now().Before(deadline); {
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

func TestARecordHasFields(t *testing.T) {
	found := make(records, 1024)
	server := trunkline.NewServer("fields", "1.0.0", trunkline.ServerOptions{Logger: slog.New(slog.NewJSONHandler(found, nil))})
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "fail"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "", errors.New("the disk is full")
	}))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if result, err := client.CallTool(t.Context(), "fail", nil); err != nil || !result.IsError {
		t.Fatal(result, err)
	}
	returns(t, "the record", func() {
		for line := range found {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Error(line, err)
			}
			if record["msg"] != "a tool failed" {
				continue
			}
			for name, value := range map[string]any{"level": "ERROR", "target": "trunkline::server::handlers", "tool": "fail", "error": "the disk is full"} {
				if record[name] != value {
					t.Error(name, line)
				}
			}
			return
		}
	})
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
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	for name := range failures {
		if result, err := client.CallTool(t.Context(), name, nil); err == nil && !result.IsError {
			t.Error(name, result)
		}
	}
	for _, reason := range []string{"unsupported type: func()", "data"} {
		for deadline := time.Now().Add(30 * time.Second); !strings.Contains(found.String(), reason) && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		if !strings.Contains(found.String(), reason) {
			t.Error(reason, found)
		}
	}
}

// records is a log whose lines arrive one after the other.
type records chan string

func (r records) Write(line []byte) (int, error) {
	r <- string(line)
	return len(line), nil
}

func (r records) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

// next waits for a record with the words, and refuses those with others.
func (r records) next(t *testing.T, words, others string) {
	t.Helper()
	returns(t, "the record "+words, func() {
		for line := range r {
			if strings.Contains(line, others) {
				t.Errorf("%s is in the log of another one: %s", others, line)
			}
			if strings.Contains(line, words) {
				return
			}
		}
	})
}

func TestALoggerGetsTheRecordsOfItsServersAndClients(t *testing.T) {
	logs := map[string]records{}
	for _, name := range []string{"default", "first", "second", "client"} {
		logs[name] = make(records, 1024)
	}
	before := slog.Default()
	slog.SetDefault(logs["default"].logger())
	defer slog.SetDefault(before)
	server := func(name string, logger *slog.Logger) *trunkline.Server {
		made := trunkline.NewServer(name, "1.0.0", trunkline.ServerOptions{Logger: logger})
		t.Cleanup(func() { _ = made.Close(context.Background()) })
		trunkline.Must(trunkline.AddTool(made, trunkline.Tool{Name: "fail"}, func(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
			return "", errors.Join(call.Log(trunkline.LoggingLevelInfo, "", "hello"), errors.New("failure of the "+name))
		}))
		return made
	}
	var options trunkline.ClientOptions
	options.Logger = logs["client"].logger()
	options.OnLog = func(*trunkline.LogMessage) { panic("failure of the client") }
	options.LogLevel = trunkline.LoggingLevelInfo
	servers := map[string]*trunkline.Server{"default": server("default", nil), "first": server("first", logs["first"].logger()), "second": server("second", logs["second"].logger())}
	for name, server := range servers {
		inMemory, err := trunkline.ConnectMemory(t.Context(), server)
		inMemory = connected(t, inMemory, err)
		listener, err := server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)})
		if err != nil {
			t.Fatal(err)
		}
		overHTTP, err := trunkline.Connect(t.Context(), listener.URL(), options)
		overHTTP = connected(t, overHTTP, err)
		for _, client := range []*trunkline.Client{inMemory, overHTTP} {
			if result, err := client.CallTool(t.Context(), "fail", nil); err != nil || !result.IsError {
				t.Error(name, result, err)
			}
		}
	}
	for name, others := range map[string]string{"default": "first", "first": "second", "second": "default"} {
		for range 2 {
			logs[name].next(t, "failure of the "+name, "failure of the "+others)
		}
	}
	logs["client"].next(t, "failure of the client", "failure of the first")
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
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	returns(t, "the log", func() {
		for !strings.Contains(found.String(), "the disk is full") {
			_, _ = client.CallTool(t.Context(), "fail", nil)
			time.Sleep(10 * time.Millisecond)
		}
	})
}
