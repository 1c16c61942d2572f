# A server in a Rack application under puma, and a client that calls it.
require "puma"
require "rack"
require "trunkline"

server = Trunkline::Server.new("mounted", version: "1.0.0")

server.tool("hello", description: "Greets.") { "Hello from Rack" }

# In a config.ru, without `app =` and `Rack::Builder.app`.
app = Rack::Builder.app do
  map("/mcp") { run server.rack_app }
  run ->(_) { [200, { "content-type" => "text/plain" }, ["An ordinary page"]] }
end

web = Puma::Server.new(app)
port = web.add_tcp_listener("127.0.0.1", 0).addr[1]
web.run
Trunkline::Client.connect(url: "http://127.0.0.1:#{port}/mcp") { |client| puts client.call_tool("hello").text }
server.close
web.stop(true)
