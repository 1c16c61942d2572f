# frozen_string_literal: true

require_relative "helper"

class TestTelemetry < TrunklineTest
  # Notes what it gets.
  class Recorder
    attr_reader :ended

    def initialize = @ended = Thread::Queue.new

    def start(record, carrier)
      carrier["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" if carrier
      record
    end

    def within(span)
      Thread.current[:span] = span["name"]
      yield
    end

    def finish(span, record) = @ended << [span && span["name"], record]
  end

  def teardown
    super
    Trunkline.remove_instance_variable(:@telemetry) if Trunkline.instance_variable_defined?(:@telemetry)
  end

  def test_requests_are_spans
    Trunkline.telemetry = recorder = Recorder.new
    client = connected do |server|
      server.tool("greet") { Thread.current[:span] }
      server.tool("fail") { raise Trunkline::ToolError, "no" }
      server.tool("trace") { |ctx| ctx.meta["traceparent"] }
    end
    assert_equal "tools/call greet", client.call_tool("greet").text
    assert_match(/0af7651916cd43dd8448eb211c80319c/, client.call_tool("trace").text)
    client.call_tool("fail")
    client.notify("notifications/com.example")
    ended = Array.new(9) { Timeout.timeout(30) { recorder.ended.pop } }
    kinds = ended.map { |_, record| "#{record["kind"]} #{record["name"]}" }
    assert_equal ["client tools/call greet", "server tools/call greet"], kinds.grep(/greet/).sort
    assert_includes kinds, "client notifications/com.example"
    assert(ended.all? { |_, record| record["endUs"] >= record["startUs"] })
    assert_equal 2, ended.count { |_, record| record["name"] == "tools/call fail" && record["error"] }
  end

  def test_handlers_without_a_span_hold_up_nothing
    Trunkline.telemetry = Recorder.new
    other = connected { |server| server.tool("a") { "b" } }
    answer = ->(_) { Trunkline::ElicitResult.new(action: other.call_tool("a").text == "b" ? "decline" : "cancel") }
    client = connected({ on_elicit: answer }) do |server|
      server.tool("ask") { |ctx| ctx.elicit("Really?", { a: String }).action }
    end
    assert_equal "decline", client.call_tool("ask", {}, timeout: 5).text
  end

  def test_a_recorder_that_fails_changes_no_outcome
    Trunkline.telemetry = recorder = Recorder.new
    %i[start finish].each { |name| recorder.define_singleton_method(name) { |*| raise "no #{name}" } }
    logged do |records|
      client = connected { |server| server.tool("greet") { "hi" } }
      assert_equal "hi", client.call_tool("greet").text
      client.notify("notifications/com.example")
      texts = Array.new(6) { Timeout.timeout(30) { records.pop } }
      assert_equal %w[finish start], texts.flat_map { |text| text.scan(/no (start|finish)/) }.flatten.uniq.sort
    end
  end

  def test_the_load_is_measured
    Trunkline.telemetry = Recorder.new
    client = connected { |server| server.tool("load") { Trunkline.measurements.to_h { |one| one.values_at("name", "value") } } }
    load = JSON.parse(client.call_tool("load").text)
    assert_operator load.length, :>=, 3
    assert_includes load.values, 1
  end

  def test_it_is_off_without_a_recorder
    Trunkline.telemetry = false
    client = connected { |server| server.tool("a") { "b" } }
    assert_nil Trunkline::Port.current.native.telemetry(client.handle, '{"method":"tools/call","params":{"name":"a"}}')
  end

  def test_open_telemetry
    begin
      require "opentelemetry/sdk"
    rescue LoadError
      skip "the gem opentelemetry-sdk is not installed"
    end
    exporter = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
    processor = OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(exporter)
    OpenTelemetry::SDK.configure { |config| config.add_span_processor(processor) }
    client = connected { |server| server.tool("greet") { OpenTelemetry::Trace.current_span.set_attribute("greeted", true) && "hi" } }
    assert_equal "hi", client.call_tool("greet").text
    spans = eventually { exporter.finished_spans.then { |all| all if all.length >= 4 } }
    sent, served = spans.select { |span| span.name == "tools/call greet" }.sort_by(&:kind)
    assert_equal [:client, :server, sent.span_id, sent.trace_id], [sent.kind, served.kind, served.parent_span_id, served.trace_id]
    assert served.attributes["greeted"]
  end
end
