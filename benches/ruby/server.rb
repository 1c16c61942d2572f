# frozen_string_literal: true

# Bench server: server.rb stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL]
# [--auth FILE]

require "json"
require "trunkline"

def value_of(option) = ARGV.include?(option) ? ARGV[ARGV.index(option) + 1] : nil

# Messages of `grow-bytes` are longer than the default allows.
server = Trunkline::Server.new("bench", version: "0.0.0", max_message_bytes: 128 * 1024 * 1024, store: value_of("--store"))

server.tool("echo", description: "Echo the message back", input: { message: String }) { |message:| message }

sum = ->(a:, b:) { (a + b).to_s }
server.tool("add", description: "Add two integers", input: { a: Integer, b: Integer }, &sum)

value_of("--tools").to_i.times do |i|
  server.tool(format("tool_%03d", i), description: "Generated tool number #{i}", input: { a: Integer, b: Integer }, &sum)
end

if ARGV.include?("features")
  server.tool("report", description: "Report progress, then echo the message back", input: { message: String }) do |ctx, message:|
    1.upto(20) { |number| ctx.progress(number, total: 20) }
    message
  end
  server.tool("ask", description: "Ask the user", input: { message: String }) do |ctx, message:|
    answer = ctx.elicit(message, { value: String })
    answer.content ? answer.content["value"] : "no answer"
  end
  wide = (0..99).to_h { |i| [format("f%02d", i).to_sym, Integer] }
  server.tool("wide", description: "Add 100 integers", input: wide) { |**numbers| numbers.values.sum.to_s }
end

case ARGV.first
when "stdio" then server.serve_stdio
when "http"
  # The access tokens from a file (tests/matrix/authorization.json).
  auth = value_of("--auth") && JSON.parse(File.read(value_of("--auth")))["auth"].then do |given|
    { resource: given["resource"], issuer: given["issuer"], jwks: given["jwks"] }
  end
  server.serve_http(port: ARGV[1].to_i, json: ARGV.include?("json"), stateless: ARGV.include?("stateless"), auth: auth)
else
  abort "usage: server stdio | http PORT [json] [stateless] [features] [--tools N] [--store URL] [--auth FILE]"
end
