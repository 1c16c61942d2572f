# A bridge that clients see as the server behind it, which starts with their first request.
require "trunkline"

NOTES = ["ruby", File.join(__dir__, "tutorial_server.rb")].freeze

bridge = Trunkline::Server.new("bridge", version: "1.0.0")

Trunkline::Client.connect(command: NOTES, lazy: true) do |notes|
  bridge.proxy(notes, transparent: true)
  Trunkline::Client.connect(server: bridge) do |client| # over HTTP: bridge.listen
    puts "#{client.server_info.name}: #{client.list_tools.map(&:name).join(" ")}"
  end
end
