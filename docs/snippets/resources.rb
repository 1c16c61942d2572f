# A resource, a resource template, and a client that reads both.
require "trunkline"

NOTES = { "today" => "Buy milk.", "friday" => "Call Ada." }.freeze

server = Trunkline::Server.new("notes", version: "1.0.0")

server.resource("notes://index", description: "The names of all notes.", mime_type: "text/plain") { NOTES.keys.join(", ") }

server.resource("notes://by-name/{name}", description: "One note.", mime_type: "text/plain") { |name:| NOTES[name] }

Trunkline::Client.connect(server: server) do |client|
  client.list_resources.each { |resource| puts "#{resource.uri} #{resource.mime_type}" }
  client.list_resource_templates.each { |template| puts template.uri_template }
  %w[notes://index notes://by-name/friday].each { |uri| puts client.read_resource(uri).contents.first.text }
  begin
    client.read_resource("notes://by-name/monday")
  rescue Trunkline::ProtocolError => e
    puts "#{e.kind} #{e.code}"
  end
end
