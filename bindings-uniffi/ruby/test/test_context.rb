# frozen_string_literal: true

require_relative "helper"

class TestContext < TrunklineTest
  HOST = {
    on_elicit: ->(request) { Trunkline::ElicitResult.new(action: "accept", content: { name: request.message }) },
    on_sample: ->(request) { Trunkline::CreateMessageResult.new(role: "assistant", content: Trunkline::TextContent.new(text: request.messages.first.content.text.upcase), model: "m") }
  }.freeze

  %w[2025-11-25 2026-07-28].each do |revision|
    define_method("test_handlers_ask_their_client_on_#{revision.tr("-", "_")}") do
      client = connected({ revision: revision, roots: [Trunkline::Root.new(uri: "file:///work")], **HOST }) do |server|
        server.tool("ask") do |ctx|
          name = ctx.elicit("who?", { name: String }).content["name"]
          "#{name} #{ctx.sample("hi", max_tokens: 5).text} #{ctx.list_roots.map(&:uri).join}"
        end
      end
      assert_equal "who? HI file:///work", client.call_tool("ask").text
      assert_equal revision, client.revision
    end
  end

  def test_once_survives_reruns
    runs = 0
    effects = 0
    client = connected({ revision: "2026-07-28", **HOST }) do |server|
      server.tool("ask") do |ctx|
        runs += 1
        number = ctx.once("charge") { effects += 1 }
        "#{ctx.elicit("x", { name: String }).content["name"]} #{number}"
      end
    end
    assert_equal "x 1", client.call_tool("ask").text
    assert_equal [2, 1], [runs, effects]
  end

  def test_threads_that_run_once_together_share_its_value
    effects = 0
    client = connected do |server|
      server.tool("pay") do |ctx|
        paying = Array.new(3) { Thread.new { ctx.once("charge") { sleep 0.05 and effects += 1 } } }
        paying.map(&:value).inspect + ctx.once("outer") { ctx.once("inner") { "x" } }
      end
      server.tool("retry") do |ctx|
        ends = Thread::Queue.new
        failing = Thread.new { ctx.once("charge") { ends.pop and raise ArgumentError } }
        failing.report_on_exception = false
        eventually { failing.status == "sleep" }
        Thread.new { sleep 0.05 and ends << true }
        ctx.once("charge") { "later" } + (failing.join rescue "failed").to_s
      end
    end
    assert_equal "[1, 1, 1]x", client.call_tool("pay").text
    assert_equal 1, effects
    assert_equal "laterfailed", client.call_tool("retry").text
  end

  def test_input_is_requested_by_value
    client = connected({ revision: "2026-07-28", **HOST }) do |server|
      server.tool("rounds") do |ctx|
        next "#{ctx.state} #{ctx.input_responses["a"]["content"]["name"]}" if ctx.input_responses.any?

        Trunkline::InputRequired.new({ a: Trunkline::InputRequests.elicit("q", { name: String }) }, state: 7)
      end
    end
    assert_equal "7 q", client.call_tool("rounds").text
    error = assert_raises(Trunkline::InputRequiredError) { client.call_tool("rounds", {}, manual_input: true) }
    assert_equal ["a"], error.input_requests.keys
  end

  def test_clients_without_the_capability_refuse
    client = connected { |server| server.tool("ask") { |ctx| ctx.sample("hi", max_tokens: 1).text } }
    assert_raises(Trunkline::ProtocolError) { client.call_tool("ask") }
  end

  def test_progress_and_logs
    logs = Thread::Queue.new
    client = connected({ on_log: ->(message) { logs << [message.level, message.data] }, log_level: "debug" }) do |server|
      server.tool("work") do |ctx|
        3.times { |step| ctx.progress(step + 1, total: 3, message: "step") }
        ctx.warning({ a: 1 })
        "done"
      end
    end
    seen = []
    thread = nil
    client.call_tool("work") do |progress|
      thread = Thread.current
      seen << [progress.progress, progress.total, progress.message]
    end
    assert_equal [3, 3, "step"], seen.last
    assert_equal Thread.current, thread
    assert_equal ["warning", { "a" => 1 }], Timeout.timeout(30) { logs.pop }
  end

  def test_cancellation_reaches_the_handler
    ended = Thread::Queue.new
    started = Thread::Queue.new
    client = connected do |server|
      server.tool("slow") do |ctx|
        started << true
        ctx.sleep(30)
      rescue Trunkline::CancelledError
        ended << ctx.cancelled?
        raise
      end
    end
    assert_raises(Timeout::Error) { Timeout.timeout(1) { client.call_tool("slow") } }
    assert_equal true, Timeout.timeout(30) { ended.pop }
    assert_raises(Trunkline::TimeoutError) { client.call_tool("slow", {}, timeout: 1) }
    assert_equal true, Timeout.timeout(30) { ended.pop }
  end

  def test_facts_of_calls
    client = connected { |server| server.tool("facts") { |ctx| [ctx.method, ctx.revision, ctx.client_info.name, ctx.meta["com.example/a"], ctx.auth] } }
    assert_equal ["tools/call", client.revision, client.server_info ? JSON.parse(client.call_tool("facts").text)[2] : nil, 5, nil],
                 JSON.parse(client.call_tool("facts", {}, meta: { "com.example/a" => 5 }).text)
  end
end
