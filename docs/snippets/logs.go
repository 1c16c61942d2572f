// Log messages for the client, and the library's own log.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

func backup(_ context.Context, call *trunkline.Call, _ struct{}) (string, error) {
	if err := call.Log(trunkline.LoggingLevelDebug, "", "looking for changes"); err != nil {
		return "", err
	}
	return "done", call.Log(trunkline.LoggingLevelInfo, "copier", map[string]int{"files": 3})
}

func main() {
	// Trunkline logs to the default logger of slog, or to the option Logger of a server or client.
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))

	ctx := context.Background()
	server := trunkline.NewServer("backup", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "backup", Description: "Back up all files."}, backup))

	arrived := make(chan string, 1)
	options := trunkline.ClientOptions{LogLevel: trunkline.LoggingLevelInfo}
	options.OnLog = func(message *trunkline.LogMessage) {
		if data, err := trunkline.Decode[map[string]int](message.Data); err == nil {
			arrived <- fmt.Sprintf("%s of the %s: %d files", message.Level, message.Logger, data["files"])
		}
	}
	client := trunkline.Must(trunkline.ConnectMemory(ctx, server, options))
	defer client.Close()
	result := trunkline.Must(client.CallTool(ctx, "backup", nil))
	fmt.Println(<-arrived)
	fmt.Println(result.Content.Text())
}
