# Starts the server next to it and uses it. Given a URL, it connects there instead.
require "trunkline"

SERVER = ["ruby", File.join(__dir__, "tutorial_server.rb")].freeze

begin
  Trunkline::Client.connect(ARGV.first || SERVER) do |client|
    puts "tools: #{client.list_tools.map(&:name).join(", ")}"
    ["milk and bread", "bread"].each do |text|
      result = client.call_tool("add_note", { name: "groceries", text: text })
      puts "#{result.is_error ? "error:" : "result:"} #{result.text}"
    end
    puts client.read_resource("notes://all").contents.first.text
  end
rescue Trunkline::Error => e
  abort "#{e.kind}: #{e.message}"
end
