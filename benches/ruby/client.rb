# frozen_string_literal: true

# The bench client in Ruby: client.rb N INFLIGHT -- COMMAND... | client.rb N INFLIGHT URL
#
# With INFLIGHT `resource`, it reads a resource N times.

require "trunkline"

BLOB_LENGTH = 16 * 1024 * 1024 # characters of base64 in the resource

def call(client, number)
  result = client.call_tool("echo", { message: "m#{number}" })
  raise "wrong text: #{result.inspect}" unless result.text == "m#{number}"
end

def read(client)
  contents = client.read_resource("bench:blob").contents
  raise "wrong contents" unless contents.first.blob.to_s.length == BLOB_LENGTH
end

def call_concurrently(client, calls, in_flight)
  Array.new(in_flight) { |first| Thread.new { first.step(calls - 1, in_flight) { |number| call(client, number) } } }.each(&:join)
end

def say(word)
  puts word
  $stdout.flush
end

calls, in_flight, *target = ARGV
abort "usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL" if target.empty?

target = target.first == "--" ? target.drop(1) : target.first
calls = calls.to_i
reads = in_flight == "resource"
Trunkline::Client.connect(target, revision: "2025-11-25") do |client|
  200.times { |number| call(client, number) } unless reads
  say("READY")
  $stdin.gets
  reads ? calls.times { read(client) } : call_concurrently(client, calls, Integer(in_flight))
  say("DONE")
  $stdin.read
end
