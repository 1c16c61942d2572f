# Middleware around each tool call: it counts calls and refuses some.
require "trunkline"

server = Trunkline::Server.new("greeter", version: "1.0.0")

server.middleware("tools/call") do |request, ctx|
  if request.params.dig("arguments", "name") == "Mallory"
    raise Trunkline::ProtocolError.new("Mallory may not call.", code: 403)
  end

  ctx.vars[:title] = "Countess"
  result = request.proceed
  puts "#{request.params["name"]} was called"
  result
end

server.tool("greet", description: "Greet someone.") { |ctx, name:| "Hello, #{ctx.vars[:title]} #{name}!" }

Trunkline::Client.connect(server: server) do |client|
  puts client.call_tool("greet", { name: "Ada" }).text
  begin
    client.call_tool("greet", { name: "Mallory" })
  rescue Trunkline::ProtocolError => e
    puts e.code
  end
end
