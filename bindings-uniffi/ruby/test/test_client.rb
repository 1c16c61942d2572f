# frozen_string_literal: true

require_relative "helper"

class TestClient < TrunklineTest
  def test_child_processes
    Trunkline::Client.connect(command: program("server.tool('pid') { Process.pid.to_s }")) do |client|
      assert_equal client.pid.to_s, client.call_tool("pid").text
      assert_equal "program", client.server_info.name
    end
  end

  def test_children_that_fail_tell_why
    error = assert_raises(Trunkline::TransportError) do
      Trunkline::Client.connect(command: [RbConfig.ruby, "-e", "warn 'no luck'; exit 5"], stderr: "keep")
    end
    assert_equal [5, ["no luck"]], [error.exit_code, error.stderr]
  end

  # A server that cuts text within an emoji, and escapes it.
  CUTTING = <<~'RUBY'
    require "json"
    $stdout.sync = true
    $stdin.each_line do |line|
      id, method = JSON.parse(line).values_at("id", "method")
      result = {
        "initialize" => '{"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "cut", "version": "1"}}',
        "tools/list" => '{"tools": [{"name": "a", "description": "\ud83d\u0041 \ude00 \\\\ud83d \ud83d\ude00", "inputSchema": {"type": "object"}}]}',
        "tools/call" => '{"content": [{"type": "text", "text": "cut \ud83d"}]}'
      }[method]
      puts %({"jsonrpc": "2.0", "id": #{id}, #{result ? %("result": #{result}) : '"error": {"code": -32601, "message": "no"}'}}) if id
    end
  RUBY

  def test_text_that_servers_cut_within_a_character
    Trunkline::Client.connect(command: [RbConfig.ruby, "-e", CUTTING], timeout: 5) do |client|
      Timeout.timeout(30) do
        assert_equal ["\uFFFDA \uFFFD \\ud83d \u{1F600}"], client.list_tools.map(&:description)
        assert_equal "cut \uFFFD", client.call_tool("a").text
      end
    end
  end

  def test_short_times_are_not_zero
    assert_equal [0, 1, 1500], [0, 0.0001, 1.5].map { |seconds| Trunkline::Options.milliseconds(:timeout, seconds) }
  end

  def test_options_are_checked
    server = Trunkline::Server.new("x", version: "1")
    error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Client.connect(server: server, timout: 1) }
    assert_match(/timeout/, error.message)
    error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Client.connect(server: server, on_elict: ->(_) {}) }
    assert_match(/on_elict/, error.message)
    # Arguments without braces must not become members of the request.
    Trunkline::Client.connect(server: server) { |client| assert_raises(Trunkline::InvalidArgumentError) { client.call_tool("fetch", method: "tools/list") } }
    assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Client.connect }
    assert_raises(NoMethodError) { Trunkline::Client.new }
  ensure
    server&.close
  end

  def test_targets_are_checked
    server = Trunkline::Server.new("x", version: "1")
    [{ url: ["true"] }, { url: "a.json" }, { command: "true" }, { server: "x" }, { url: "http://127.0.0.1:9/mcp", headers: { a: server } }].each do |target|
      error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Client.connect(**target) }
      assert_match(/#{target.keys.first} must|type Trunkline::Server/, error.message)
    end
    error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::ClientGroup.connect({ a: server }) }
    assert_match(/type Trunkline::Server/, error.message)
    Trunkline::Client.connect(server: server) do |client|
      assert_match(/unknown handler `sample`/, assert_raises(Trunkline::InvalidArgumentError) { client.on(:sample) { nil } }.message)
    end
  ensure
    server&.close
  end

  def test_subscriptions_are_enumerators
    the_server = nil
    client = connected { |server| (the_server = server).resource("test://a") { "a" } }
    client.subscribe("test://a") do |changes|
      assert_equal ["test://a"], changes.honored.to_h["resources"]
      the_server.resource_updated("test://a")
      assert_equal ["test://a"], changes.lazy.map(&:uri).first(1)
      assert_raises(Trunkline::TimeoutError) { changes.next(timeout: 0.05) }
    end
    assert_raises(Trunkline::InvalidArgumentError) { client.subscribe }
  end

  # Interrupts the thread when the next reply arrives, before the thread can take it.
  def interrupting_at_reply(thread)
    requests = Trunkline::Port.current.requests
    requests.define_singleton_method(:receive_reply) do |ticket, ok, body|
      super(ticket, ok, body)
      next if thread.nil?

      thread.raise(Interrupt)
      thread = nil
    end
    yield
  ensure
    requests.singleton_class.send(:remove_method, :receive_reply)
  end

  def test_a_change_that_arrives_as_the_wait_is_interrupted_is_not_lost
    the_server = nil
    client = connected { |server| (the_server = server).resource("test://{name}", name: "a") { "x" } }
    client.subscribe("test://a", "test://b", "test://c") do |changes|
      waiting = Thread.new { changes.next }
      waiting.report_on_exception = false
      eventually { waiting.status == "sleep" }
      sleep 0.05
      interrupting_at_reply(waiting) do
        the_server.resource_updated("test://a")
        assert_raises(Interrupt) { waiting.join }
      end
      assert_equal "test://a", changes.next(timeout: 30).uri
      # An interrupted wait that got nothing.
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { changes.next } }
      the_server.resource_updated("test://b")
      assert_equal "test://b", changes.next(timeout: 30).uri
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { changes.next } }
      assert_raises(Trunkline::TimeoutError) { changes.next(timeout: 0.05) }
      the_server.resource_updated("test://c")
      assert_equal "test://c", changes.next.uri
    end
  end

  def test_tasks
    client = connected { |server| server.tool("job", task: "optional") { |ctx| ctx.sleep(0.05); "done" } }
    client.start_task("job") do |task|
      refute_nil task.id
      assert_equal "done", task.result.text
      assert_equal "done", client.resume_task(task.id).result.text
    end
    client.start_task("job").cancel
  end

  def test_pages_and_lists
    client = connected({}, { page_size: 2 }) { |server| 5.times { |n| server.tool("t#{n}") { "" } } }
    assert_equal 5, client.list_tools.length
    page = client.list_tools_page
    assert_equal %w[t0 t1], page.tools.map(&:name)
    assert_equal %w[t2 t3], client.list_tools_page(page.next_cursor).tools.map(&:name)
  end

  def test_groups
    Trunkline::ClientGroup.connect({ one: program("server.tool('a') { 'A' }"), two: ["/does/not/exist"] }) do |group|
      assert_equal "A", group.call_tool("one__a").text
      states = group.servers.to_h { |server| [server.name, server.state] }
      assert_equal "connected", states["one"]
      group.remove_server("two")
      assert_equal ["one"], group.servers.map(&:name)
    end
  end

  # A transport in memory: a server behind a pipe of this process.
  class Pipe
    def initialize(server)
      @server = server
    end

    def connect
      ours, @reader = IO.pipe.reverse
      @input, theirs = @reader, ours
      back, answers = IO.pipe
      @listener = @server.listen_io(@input, answers)
      @writer = theirs
      @back = back
    end

    def send(message) = @writer.puts(message)
    def receive = @back.gets&.chomp
    def close = @listener.close
  end

  def test_custom_transports
    server = Trunkline::Server.new("x", version: "1")
    server.tool("a") { "b" }
    Trunkline::Client.connect(Pipe.new(server)) { |client| assert_equal "b", client.call_tool("a").text }
  ensure
    server.close
  end

  def test_an_interrupted_connect_closes_its_transport
    silent = Struct.new(:closed) do
      def connect = nil
      def send(_) = nil
      def receive = sleep
      def close = closed << true
    end.new(Thread::Queue.new)
    owners = Trunkline::Port.current.instance_variable_get(:@owners)
    count = owners.length
    assert_raises(Timeout::Error) { Timeout.timeout(0.2) { Trunkline::Client.connect(silent) } }
    assert Timeout.timeout(30) { silent.closed.pop }
    assert_raises(Trunkline::TransportError) { Trunkline::Client.connect(command: ["false"]) }
    eventually { owners.length == count }
  end
end
