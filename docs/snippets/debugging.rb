# Information about a connection, and why one failed.
require "trunkline"

# Sends error details, which may be secret, to clients: not for production.
server = Trunkline::Server.new("backup", version: "1.0.0", debug: true)

server.tool("backup", description: "Back up all files.") { raise IOError, "disk full" }

Trunkline::Client.connect(server: server) do |client|
  puts "#{client.revision} #{client.server_info.name}"
  result = client.call_tool("backup")
  puts "#{result.is_error ? "error:" : "result:"} #{result.text[/disk full/]}"
end
