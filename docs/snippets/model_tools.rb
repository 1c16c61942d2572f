# A server's tools in the formats of model providers, and a result as the model sees it.
require "trunkline"

server = Trunkline::Server.new("weather", version: "1.0.0")

server.tool("forecast", description: "Forecast the weather of a city.") { |city:| "#{city}: snow" }

def for_openai(tool)
  { type: "function", function: { name: tool.name, description: tool.description.to_s, parameters: tool.input_schema } }
end

def for_anthropic(tool)
  { name: tool.name, description: tool.description.to_s, input_schema: tool.input_schema }
end

def for_gemini(tool)
  { name: tool.name, description: tool.description.to_s, parametersJsonSchema: tool.input_schema }
end

def result_for_anthropic(use, result)
  content = result.content.filter_map do |block|
    case block
    when Trunkline::TextContent then { type: "text", text: block.text }
    when Trunkline::ImageContent
      { type: "image", source: { type: "base64", media_type: block.mime_type, data: block.data } }
    end
  end
  { type: "tool_result", tool_use_id: use, content: content, is_error: result.is_error }
end

Trunkline::Client.connect(server: server) do |client|
  tool = client.list_tools.first
  puts "openai: #{tool.name} needs #{for_openai(tool)[:function][:parameters]["required"].join(" ")}"
  puts "anthropic: #{tool.name} needs #{for_anthropic(tool)[:input_schema]["required"].join(" ")}"
  puts "gemini: #{tool.name} needs #{for_gemini(tool)[:parametersJsonSchema]["required"].join(" ")}"

  result = result_for_anthropic("toolu_1", client.call_tool("forecast", { city: "Oslo" }))
  puts "#{result[:content].first[:type]}: #{result[:content].first[:text]}"
end
