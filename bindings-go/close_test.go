package trunkline_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// returns fails the test if a function does not return in time.
func returns(t *testing.T, what string, run func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		run()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal(what, "does not return")
	}
}

func TestDoneIsClosedWhenAClientHasEnded(t *testing.T) {
	lost := child(t)
	ends := map[string]*trunkline.Client{"lost": lost, "closed": memory(t)}
	for name, client := range ends {
		select {
		case <-client.Done():
			t.Error(name, "has ended before")
		default:
		}
	}
	if err := ends["closed"].Close(); err != nil {
		t.Error(err)
	}
	// The server exits.
	if _, err := lost.CallTool(t.Context(), "exit", nil); !errors.Is(err, trunkline.ErrTransport) {
		t.Error(err)
	}
	for name, client := range ends {
		returns(t, name, func() { <-client.Done() })
	}
	if new(trunkline.Client).Done() != nil {
		t.Error("a client that never was has ended")
	}
}

func TestALifespanUsesItsServerWhileItCloses(t *testing.T) {
	server := trunkline.NewServer("lifespan", "1.0.0")
	feature := trunkline.Must(server.AddResource(trunkline.Resource{Name: "x", URI: "test://x"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return "x", nil }))
	closed := make(chan error, 1)
	if err := server.SetLifespan(nil, func() { closed <- feature.Remove() }); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	returns(t, "Close", func() { _ = server.Close(t.Context()) })
	<-closed
}

func TestALifespanUsesItsServerWhileItOpens(t *testing.T) {
	server := trunkline.NewServer("lifespan", "1.0.0")
	opening := make(chan struct{})
	err := server.SetLifespan(func() error {
		close(opening)
		// Close waits by now.
		time.Sleep(100 * time.Millisecond)
		return server.ListChanged(trunkline.CategoryTools)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if client, err := trunkline.ConnectMemory(t.Context(), server); err == nil {
			_ = client.Close()
		}
	}()
	<-opening
	returns(t, "Close", func() { _ = server.Close(t.Context()) })
	<-ended
}

func TestAHandlerIsFreedWithItsFeature(t *testing.T) {
	server := newServer(t)
	add := func(name string, options ...trunkline.ToolOptions) (*trunkline.Feature, error, <-chan struct{}) {
		kept, freed := new([1 << 10]int), make(chan struct{})
		runtime.AddCleanup(kept, func(freed chan struct{}) { close(freed) }, freed)
		feature, err := trunkline.AddTool(server, trunkline.Tool{Name: name}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
			return fmt.Sprint(kept[0]), nil
		}, options...)
		return feature, err, freed
	}
	removed, err, ofRemoved := add("removed")
	if err != nil || removed.Remove() != nil {
		t.Fatal(err)
	}
	replaced, err, ofReplaced := add("replaced")
	if err != nil {
		t.Fatal(err)
	}
	if _, err, _ := add("replaced", trunkline.ToolOptions{Replaces: replaced}); err != nil {
		t.Fatal(err)
	}
	_, err, ofRefused := add("weather")
	if err == nil {
		t.Fatal("a second tool of one name")
	}
	for what, freed := range map[string]<-chan struct{}{"removed": ofRemoved, "replaced": ofReplaced, "refused": ofRefused} {
		returns(t, what, func() {
			for {
				runtime.GC()
				select {
				case <-freed:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
}

// held has listeners, each with a call that runs until it is let go.
func held(t *testing.T, listeners int, drain time.Duration) (server *trunkline.Server, opened []*trunkline.Listener, letGo func(), ended <-chan error) {
	t.Helper()
	server = trunkline.NewServer("held", "1.0.0", trunkline.ServerOptions{DrainDeadline: drain})
	running, going, outcomes := make(chan struct{}), make(chan struct{}), make(chan error, listeners)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "hold"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		running <- struct{}{}
		select {
		case <-going:
		case <-ctx.Done():
		}
		return "held", nil
	}))
	for range listeners {
		listener := trunkline.Must(server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)}))
		opened = append(opened, listener)
		client, err := trunkline.Connect(t.Context(), listener.URL())
		client = connected(t, client, err)
		go func() {
			_, err := client.CallTool(context.Background(), "hold", nil)
			outcomes <- err
		}()
		<-running
	}
	return server, opened, sync.OnceFunc(func() { close(going) }), outcomes
}

func TestClosingAServerWaitsForAListenerThatCloses(t *testing.T) {
	server, opened, letGo, ended := held(t, 1, 20*time.Second)
	closed := make(chan error, 2)
	go func() { closed <- opened[0].Close(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	go func() { closed <- server.Close(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	letGo()
	for what, failure := range map[string]<-chan error{"the call": ended, "one close": closed, "the other": closed} {
		if err := <-failure; err != nil {
			t.Error(what, err)
		}
	}
}

// A handler may call its own server, as a bystander in the same process would.
func TestClosingAServerKeepsItsClientsWhileCallsUseThem(t *testing.T) {
	server := trunkline.NewServer("server", "1.0.0")
	inside, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, inside, err)
	begun := make(chan struct{})
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "inner"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		close(begun)
		time.Sleep(200 * time.Millisecond)
		return "done", nil
	}))
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "outer"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		result, err := inside.CallTool(ctx, "inner", nil)
		if err != nil {
			return "", err
		}
		return result.Content.Text(), nil
	}))
	listener := trunkline.Must(server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)}))
	outside, err := trunkline.Connect(t.Context(), listener.URL())
	connected(t, outside, err)
	ended := make(chan error, 1)
	go func() {
		result, err := outside.CallTool(t.Context(), "outer", nil)
		if err == nil && result.Content.Text() != "done" {
			err = errors.New(result.Content.Text())
		}
		ended <- err
	}()
	<-begun
	if err := errors.Join(server.Close(t.Context()), <-ended); err != nil {
		t.Error(err)
	}
}

func TestTheContextOfASecondCloseCounts(t *testing.T) {
	server, opened, _, _ := held(t, 1, 20*time.Second)
	atOnce, cancel := context.WithCancel(t.Context())
	cancel()
	first := make(chan error, 1)
	go func() { first <- opened[0].Close(t.Context()) }()
	time.Sleep(50 * time.Millisecond)
	returns(t, "the second close", func() {
		if err := errors.Join(opened[0].Close(atOnce), <-first, server.Close(atOnce)); err != nil {
			t.Error(err)
		}
	})
}

func TestListenersShareTheDrainDeadline(t *testing.T) {
	const deadline = 2 * time.Second
	server, _, _, _ := held(t, 3, deadline)
	start := time.Now()
	if err := server.Close(t.Context()); err != nil || time.Since(start) > 2*deadline {
		t.Error(err, time.Since(start))
	}
}

func TestClosingClientsNeedsNoThreadForEach(t *testing.T) {
	server := newServer(t)
	for range 500 {
		client, err := trunkline.ConnectMemory(t.Context(), server)
		connected(t, client, err)
	}
	threads := pprof.Lookup("threadcreate")
	before := threads.Count()
	returns(t, "Close", func() { _ = server.Close(t.Context()) })
	if made := threads.Count() - before; made > 50 {
		t.Error(made, "threads")
	}
}

// A gateway connects to another server for as long as it is served itself.
func TestALifespanCallsOtherServers(t *testing.T) {
	behind, gateway := newServer(t), newServer(t)
	trunkline.Must(trunkline.AddTool(behind, trunkline.Tool{Name: "echo"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		return "heard", nil
	}))
	var upstream *trunkline.Client
	var said string
	err := gateway.SetLifespan(func() (err error) {
		upstream, err = trunkline.ConnectMemory(t.Context(), behind)
		if err == nil {
			var result *trunkline.CallToolResult
			if result, err = upstream.CallTool(t.Context(), "echo", nil); err == nil {
				said = result.Content.Text()
			}
		}
		return err
	}, func() { _ = upstream.Close() })
	if err != nil {
		t.Fatal(err)
	}
	returns(t, "a connection whose lifespan calls a server", func() {
		client, err := trunkline.ConnectMemory(t.Context(), gateway)
		if err == nil {
			err = client.Close()
		}
		if err != nil || said != "heard" {
			t.Error(said, err)
		}
	})
	if _, err := upstream.Info(); !errors.Is(err, trunkline.ErrClosed) {
		t.Fatal(err)
	}
}

func TestALifespanOfAMountedServer(t *testing.T) {
	outer, inner := newServer(t), newServer(t)
	var opened, closed int
	if err := inner.SetLifespan(func() error { opened++; return nil }, func() { closed++ }); err != nil {
		t.Fatal(err)
	}
	connect := func() *trunkline.Client {
		client, err := trunkline.ConnectMemory(t.Context(), outer)
		connected(t, client, err)
		return client
	}
	call := func(client *trunkline.Client) {
		t.Helper()
		if _, err := client.CallTool(t.Context(), "in__weather", map[string]any{"city": "Basel"}); err != nil {
			t.Fatal(err)
		}
	}
	counts := func(when string, wantOpened, wantClosed int) {
		t.Helper()
		if opened != wantOpened || closed != wantClosed {
			t.Fatal(when, opened, closed)
		}
	}
	client := connect()
	feature := trunkline.Must(outer.Mount("in", inner))
	counts("mounted while the outer server is used", 0, 0)
	call(client)
	counts("called", 1, 0)
	if err := inner.SetLifespan(nil, nil); !errors.Is(err, trunkline.ErrInvalidArgument) {
		t.Fatal(err)
	}
	other := connect()
	_ = client.Close()
	counts("one of two clients has ended", 1, 0)
	_ = feature.Remove()
	counts("unmounted while it is used", 1, 0)
	_ = other.Close()
	counts("nobody uses it", 1, 1)
	_ = connect().Close()
	counts("unmounted", 1, 1)
	trunkline.Must(outer.Mount("in", inner))
	client = connect()
	call(client)
	counts("mounted before", 2, 1)
	_ = inner.Close(t.Context())
	counts("its server was closed", 2, 2)
	_ = client.Close()
	counts("closed once", 2, 2)
}

func TestALifespanOfAMountedServerEndsWithTheServersAroundIt(t *testing.T) {
	outer, inner := newServer(t), newServer(t)
	closed := 0
	if err := inner.SetLifespan(nil, func() { closed++ }); err != nil {
		t.Fatal(err)
	}
	trunkline.Must(outer.Mount("in", inner))
	client, err := trunkline.ConnectMemory(t.Context(), outer)
	connected(t, client, err)
	if _, err := client.CallTool(t.Context(), "in__weather", map[string]any{"city": "Basel"}); err != nil {
		t.Fatal(err)
	}
	if err := outer.Close(t.Context()); err != nil || closed != 1 {
		t.Fatal(err, closed)
	}
}

func TestClosingAClientEndsItsStreams(t *testing.T) {
	server := newServer(t)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "task"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, trunkline.ToolOptions{Task: trunkline.TaskSupportOptional}))
	for range 60 {
		client, err := trunkline.ConnectMemory(t.Context(), server)
		client = connected(t, client, err)
		changes, err := client.Subscribe(t.Context(), trunkline.SubscriptionFilter{Tools: true})
		if err != nil {
			t.Fatal(err)
		}
		task, err := client.StartTask(t.Context(), "task", nil)
		if err != nil {
			t.Fatal(err)
		}
		var streams sync.WaitGroup
		streams.Go(func() {
			for range changes {
			}
		})
		streams.Go(func() {
			if _, err := task.Result(context.Background()); err == nil {
				t.Error("a task of a closed client has a result")
			}
		})
		time.Sleep(2 * time.Millisecond)
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		returns(t, "a stream", streams.Wait)
	}
}

func TestAContextEndsWhileALifespanOpens(t *testing.T) {
	server := trunkline.NewServer("opening", "1", trunkline.ServerOptions{DrainDeadline: 100 * time.Millisecond})
	opening, released, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	err := server.SetLifespan(func() error {
		close(opening)
		<-released
		return nil
	}, func() { close(closed) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-opening
		cancel()
	}()
	returns(t, "ListenAndServe", func() {
		if err := server.ListenAndServe(ctx, trunkline.HTTPOptions{Port: trunkline.Ptr(0)}); !errors.Is(err, context.Canceled) || !errors.Is(err, trunkline.ErrCancelled) {
			t.Error(err)
		}
	})
	close(released)
	returns(t, "the end of the lifespan", func() { <-closed })
	returns(t, "Close", func() { _ = server.Close(t.Context()) })
}
