# Calls the server next to it, or one at a URL: ruby client.rb [http://127.0.0.1:8000/mcp]
require "trunkline"

SERVER = ["ruby", File.join(__dir__, "server.rb")].freeze

Trunkline::Client.connect(ARGV.first || SERVER) do |client|
  puts "connected to #{client.server_info&.name}, revision #{client.revision}"
  client.list_tools.each { |tool| puts "tool #{tool.name}: #{tool.description}" }
  result = client.call_tool("forecast", { city: "Oslo", days: 2 }, timeout: 10) do |report|
    puts "progress #{[report.progress, report.total].compact.map(&:to_i).join(" of ")} #{report.message}"
  end
  puts result.text
end
