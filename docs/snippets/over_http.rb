# A server over HTTP that reads a request header in each call, and its client.
require "trunkline"

server = Trunkline::Server.new("tenants", version: "1.0.0")

server.tool("tenant", description: "Name the tenant of the caller.") do |ctx|
  "#{ctx.headers.fetch("x-tenant", "nobody")} at #{ctx.url}"
end

server.listen(port: 0, path: "/notes") do |listener|
  Trunkline::Client.connect(url: listener.url, headers: { "X-Tenant" => "acme" }) do |client|
    puts client.call_tool("tenant").text
    puts client.revision
  end
end
