# A server over HTTP that requires access tokens, with a tool that requires a scope.
require "trunkline"

server = Trunkline::Server.new("files", version: "1.0.0")

server.tool("whoami", description: "Name the caller.") { |ctx| ctx.auth&.subject || "nobody" }
server.tool("delete", description: "Delete all files.", scopes: ["write"]) { nil }

# Replaces the built-in JWT verifier, for opaque tokens stored in your database.
verify = lambda do |token|
  Trunkline::Identity.new(subject: "ada", scopes: ["read"]) if token.token == "token-of-ada"
end

auth = { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example.com"], verifier: verify }
server.listen(port: 0, auth: auth) do |listener|
  Trunkline::Client.connect(url: listener.url, auth: "token-of-ada") do |client|
    puts client.list_tools.map(&:name).join(", ")
    puts client.call_tool("whoami").text
  end
  begin
    Trunkline::Client.connect(url: listener.url)
  rescue Trunkline::AuthorizationRequiredError => e
    puts e.http_status
  end
end
