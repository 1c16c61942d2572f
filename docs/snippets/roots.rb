# A tool that only works in folders its client allows.
require "trunkline"

server = Trunkline::Server.new("search", version: "1.0.0")

server.tool("folders", description: "Name the folders that may be searched.") do |ctx|
  ctx.list_roots.map { |root| root.name || root.uri }.join(", ")
end

roots = [Trunkline::Root.new(uri: "file:///home/ada/notes", name: "notes"), Trunkline::Root.new(uri: "file:///srv/wiki")]
Trunkline::Client.connect(server: server, roots: roots) do |client|
  puts client.call_tool("folders").text
end
