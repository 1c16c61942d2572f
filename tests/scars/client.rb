# frozen_string_literal: true

# The client of the scars in Ruby: client.rb URL | COMMAND... (README.md)

require "trunkline"

# Callbacks raise.
THROWS = ENV.key?("THROWS")
THROW = ->(*) { raise "thrown by a callback" }

# Other threads write at the same time. The buffer of an IO in Ruby 3.1 is moved while another thread
# writes it, so that lines are doubled and lost: each line is one system call instead.
$stdout.sync = true
def say(*words) = $stdout.write("#{words.join(" ")}\n")

def call(client, number, milliseconds, tool = "slow")
  client.call_tool(tool, { ms: milliseconds.to_i }, &(THROW if THROWS))
  say(number, "ok")
rescue Trunkline::Error => e
  say(number, e.kind)
rescue RuntimeError
  # An exception in a block ends its call, as everywhere in Ruby.
  say(number, "ok")
end

def connected(words)
  hooks = THROWS ? { log_level: "info", on_notification: THROW, on_log: THROW } : {}
  target = words.length == 1 ? words.first : words
  client = Trunkline::Client.connect(target, timeout: ENV.fetch("TIMEOUT_MS", "60000").to_f / 1000, revision: ENV.fetch("REVISION", "auto"), **hooks)
  say("ready")
  client
end

client = connected(ARGV)
while (line = $stdin.gets)
  name, *arguments = line.split
  case name
  when "call" then Thread.new(client, *arguments) { |*given| call(*given) }
  when "list" then say(client.list_tools.length, "tools")
  when "reconnect" then client = connected(ARGV)
  else
    client.close if name == "close"
    break
  end
end
