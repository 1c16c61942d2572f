# A server with one tool. Over stdio: ruby server.rb; over HTTP: ruby server.rb 8000
require "trunkline"

CITIES = { "Oslo" => "snow", "Rome" => "sunny" }.freeze

server = Trunkline::Server.new("weather", version: "1.0.0")

server.tool("forecast", description: "Forecast the weather of a city.", input: { city: String, days: 1..7 }) do |ctx, city:, days: 3|
  weather = CITIES.fetch(city) { raise Trunkline::ToolError, "no forecast for #{city}; try #{CITIES.keys.join(" or ")}" }
  Array.new(days) do |day|
    ctx.progress(day + 1, total: days)
    "day #{day + 1}: #{weather}"
  end.join("\n")
end

if ARGV.empty?
  server.serve_stdio
else
  listener = server.listen(port: ARGV.first.to_i)
  puts "listening at #{listener.url}"
  listener.run
end
