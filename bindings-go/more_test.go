package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// A test that hangs ends with the stacks of all goroutines.
const testTimeout = "60s"

// The test program is also a server, for the tests that start one.
func TestMain(m *testing.M) {
	if os.Getenv("TRUNKLINE_TEST_SERVER") == "" {
		flag.Parse()
		if given := flag.Lookup("test.timeout").Value.String(); given == "0s" || given == "10m0s" {
			_ = flag.Set("test.timeout", testTimeout)
		}
		os.Exit(m.Run())
	}
	server := trunkline.NewServer("child", "1.0.0")
	_, err := trunkline.AddTool(server, trunkline.Tool{Name: "exit"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		os.Exit(3)
		return "", nil
	})
	if err == nil {
		err = server.ServeStdio(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T) *trunkline.Client {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = []string{"TRUNKLINE_TEST_SERVER=1"}
	client, err := trunkline.ConnectCommand(t.Context(), command, trunkline.ClientOptions{InheritEnv: true, Reconnect: trunkline.Ptr(false)})
	return connected(t, client, err)
}

func TestAChildServesItsStandardInput(t *testing.T) {
	client := child(t)
	tools, err := client.ListTools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Name != "exit" {
		t.Fatal(tools, err)
	}
}

func TestALibraryThatIsNotTrunklineIsAnError(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, words := range map[string][]string{
		// Present in every process.
		"libc.so.6":                        {"libc.so.6 is not the C library of Trunkline", "trunkline_plain_version", "TRUNKLINE_LIBRARY names it"},
		text:                               {"cannot be loaded", text, "TRUNKLINE_LIBRARY names it"},
		filepath.Join(t.TempDir(), "none"): {"cannot be loaded", "none", "TRUNKLINE_LIBRARY names it"},
		"":                                 {"cannot be loaded", "embeds no library", "trunkline_external", "set TRUNKLINE_LIBRARY"},
	} {
		command := exec.Command(os.Args[0])
		command.Dir = t.TempDir()
		command.Env = []string{"TRUNKLINE_TEST_SERVER=1", "TRUNKLINE_LIBRARY=" + path}
		said, err := command.CombinedOutput()
		for _, word := range words {
			if err == nil || strings.Contains(string(said), "goroutine") || !strings.Contains(string(said), word) {
				t.Errorf("%q: %v, without %q: %s", path, err, word, said)
			}
		}
	}
}

func TestALibraryNextToTheProgramThatCannotBeLoadedIsFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere, it has another name")
	}
	folder := t.TempDir()
	program, library := filepath.Join(folder, "program"), filepath.Join(folder, "libtrunkline.so."+trunkline.Version)
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(program, content, 0o700), os.WriteFile(library, []byte("no library"), 0o600)); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program)
	command.Env = []string{"TRUNKLINE_TEST_SERVER=1"}
	said, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(said), library+" is there") || strings.Contains(string(said), "embeds no library") {
		t.Error(err, string(said))
	}
}

func TestALibraryOfAnotherVersionIsRefused(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	source, library := filepath.Join(t.TempDir(), "old.c"), filepath.Join(t.TempDir(), "old.so")
	err = os.WriteFile(source, []byte(`const char *trunkline_plain_version(void) { return "0.0.1"; }`), 0o600)
	if err == nil {
		err = exec.Command(compiler, "-shared", "-fPIC", "-o", library, source).Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0])
	command.Env = []string{"TRUNKLINE_TEST_SERVER=1", "TRUNKLINE_LIBRARY=" + library}
	said, err := command.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(said), "the library of Trunkline "+library+" has version 0.0.1, the package "+trunkline.Version) {
		t.Error(string(said), err)
	}
}

func TestAnExitOfTheServerIsAnError(t *testing.T) {
	client := child(t)
	_, err := client.CallTool(t.Context(), "exit", nil)
	var failure *trunkline.Error
	if !errors.As(err, &failure) || failure.Kind != trunkline.ErrTransport && failure.Kind != trunkline.ErrClosed {
		t.Fatal(err)
	}
}

// The library runs one callback at a time, and a failed connection needs a turn to end.
func TestConnectionsFailBesideCallbacks(t *testing.T) {
	client := memory(t)
	done := make(chan struct{})
	var calls sync.WaitGroup
	calls.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_, _ = trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "Rome"})
			}
		}
	})
	for range 20 {
		if _, err := trunkline.Connect(t.Context(), "http://127.0.0.1:1/mcp"); !errors.Is(err, trunkline.ErrTransport) {
			t.Error(err)
		}
	}
	close(done)
	calls.Wait()
}

func TestMiddlewareSeesRequestsAndResults(t *testing.T) {
	server := newServer(t)
	var seen []string
	_, err := server.Use(func(ctx context.Context, call *trunkline.Call, method string, params json.RawMessage) (json.RawMessage, error) {
		seen = append(seen, method)
		return call.Next(ctx, nil)
	}, "tools/call")
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	if _, err := client.CallTool(t.Context(), "weather", city{City: "Bern"}); err != nil || len(seen) != 1 || seen[0] != "tools/call" {
		t.Fatal(seen, err)
	}
}

func TestPagesOfAListAreRequestsOfTheirOwn(t *testing.T) {
	server := trunkline.NewServer("paged", "1", trunkline.ServerOptions{PageSize: 1})
	for _, name := range []string{"one", "two"} {
		trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: name}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
			return name, nil
		}))
	}
	type key struct{}
	var seen []any
	trunkline.Must(server.Use(func(ctx context.Context, call *trunkline.Call, _ string, _ json.RawMessage) (json.RawMessage, error) {
		seen = append(seen, ctx.Value(key{}))
		return call.Next(context.WithValue(ctx, key{}, len(seen)), nil)
	}, "tools/list"))
	client, err := trunkline.ConnectMemory(t.Context(), server)
	client = connected(t, client, err)
	if tools, err := client.ListTools(t.Context()); err != nil || len(tools) != 2 || len(seen) != 2 || seen[0] != nil || seen[1] != nil {
		t.Error(tools, err, seen)
	}
}

func TestAPanicOfAHandlerIsAFailure(t *testing.T) {
	server := newServer(t)
	if _, err := trunkline.AddTool(server, trunkline.Tool{Name: "panic"}, func(context.Context, *trunkline.Call, struct{}) (string, error) {
		panic("no")
	}); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server)
	connected(t, client, err)
	result, err := client.CallTool(t.Context(), "panic", nil)
	if err != nil || !result.IsError {
		t.Fatal(result, err)
	}
}

func TestAPanicOfACallbackEndsNothing(t *testing.T) {
	server := newServer(t)
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{ClientHandlers: trunkline.ClientHandlers{
		OnResourcesChanged: func() { panic("no") },
	}})
	connected(t, client, err)
	if err := server.ListChanged(trunkline.CategoryResources); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = client.CallTool(ctx, "slow", nil, trunkline.RequestOptions{OnProgress: func(trunkline.Progress) {
		cancel()
		panic("no")
	}})
	if !errors.Is(err, trunkline.ErrCancelled) {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAHandlerThatEndsItsGoroutineLosesNoNotifications(t *testing.T) {
	server, heard := newServer(t), make(chan struct{}, 10)
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{ClientHandlers: trunkline.ClientHandlers{
		OnToolsChanged: func() {
			heard <- struct{}{}
			runtime.Goexit()
		},
	}})
	connected(t, client, err)
	for range 2 {
		if err := server.ListChanged(trunkline.CategoryTools); err != nil {
			t.Fatal(err)
		}
		returns(t, "the handler", func() { <-heard })
	}
}

// Calls have all of the deadline but its last fifth, in which they fail.
func TestACallThatNeverEndsFailsBeforeTheDrainDeadline(t *testing.T) {
	// Long enough for a busy machine.
	const deadline = 5 * time.Second
	server := trunkline.NewServer("test", "1.0.0", trunkline.ServerOptions{DrainDeadline: deadline})
	running, ended := make(chan struct{}), make(chan error, 1)
	_, err := trunkline.AddTool(server, trunkline.Tool{Name: "endless"}, func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		close(running)
		<-ctx.Done()
		return "", ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := server.Listen(trunkline.HTTPOptions{Port: trunkline.Ptr(0)})
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.Connect(t.Context(), listener.URL())
	connected(t, client, err)
	go func() {
		_, err := client.CallTool(context.Background(), "endless", nil)
		ended <- err
	}()
	<-running
	start := time.Now()
	closing := make(chan error, 1)
	go func() { closing <- server.Close(context.Background()) }()
	if err := <-ended; err == nil || time.Since(start) < deadline/2 || time.Since(start) >= deadline {
		t.Error(err, time.Since(start))
	}
	if err := <-closing; err != nil {
		t.Error(err)
	}
}

func TestClosingEndsRequests(t *testing.T) {
	server := newServer(t)
	client, err := trunkline.ConnectMemory(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := client.CallTool(context.Background(), "slow", nil, trunkline.RequestOptions{OnProgress: func(trunkline.Progress) { close(started) }})
		ended <- err
	}()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, trunkline.ErrClosed) {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()); err == nil {
		t.Fatal("a closed client answers")
	}
}

func TestTheGarbageCollectorMayRunAtAnyTime(t *testing.T) {
	client := memory(t)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if found, err := trunkline.CallTool[weather](t.Context(), client, "weather", city{City: "Kyiv"}); err != nil || found.City != "Kyiv" {
					t.Error(found, err)
				}
			}
		})
	}
	all.Wait()
	close(done)
}
