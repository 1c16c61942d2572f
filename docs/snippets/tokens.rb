# A client that gets access tokens from a function, and a new one when the server refuses one.
require "trunkline"

server = Trunkline::Server.new("files", version: "1.0.0")

server.tool("whoami", description: "Name the caller.") { |ctx| ctx.auth&.subject || "nobody" }

verify = ->(token) { Trunkline::Identity.new(subject: "ada") if token.token == "token-of-today" }

tokens = ["token-of-yesterday"]
give = lambda do |request|
  if request.refused
    puts "the token was refused" # here the program gets a new token
    tokens << "token-of-today"
  end
  Trunkline::Token.new(token: tokens.last)
end

auth = { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example.com"], verifier: verify }
server.listen(port: 0, auth: auth) do |listener|
  Trunkline::Client.connect(url: listener.url, on_access_token: give) do |client|
    puts client.call_tool("whoami").text
  end
end
