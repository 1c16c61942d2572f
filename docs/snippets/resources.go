// A resource, a resource template, and a client that reads both.
package main

import (
	"context"
	"errors"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

var notes = map[string]string{"today": "Buy milk.", "friday": "Call Ada."}

func index(context.Context, *trunkline.Call, string, map[string]string) (any, error) {
	return "today, friday", nil
}

func note(_ context.Context, _ *trunkline.Call, _ string, variables map[string]string) (any, error) {
	text, found := notes[variables["name"]]
	if !found {
		return nil, nil
	}
	return text, nil
}

func main() {
	ctx := context.Background()
	server := trunkline.NewServer("notes", "1.0.0")
	defer server.Close(ctx)
	trunkline.Must(server.AddResource(trunkline.Resource{
		Name:        "index",
		URI:         "notes://index",
		Description: "The names of all notes.",
		MIMEType:    "text/plain",
	}, index))
	trunkline.Must(server.AddResourceTemplate(trunkline.ResourceTemplate{
		Name:        "note",
		URITemplate: "notes://by-name/{name}",
		Description: "One note.",
		MIMEType:    "text/plain",
	}, note))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, server))
	defer client.Close()
	for _, resource := range trunkline.Must(client.ListResources(ctx)) {
		fmt.Println(resource.URI, resource.MIMEType)
	}
	for _, template := range trunkline.Must(client.ListResourceTemplates(ctx)) {
		fmt.Println(template.URITemplate)
	}
	for _, uri := range []string{"notes://index", "notes://by-name/friday"} {
		fmt.Println(trunkline.Must(client.ReadResource(ctx, uri)).Contents[0].Text)
	}
	_, err := client.ReadResource(ctx, "notes://by-name/monday")
	var failure *trunkline.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Kind, failure.Code)
	}
}
