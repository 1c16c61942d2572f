# A server with one tool, over stdio.
require "trunkline"

server = Trunkline::Server.new("hello", version: "1.0.0")

server.tool("hello", description: "Greets someone.", input: { name: String }) { |name:| "Hello, #{name}!" }

server.serve_stdio
