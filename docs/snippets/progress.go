// A tool that reports progress, and a client that cancels another one.
package main

import (
	"context"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type job struct {
	Files int `json:"files"`
}

func copyFiles(_ context.Context, call *trunkline.Call, given job) (string, error) {
	for number := 1; number <= given.Files; number++ {
		call.Progress(float64(number), float64(given.Files), fmt.Sprintf("file %d", number))
	}
	return fmt.Sprintf("%d files are copied.", given.Files), nil
}

func main() {
	ctx := context.Background()
	started, stopped := make(chan struct{}), make(chan struct{})
	watch := func(ctx context.Context, _ *trunkline.Call, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		fmt.Println("stopped watching")
		close(stopped)
		return "", ctx.Err()
	}
	files := trunkline.NewServer("files", "1.0.0")
	defer files.Close(ctx)
	trunkline.Must(trunkline.AddTool(files, trunkline.Tool{Name: "copy", Description: "Copy files."}, copyFiles))
	trunkline.Must(trunkline.AddTool(files, trunkline.Tool{
		Name:        "watch",
		Description: "Watch a folder until the caller cancels.",
	}, watch))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, files))
	defer client.Close()
	copied := trunkline.Must(client.CallTool(ctx, "copy", job{2}, trunkline.RequestOptions{
		// Reports may be skipped if they arrive too fast, except the last.
		OnProgress: func(report trunkline.Progress) {
			if report.Progress == *report.Total {
				fmt.Printf("%v of %v: %s\n", report.Progress, *report.Total, report.Message)
			}
		},
	}))
	fmt.Println(copied.Content.Text())

	watching, cancel := context.WithCancel(ctx)
	go func() {
		<-started
		cancel()
	}()
	if _, err := client.CallTool(watching, "watch", nil); err == nil {
		panic("the call was not cancelled")
	}
	<-stopped
}
