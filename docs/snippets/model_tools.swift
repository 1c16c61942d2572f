// A server's tools in the formats of model providers, and a result as the model sees it.
import Trunkline

struct Place: Decodable {
    let city: String
}

func described(_ tool: Tool, schema: String) -> JSON {
    ["name": .string(tool.name), "description": .string(tool.description ?? ""), schema: .object(tool.inputSchema)]
}

func forOpenAI(_ tool: Tool) -> JSON { ["type": "function", "function": described(tool, schema: "parameters")] }
func forAnthropic(_ tool: Tool) -> JSON { described(tool, schema: "input_schema") }
func forGemini(_ tool: Tool) -> JSON { described(tool, schema: "parametersJsonSchema") }

func resultForAnthropic(_ use: String, _ result: CallToolResult) -> JSON {
    let content: [JSON] = result.content.compactMap { block in
        switch block {
        case .text(let text): return ["type": "text", "text": .string(text.text)]
        case .image(let image):
            let source: JSON = ["type": "base64", "media_type": .string(image.mimeType), "data": .string(image.data)]
            return ["type": "image", "source": source]
        default: return nil
        }
    }
    return [
        "type": "tool_result", "tool_use_id": .string(use), "content": .array(content), "is_error": .bool(result.isError),
    ]
}

func needed(_ schema: JSON?) -> String { schema?["required"]?.array?.first?.string ?? "nothing" }

@main
struct Main {
    static func main() async throws {
        let weather = Server("weather", version: "1.0.0")
        try weather.tool("forecast", description: "Forecast the weather of a city.") { (place: Place, _) in "\(place.city): snow" }

        try await Client.connect(to: weather).use { client in
            guard let tool = try await client.listTools().first else { return }
            print("openai: \(tool.name) needs \(needed(forOpenAI(tool)["function"]?["parameters"]))")
            print("anthropic: \(tool.name) needs \(needed(forAnthropic(tool)["input_schema"]))")
            print("gemini: \(tool.name) needs \(needed(forGemini(tool)["parametersJsonSchema"]))")

            let forecast = try await client.callTool("forecast", ["city": "Oslo"])
            let block = resultForAnthropic("toolu_1", forecast)["content"]?.array?.first
            print("\(block?["type"]?.string ?? ""): \(block?["text"]?.string ?? "")")
        }
    }
}
