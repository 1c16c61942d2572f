// A client that is notified when a resource changes, and when the list of tools does.
package main

import (
	"context"
	"fmt"
	"sync/atomic"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const uri = "notes://today"

var today atomic.Value

func read(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
	return today.Load(), nil
}

func clearNotes(context.Context, *trunkline.Call, struct{}) (string, error) {
	today.Store("")
	return "done", nil
}

func main() {
	ctx := context.Background()
	today.Store("Buy milk.")
	notes := trunkline.NewServer("notes", "1.0.0")
	defer notes.Close(ctx)
	trunkline.Must(notes.AddResource(trunkline.Resource{Name: "today", URI: uri, Description: "The note of today."}, read))
	tool := trunkline.Tool{Name: "clear", Description: "Forget all notes."}
	clearing := trunkline.Must(trunkline.AddTool(notes, tool, clearNotes))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, notes))
	defer client.Close()
	filter := trunkline.SubscriptionFilter{Resources: []string{uri}, Tools: true}
	changes := trunkline.Must(client.Subscribe(ctx, filter))
	today.Store("Call Ada.")
	if err := notes.ResourceUpdated(uri); err != nil {
		panic(err)
	}
	for change, err := range changes {
		if err != nil {
			panic(err)
		}
		if change.Kind != trunkline.ChangeKindResource {
			fmt.Println(change.Kind)
			break
		}
		fmt.Println(change.Kind, change.URI)
		fmt.Println(trunkline.Must(client.ReadResource(ctx, uri)).Contents[0].Text)
		if err := clearing.Remove(); err != nil {
			panic(err)
		}
	}
}
