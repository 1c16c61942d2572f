// Notes that a model can write and read. Serves stdio; given a port, HTTP.
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"strings"
	"sync"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type note struct {
	Name string `json:"name" jsonschema:"A single word, such as groceries."`
	Text string `json:"text" jsonschema:"The note."`
}

// notebook keeps notes in their order. Handlers run at the same time, so it has a lock.
type notebook struct {
	server *trunkline.Server
	lock   sync.Mutex
	notes  []note
}

func (book *notebook) add(_ context.Context, _ *trunkline.Call, given note) (string, error) {
	book.lock.Lock()
	defer book.lock.Unlock()
	for _, earlier := range book.notes {
		if earlier.Name == given.Name {
			return "", trunkline.ToolErrorf("A note named %s already exists: choose another name.", given.Name)
		}
	}
	book.notes = append(book.notes, given)
	return "Saved " + given.Name + ".", book.server.ResourceUpdated("notes://all")
}

func (book *notebook) all(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
	book.lock.Lock()
	defer book.lock.Unlock()
	var lines []string
	for _, note := range book.notes {
		lines = append(lines, "- "+note.Name+": "+note.Text)
	}
	return strings.Join(lines, "\n"), nil
}

func plan(_ context.Context, _ *trunkline.Call, arguments map[string]string) (any, error) {
	return "Read notes://all and plan " + arguments["day"] + " accordingly.", nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("notes", "1.0.0", trunkline.ServerOptions{
		Instructions: "Keeps short notes for the user.",
	})
	book := &notebook{server: server}
	trunkline.Must(trunkline.AddTool(server, trunkline.Tool{Name: "add_note", Description: "Save a note under a name."}, book.add))
	trunkline.Must(server.AddResource(trunkline.Resource{
		Name:        "all",
		URI:         "notes://all",
		Description: "All notes.",
		MIMEType:    "text/markdown",
	}, book.all))
	trunkline.Must(server.AddPrompt(trunkline.Prompt{
		Name:        "plan",
		Description: "Plan a day with the notes.",
		Arguments:   []trunkline.PromptArgument{{Name: "day", Required: true}},
	}, plan))

	if err := serve(ctx, server); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, server *trunkline.Server) error {
	if len(os.Args) < 2 {
		return server.ServeStdio(ctx)
	}
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	return server.ListenAndServe(ctx, trunkline.HTTPOptions{Port: &port})
}
