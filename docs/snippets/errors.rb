# Errors: for the model, for the log, protocol errors, and timeouts.
require "trunkline"

server = Trunkline::Server.new("shop", version: "1.0.0")

server.tool("price", description: "The price of an article.") do |article:|
  raise Trunkline::ToolError, "The sun is not for sale." if article == "sun"

  raise KeyError, "no row for #{article} in prices.db"
end

server.tool("wait", description: "Never ends.") { |ctx| ctx.sleep(3600) }

Trunkline::Client.connect(server: server) do |client|
  %w[sun moon].each { |article| puts client.call_tool("price", { article: article }).text }
  begin
    client.call_tool("prize")
  rescue Trunkline::ProtocolError => e
    puts "#{e.kind} #{e.code}"
  end
  begin
    client.call_tool("wait", {}, timeout: 0.05)
  rescue Trunkline::TimeoutError => e
    puts e.kind
  end
end
