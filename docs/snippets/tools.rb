# A tool with typed arguments, and a client in the same process.
require "trunkline"

server = Trunkline::Server.new("weather", version: "1.0.0")

input = {
  city: { type: "string", description: "The name of the city." },
  days: { type: "integer", minimum: 1, maximum: 7, description: "The number of days." }
}
server.tool("forecast", description: "Forecast the weather of a city.", input: input) do |city:, days: 2|
  "#{city}: #{(["snow"] * days).join(", ")}"
end

Trunkline::Client.connect(server: server) do |client|
  client.list_tools.each { |tool| puts "#{tool.name}: #{tool.description}" }
  puts client.call_tool("forecast", { city: "Oslo" }).text
  result = client.call_tool("forecast", { city: "Oslo", days: 20 })
  puts result.is_error ? "refused" : result.text
end
