# Tools as classes: each adds itself to a server.
require "trunkline"

class Forecast
  def self.add_to(server)
    server.tool("forecast", description: "Forecast the weather of a city.", input: { city: String, days: 1..7 }, &method(:call))
  end

  def self.call(city:, days: 1)
    "#{city}: sunny (#{days})"
  end
end

server = Trunkline::Server.new("weather", version: "1.0.0")
[Forecast].each { |tool| tool.add_to(server) }

Trunkline::Client.connect(server: server) { |client| puts client.call_tool("forecast", { city: "Oslo" }).text }
