// A host in the terminal: go run agent_host.go mcp.json
//
// It connects to every server in the configuration, lists their features, and calls the tools that
// the user names. Servers can ask the user in the terminal, and let the user log in with the
// browser.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

const help = `  NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
  read URI             reads a resource
  prompt NAME [JSON]   gets a prompt
`

func show(ctx context.Context, group *trunkline.Client) error {
	servers, err := group.Servers(ctx)
	if err != nil {
		return err
	}
	for _, server := range servers {
		fmt.Printf("%s: %s\n", server.Name, server.State)
		if server.Error != nil {
			fmt.Printf("  %s\n", server.Error)
		}
	}
	for tool, err := range group.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("tool %s: %s\n", tool.Name, tool.Description)
	}
	for resource, err := range group.Resources(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("resource %s: %s\n", resource.URI, resource.Name)
	}
	for prompt, err := range group.Prompts(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("prompt %s: %s\n", prompt.Name, prompt.Description)
	}
	return nil
}

func run(ctx context.Context, group *trunkline.Client, line string) error {
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "read":
		result, err := group.ReadResource(ctx, rest)
		if err != nil {
			return err
		}
		return showJSON(result.Contents)
	case "prompt":
		name, rest, _ := strings.Cut(rest, " ")
		given := map[string]string{}
		if err := json.Unmarshal([]byte(cmp.Or(rest, "{}")), &given); err != nil {
			return err
		}
		result, err := group.GetPrompt(ctx, name, given)
		if err != nil {
			return err
		}
		return showJSON(result.Messages)
	default:
		result, err := group.CallTool(ctx, name, json.RawMessage(cmp.Or(rest, "{}")))
		if err != nil {
			return err
		}
		return showJSON(result.Content)
	}
}

func showJSON[T any](items []T) error {
	for _, item := range items {
		if block, isText := any(item).(*trunkline.TextContent); isText {
			fmt.Println(block.Text)
			continue
		}
		encoded, err := json.Marshal(item)
		if err != nil {
			return err
		}
		fmt.Println(string(encoded))
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: agent_host mcp.json")
	}
	config, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var given struct {
		Servers map[string]any `json:"mcpServers"`
	}
	if err := json.Unmarshal(config, &given); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	// The program uses the terminal only between calls; during calls, TerminalForms may.
	group, err := trunkline.ConnectGroup(ctx, given.Servers, trunkline.ClientOptions{
		TerminalForms: true,
		Auth:          trunkline.OAuthOptions{ClientName: "Agent host", Store: "file"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer group.Close()
	if err := show(ctx, group); err != nil {
		log.Fatal(err)
	}
	fmt.Print(help, "> ")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Print("> ") {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			if err := run(ctx, group, line); err != nil {
				fmt.Println("error:", err)
			}
		}
	}
}
