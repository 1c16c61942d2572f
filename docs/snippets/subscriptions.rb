# A client that is notified when a resource changes, and when the list of tools does.
require "trunkline"

server = Trunkline::Server.new("notes", version: "1.0.0")
notes = ["Buy milk."]

server.resource("notes://today", description: "The note of today.") { notes.last }

clear = server.tool("clear", description: "Forget all notes.") { notes.clear && nil }

Trunkline::Client.connect(server: server) do |client|
  client.subscribe("notes://today", tools: true) do |changes|
    notes << "Call Ada."
    server.resource_updated("notes://today")
    change = changes.next
    puts "#{change.kind} #{change.uri}"
    puts client.read_resource("notes://today").contents.first.text

    clear.remove
    puts changes.next.kind
  end
end
