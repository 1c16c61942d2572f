# The spans of a call. With the gem `opentelemetry-sdk`, there is nothing to do; here a recorder
# notes the names of the spans.
require "trunkline"

class Recorder
  attr_reader :names

  def initialize = @names = Thread::Queue.new

  # The span of a request, and the trace context of an outgoing one.
  def start(record, carrier)
    carrier["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" if carrier
    record
  end

  # Runs the handler, as `OpenTelemetry::Trace.with_span` does.
  def within(_span) = yield

  def finish(_span, record) = @names << "#{record["kind"]} #{record["name"]}"
end

recorder = Recorder.new
Trunkline.telemetry = recorder

server = Trunkline::Server.new("greeter", version: "1.0.0")
server.tool("greet", description: "Greet someone.") { |name:| "Hello, #{name}!" }

Trunkline::Client.connect(server: server) { |client| client.call_tool("greet", { name: "Ada" }) }
puts Array.new(4) { recorder.names.pop }.sort
