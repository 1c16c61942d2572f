# A tool that returns an object with a schema.
require "trunkline"

server = Trunkline::Server.new("weather", version: "1.0.0")

Weather = Struct.new(:sky, :degrees, keyword_init: true)

output = { sky: String, degrees: Float }
server.tool("weather", description: "The weather of a city.", output: output) do |city:|
  Weather.new(sky: "snow over #{city}", degrees: -3.5).to_h
end

Trunkline::Client.connect(server: server) do |client|
  result = client.call_tool("weather", { city: "Oslo" })
  puts result.text
  today = Weather.new(**result.structured_content.transform_keys(&:to_sym))
  puts "#{today.sky}, #{today.degrees} degrees"
end
