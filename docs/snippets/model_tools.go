// A server's tools in the formats of model providers, and a result as the model sees it.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	trunkline "github.com/trunkline-mcp/trunkline/bindings-go"
)

type place struct {
	City string `json:"city"`
}

func forecast(_ context.Context, _ *trunkline.Call, given place) (string, error) {
	return given.City + ": snow", nil
}

// A described tool has its schema under the name that a provider gives it.
func described(tool trunkline.Tool, schema string) map[string]any {
	return map[string]any{"name": tool.Name, "description": tool.Description, schema: tool.InputSchema}
}

func forOpenAI(tool trunkline.Tool) map[string]any {
	return map[string]any{"type": "function", "function": described(tool, "parameters")}
}

func forAnthropic(tool trunkline.Tool) map[string]any { return described(tool, "input_schema") }

func forGemini(tool trunkline.Tool) map[string]any { return described(tool, "parametersJsonSchema") }

func resultForAnthropic(use string, result *trunkline.CallToolResult) map[string]any {
	var content []map[string]any
	for _, block := range result.Content {
		switch block := block.(type) {
		case *trunkline.TextContent:
			content = append(content, map[string]any{"type": "text", "text": block.Text})
		case *trunkline.ImageContent:
			source := map[string]any{"type": "base64", "media_type": block.MIMEType, "data": block.Data}
			content = append(content, map[string]any{"type": "image", "source": source})
		}
	}
	return map[string]any{"type": "tool_result", "tool_use_id": use, "content": content, "is_error": result.IsError}
}

// needed is the first member that a schema requires.
func needed(schema any) string {
	given := trunkline.Must(trunkline.Decode[struct {
		Required []string `json:"required"`
	}](schema.(json.RawMessage)))
	return given.Required[0]
}

func main() {
	ctx := context.Background()
	weather := trunkline.NewServer("weather", "1.0.0")
	defer weather.Close(ctx)
	descriptor := trunkline.Tool{Name: "forecast", Description: "Forecast the weather of a city."}
	trunkline.Must(trunkline.AddTool(weather, descriptor, forecast))

	client := trunkline.Must(trunkline.ConnectMemory(ctx, weather))
	defer client.Close()
	tool := trunkline.Must(client.ListTools(ctx))[0]
	function := forOpenAI(tool)["function"].(map[string]any)
	fmt.Println("openai:", tool.Name, "needs", needed(function["parameters"]))
	fmt.Println("anthropic:", tool.Name, "needs", needed(forAnthropic(tool)["input_schema"]))
	fmt.Println("gemini:", tool.Name, "needs", needed(forGemini(tool)["parametersJsonSchema"]))

	result := resultForAnthropic("toolu_1", trunkline.Must(client.CallTool(ctx, "forecast", place{"Oslo"})))
	first := result["content"].([]map[string]any)[0]
	fmt.Printf("%s: %s\n", first["type"], first["text"])
}
