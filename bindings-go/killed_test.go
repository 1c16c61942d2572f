//go:build !windows

package trunkline_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// Writing to the pipe of a process that was killed raises SIGPIPE, for which the runtime of Go has an
// action of its own: it ends the program.
func TestAKilledServerEndsRequestsAndNotTheProgram(t *testing.T) {
	for range 3 {
		client := child(t)
		info, err := client.Info()
		if err != nil || info.Pid == nil {
			t.Fatal(info, err)
		}
		process, err := os.FindProcess(*info.Pid)
		if err != nil {
			t.Fatal(err)
		}
		// The server reads nothing more, so that the library is writing when it is killed.
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		called := make(chan error, 1)
		go func() {
			_, err := client.CallTool(t.Context(), "exit", map[string]string{"long": strings.Repeat("x", 1<<20)})
			called <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if err := process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-called; !errors.Is(err, trunkline.ErrTransport) && !errors.Is(err, trunkline.ErrClosed) {
			t.Fatal(err)
		}
	}
}

// A client may be served, and stop the program, before the function that opened its transport returns.
func TestASignalWhileAServerOpensClosesIt(t *testing.T) {
	server := trunkline.NewServer("signalled", "1.0.0")
	closed := false
	err := server.SetLifespan(
		func() error { return syscall.Kill(os.Getpid(), syscall.SIGTERM) },
		func() { closed = true },
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.ListenAndServe(t.Context(), trunkline.HTTPOptions{Port: trunkline.Ptr(0)}); err != nil || !closed {
		t.Fatal(err, closed)
	}
}
