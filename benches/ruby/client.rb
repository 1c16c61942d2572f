# frozen_string_literal: true

# The bench client in Ruby: client.rb N INFLIGHT -- COMMAND... | client.rb N INFLIGHT URL

require "trunkline"

def call(client, number)
  result = client.call_tool("echo", { message: "m#{number}" })
  raise "wrong text: #{result.inspect}" unless result.text == "m#{number}"
end

def say(word)
  puts word
  $stdout.flush
end

calls, in_flight, *target = ARGV
abort "usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL" if target.empty?

target = target.first == "--" ? target.drop(1) : target.first
calls = calls.to_i
in_flight = in_flight.to_i
Trunkline::Client.connect(target, revision: "2025-11-25") do |client|
  200.times { |number| call(client, number) }
  say("READY")
  $stdin.gets
  Array.new(in_flight) { |first| Thread.new { first.step(calls - 1, in_flight) { |number| call(client, number) } } }.each(&:join)
  say("DONE")
  $stdin.read
end
