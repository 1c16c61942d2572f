package trunkline_test

import (
	"context"
	"fmt"
	"runtime"
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
	case <-time.After(10 * time.Second):
		t.Fatal(what, "does not return")
	}
}

func TestALifespanUsesItsServerWhileItCloses(t *testing.T) {
	server := trunkline.Must(trunkline.NewServer("lifespan", "1.0.0", trunkline.ServerOptions{}))
	feature := trunkline.Must(server.AddResource(trunkline.Resource{Name: "x", URI: "test://x"}, func(context.Context, *trunkline.Call, string, map[string]string) (any, error) { return "x", nil }))
	closed := make(chan error, 1)
	if err := server.SetLifespan(nil, func() { closed <- feature.Remove() }); err != nil {
		t.Fatal(err)
	}
	client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{})
	connected(t, client, err)
	returns(t, "Close", func() { _ = server.Close(t.Context()) })
	<-closed
}

func TestALifespanUsesItsServerWhileItOpens(t *testing.T) {
	server := trunkline.Must(trunkline.NewServer("lifespan", "1.0.0", trunkline.ServerOptions{}))
	opening := make(chan struct{})
	err := server.SetLifespan(func() error {
		close(opening)
		// Close waits by now.
		time.Sleep(100 * time.Millisecond)
		return server.ListChanged("tools")
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if client, err := trunkline.ConnectMemory(t.Context(), server, trunkline.ClientOptions{}); err == nil {
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
