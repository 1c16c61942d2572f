# A gateway that exposes an older server under the newest revision, next to its own tool.
require "trunkline"

OLD = ["ruby", File.join(__dir__, "tutorial_server.rb")].freeze

gateway = Trunkline::Server.new("gateway", version: "1.0.0")
extra = Trunkline::Server.new("extra", version: "1.0.0")
extra.tool("hello", description: "Greet.") { "Hello" }

Trunkline::Client.connect(command: OLD, revision: "legacy") do |old|
  gateway.proxy(old)
  gateway.mount("extra", extra)
  Trunkline::Client.connect(server: gateway, revision: "2026-07-28") do |client| # over HTTP: gateway.listen
    puts client.list_tools.map(&:name).join(" ")
    result = client.call_tool("add_note", { name: "groceries", text: "milk" })
    puts "#{old.revision} as #{client.revision}: #{result.text}"
  end
end
