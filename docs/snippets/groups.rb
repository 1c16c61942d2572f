# Many servers behind one client. One of them fails to start; the others work.
require "trunkline"

SERVERS = {
  notes: ["ruby", File.join(__dir__, "tutorial_server.rb")],
  broken: ["no-such-program"]
}.freeze

Trunkline::ClientGroup.connect(SERVERS) do |group| # or the path of an mcp.json
  group.servers.each { |server| puts "#{server.name}: #{server.error ? "failed" : "connected"}" }
  group.list_tools.each { |tool| puts tool.name }
  puts group.call_tool("notes__add_note", { name: "groceries", text: "milk" }).text
end
