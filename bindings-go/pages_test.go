package trunkline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

// A paged transport is a server whose list of tools has a page for each cursor.
type paged struct {
	pipe
	revision string
	// The results of tools/list by cursor; that of the first page has none.
	first string
	pages map[string]string
}

func (p *paged) Send(_ context.Context, message string) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Cursor *string `json:"cursor"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(message), &request); err != nil || request.ID == nil {
		return err
	}
	result := "{}"
	switch request.Method {
	case "initialize":
		result = `{"protocolVersion":"` + p.revision + `","capabilities":{"tools":{}},"serverInfo":{"name":"paged","version":"1"}}`
	case "server/discover":
		result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"paged","version":"1"}}`
	case "tools/list":
		result = p.first
		if cursor := request.Params.Cursor; cursor != nil {
			result = p.pages[*cursor]
		}
		if p.revision == "2026-07-28" {
			result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + result[1:]
		}
	}
	p.toClient <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
	return nil
}

// page is a page with a tool.
func page(name, next string) string {
	return fmt.Sprintf(`{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]%s}`, name, next)
}

func TestAnEmptyCursorIsACursor(t *testing.T) {
	legacy, modern := trunkline.RevisionChoice20251125, trunkline.RevisionChoice20260728
	for name, given := range map[string]struct {
		revision trunkline.RevisionChoice
		first    string
		pages    map[string]string
		wanted   []string
		isError  bool
	}{
		"the last page has null":  {revision: modern, first: page("a", `,"nextCursor":null`), wanted: []string{"a"}},
		"an empty one in between": {revision: modern, first: page("a", `,"nextCursor":""`), pages: map[string]string{"": page("b", `,"nextCursor":"x"`), "x": page("c", "")}, wanted: []string{"a", "b", "c"}},
		"an empty one twice":      {revision: modern, first: page("a", `,"nextCursor":""`), pages: map[string]string{"": page("b", `,"nextCursor":""`)}, wanted: []string{"a"}, isError: true},
		// Revisions before 2026-07-28 do not say that it is one, and servers end their lists with it.
		"an old server": {revision: legacy, first: page("a", `,"nextCursor":"x"`), pages: map[string]string{"x": page("b", `,"nextCursor":""`)}, wanted: []string{"a", "b"}},
	} {
		transport := &paged{pipe{toClient: make(chan string, 16), closed: make(chan struct{})}, string(given.revision), given.first, given.pages}
		client, err := trunkline.ConnectTransport(t.Context(), transport, trunkline.ClientOptions{Revision: given.revision, Reconnect: trunkline.Ptr(false), Cache: trunkline.Ptr(false)})
		client = connected(t, client, err)
		var found []string
		for tool, failed := range client.Tools(t.Context()) {
			if err = failed; err != nil {
				break
			}
			found = append(found, tool.Name)
		}
		if !slices.Equal(found, given.wanted) || given.isError != errors.Is(err, trunkline.ErrTransport) {
			t.Error(name, found, err)
		}
	}
}

func TestAPageIsFetchedAtAnyCursor(t *testing.T) {
	transport := &paged{pipe{toClient: make(chan string, 16), closed: make(chan struct{})}, "2026-07-28", page("a", `,"nextCursor":""`), map[string]string{"": page("b", "")}}
	client, err := trunkline.ConnectTransport(t.Context(), transport, trunkline.ClientOptions{Revision: trunkline.RevisionChoice20260728, Cache: trunkline.Ptr(false)})
	client = connected(t, client, err)
	first, err := client.ListToolsPage(t.Context(), nil)
	if err != nil || first.NextCursor == nil || *first.NextCursor != "" {
		t.Fatal(first, err)
	}
	second, err := client.ListToolsPage(t.Context(), first.NextCursor)
	if err != nil || second.NextCursor != nil || second.Tools[0].Name != "b" {
		t.Error(second, err)
	}
}
