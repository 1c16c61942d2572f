# frozen_string_literal: true

# The server of the scars in Ruby: server.rb stdio | http | listen | puma

require "trunkline"

# The timeout of idle peers in seconds, if not the default.
IDLE_TIMEOUT = ENV.fetch("SILENCE_MS", "60000").to_f / 1000

# Callbacks raise, and so does the verifier for tokens other than "good".
THROWS = ENV.key?("THROWS")

# The status with which the tool `end` exits, and what lets the program return.
EXIT_STATUS = 7
RETURNS = Thread::Queue.new

# Messages of a flood before a pause, so that it leaves some processor time to others. A steady
# flood has no pauses.
BURST = 50

# A surrogate, which is not valid in UTF-8.
HALF = "half of a character: \xED\xA0\xBD"

raises = ->(*) { raise "thrown by a hook" } if THROWS
SERVER = Trunkline::Server.new("scars", version: "1.0.0", lifespan: -> {}, store: ENV["STORE"], state_keys: [ENV["STATE_KEY"]].compact, keep_alive: [IDLE_TIMEOUT / 4, 15].min, on_error: raises)

SERVER.tool("echo", input: { message: String }) { |message:| message }
slow = lambda do |ctx, ms:|
  ctx.progress(0)
  ctx.sleep(ms / 1000.0)
  "done"
end
SERVER.tool("slow", input: { ms: Integer }, task: "optional", &slow)
SERVER.tool("again", input: { ms: Integer }, task: "optional", restart_task: true, &slow)
%w[block work].each do |name|
  SERVER.tool(name, input: { ms: Integer }) do |ms:|
    sleep ms / 1000.0
    "done"
  end
end
SERVER.tool("stray") do
  puts "a stray print"
  IO.for_fd(1, autoclose: false).syswrite("bytes to descriptor 1\n")
  system("echo", "a line of a child", exception: true)
  "printed"
end
SERVER.tool("fail") { raise "x" * 2000 }
SERVER.tool("end", input: { how: String }) do |how:|
  case how
  when "handler" then exit EXIT_STATUS
  when "main" then RETURNS << true
  else
    Thread.new do
      sleep 0.1
      exit EXIT_STATUS
    end
  end
  "ends"
end
SERVER.tool("flood", input: { count: Integer, log: :boolean, steady: :boolean }) do |ctx, count:, log: false, steady: false|
  count.times do |number|
    log ? ctx.info("a message") : ctx.progress(number)
    ctx.sleep(0.001) if (number % BURST).zero? && !steady
  end
  "done"
end
SERVER.resource("scars://mood/{number}") { |number:| number }
SERVER.tool("touch", input: { number: String }) do |number:|
  SERVER.resource_updated("scars://mood/#{number}")
  "touched"
end
SERVER.tool("plan") do |ctx|
  trip = ctx.elicit("How many go?", { people: Integer })
  "#{trip.content && trip.content["people"]} go to #{ctx.sample("Where to?", max_tokens: 50).text}"
end
SERVER.tool("halves", input: { place: String }) do |ctx, place:|
  case place
  when "error" then raise HALF
  when "toolError" then raise Trunkline::ToolError, HALF
  when "progress" then ctx.progress(1, message: HALF)
  when "log" then ctx.info(HALF)
  when "question" then ctx.elicit(HALF, { people: Integer })
  end
  HALF
end
patterns = { around: { pattern: '(?=.*\d)[a-z]+\d' }, back: { pattern: '(?=(a+))\1b' } }
SERVER.tool("match", input: { type: "object", properties: patterns }) { |**| "matched" }
cities = ->(text) { %w[Oslo Osaka Rome].select { |city| city.start_with?(text) } }
SERVER.prompt("packing", complete: { city: cities }) { |city:| "What to pack for #{city}?" }
if THROWS
  SERVER.middleware("tools/call") do |request|
    raise "thrown by middleware" if request.params["name"] == "touch"

    request.proceed
  end
end

def verify(token)
  raise "thrown by the verifier" unless token.token == "good"

  Trunkline::Identity.new(subject: "good")
end

def run_puma
  require "puma"
  require "puma/configuration"
  require "puma/launcher"

  config = Puma::Configuration.new do |user|
    user.app SERVER.rack_app(path: "/mcp")
    user.bind "tcp://127.0.0.1:0"
    user.threads 0, 32
    user.plugin :trunkline
  end
  launcher = Puma::Launcher.new(config, events: Puma::Events.null)
  launcher.events.on_booted { say("http://127.0.0.1:#{launcher.connected_ports.first}/mcp") }
  launcher.run
end

def say(line)
  puts line
  $stdout.flush
end

case ARGV.first
when "stdio" then SERVER.serve_stdio
when "http"
  auth = { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example.com"], verifier: method(:verify) } if THROWS
  listener = SERVER.listen(port: ENV.fetch("PORT", "0").to_i, idle_timeout: IDLE_TIMEOUT, write_timeout: IDLE_TIMEOUT, auth: auth)
  say(listener.url)
  listener.run
when "listen"
  # The listener is not closed.
  say(SERVER.listen(port: 0).url)
  RETURNS.pop
else run_puma
end
