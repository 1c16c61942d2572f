# Notes that a model can write and read. Serves stdio; given a port, HTTP.
require "trunkline"

server = Trunkline::Server.new("notes", version: "1.0.0", instructions: "Keeps short notes for the user.")
notes = {}

input = {
  name: { type: "string", description: "A single word, such as groceries." },
  text: { type: "string", description: "The note." }
}
server.tool("add_note", description: "Save a note under a name.", input: input) do |name:, text:|
  raise Trunkline::ToolError, "A note named #{name} already exists: choose another name." if notes.key?(name)

  notes[name] = text
  server.resource_updated("notes://all")
  "Saved #{name}."
end

server.resource("notes://all", description: "All notes.", mime_type: "text/markdown") do
  notes.map { |name, text| "- #{name}: #{text}" }.join("\n")
end

server.prompt("plan", description: "Plan a day with the notes.") do |day:|
  "Read notes://all and plan #{day} accordingly."
end

if ARGV.empty?
  server.serve_stdio
else
  server.serve_http(port: ARGV.first.to_i)
end
