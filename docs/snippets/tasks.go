// A tool called as a task: the client follows its status, then gets the result.
package main

import (
	"context"
	"fmt"
	"time"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type year struct {
	Year int `json:"year"`
}

func report(_ context.Context, call *trunkline.Call, given year) (string, error) {
	if err := call.SetTaskMessage("half of it is written"); err != nil {
		return "", err
	}
	time.Sleep(100 * time.Millisecond)
	return fmt.Sprintf("The report of %d", given.Year), nil
}

func main() {
	ctx := context.Background()
	options := trunkline.ServerOptions{TaskPollInterval: 50 * time.Millisecond}
	reports := trunkline.NewServer("reports", "1.0.0", options)
	defer reports.Close(ctx)
	descriptor := trunkline.Tool{Name: "report", Description: "Write the report of a year."}
	trunkline.Must(trunkline.AddTool(reports, descriptor, report, trunkline.ToolOptions{Task: trunkline.TaskSupportOptional}))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, reports))
	defer client.Close()
	task := trunkline.Must(client.StartTask(ctx, "report", year{2026}))
	defer task.Close()
	var last trunkline.TaskStatus
	for state, err := range task.States(ctx) {
		if err != nil {
			panic(err)
		}
		last = state.Status // with StatusMessage, for people
	}
	fmt.Println(last)
	fmt.Println(trunkline.Must(task.Result(ctx)).Content.Text())
}
