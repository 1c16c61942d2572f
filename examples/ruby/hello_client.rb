# Starts the server next to it and calls its tool.
require "trunkline"

server = File.join(__dir__, "hello_server.rb")
Trunkline::Client.connect(command: ["ruby", server]) do |client|
  puts client.call_tool("hello", { name: "Ada" }).text
end
