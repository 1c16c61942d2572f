# A client for an entry of a configuration file: it starts the server and negotiates a revision.
require "trunkline"

ENTRY = { command: "ruby", args: [File.join(__dir__, "tutorial_server.rb")] }.freeze

Trunkline::Client.connect(ENTRY, timeout: 10) do |client|
  server = client.server_info
  puts "#{server.name} #{server.version}"
  puts client.revision
  puts client.capabilities.to_h.keys.sort.join(", ")
  puts client.instructions
end
