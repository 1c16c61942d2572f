# frozen_string_literal: true

require "net/http"
require "rack"
require "socket"
require_relative "helper"

# Servers below Rack in puma, and clients and middleware that are difficult: `tests/mounts.json`.
class TestMounts < TrunklineTest
  TABLE = JSON.parse(File.read(File.expand_path("../../../tests/mounts.json", __dir__))).freeze
  PATH = "/api/v1/mcp"
  # More than the buffers of sockets hold.
  LARGE_BYTES = 8_000_000
  BOTH = { "accept" => "application/json, text/event-stream", "content-type" => "application/json" }.freeze
  # Far above what a slow machine needs.
  TEST_TIMEOUT = 30

  # Something that happens once.
  class Event
    def initialize
      @lock = Mutex.new
      @change = ConditionVariable.new
    end

    def happen
      @lock.synchronize do
        @happened = true
        @change.broadcast
      end
    end

    def happened? = @lock.synchronize { @happened ? true : false }

    def wait
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + TEST_TIMEOUT
      @lock.synchronize do
        until @happened
          left = deadline - Process.clock_gettime(Process::CLOCK_MONOTONIC)
          raise "it is late" if left <= 0

          @change.wait(@lock, left)
        end
      end
    end
  end

  # A mounted server.
  class Site
    attr_reader :server, :started, :released, :cancelled, :port

    # The middleware of the case is around the application.
    def initialize(options, &around)
      @started, @released, @cancelled = Array.new(3) { Event.new }
      # A client that has disconnected is noticed at the next write.
      @server = Trunkline::Server.new("mounted", version: "1", keep_alive: 0.2)
      add_tools
      @written = Thread::Queue.new
      given = { json: options["json"], write_timeout: options["writeTimeoutMs"]&.fdiv(1000) }.compact
      server = @server
      mounted = Rack::Builder.app { map("/api/v1") { run server.rack_app(path: "/mcp", **given) } }
      @web = Puma::Server.new(counted(around ? around.call(mounted) : mounted))
      @port = @web.add_tcp_listener("127.0.0.1", 0).addr[1]
      @web.run
    end

    # Waits until puma has written a response, or has given it up.
    def wait_written = Timeout.timeout(TEST_TIMEOUT) { @written.pop }

    def close
      @released.happen
      @server.close
      @web.stop(true)
    end

    # The status and the headers of a response, and its text.
    def post(tool, path: PATH, call: TestMounts.call(tool))
      headers, body = call
      Net::HTTP.start("127.0.0.1", @port, read_timeout: TEST_TIMEOUT) { |http| http.post(path, body, headers) }
    end

    def others
      response = post("echo")
      response.code == "200" && response.body.include?("echoed") ? "served" : response.body
    end

    # A connection on which a call was sent, or only the start of its body.
    def raw(tool, call: TestMounts.call(tool), send: nil, length: nil)
      headers, body = call
      socket = Socket.new(:INET, :STREAM)
      # A large buffer takes long until it has room again.
      socket.setsockopt(:SOCKET, :RCVBUF, 256 << 10)
      socket.connect(Addrinfo.tcp("127.0.0.1", @port))
      lines = { "host" => "127.0.0.1", **headers, "content-length" => length || body.bytesize, "connection" => "close" }
      socket.write("POST #{PATH} HTTP/1.1\r\n#{lines.map { |name, value| "#{name}: #{value}\r\n" }.join}\r\n#{send ? body[0, send] : body}")
      [socket, send ? body[send..] : ""]
    end

    def session
      params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "legacy", version: "1" } }
      hello = JSON.generate(jsonrpc: "2.0", id: 1, method: "initialize", params: params)
      opened = post(nil, call: [BOTH, hello])
      wait_written
      { "mcp-session-id" => opened["mcp-session-id"], "mcp-protocol-version" => "2025-11-25" }
    end

    private

    def add_tools
      waits = lambda do |ctx|
        ctx.progress(1)
        @started.happen
        begin
          ctx.sleep(0.01) until @released.happened?
          "released"
        ensure
          @cancelled.happen if ctx.cancelled?
        end
      end
      @server.tool("waits") { |ctx| waits.call(ctx) }
      @server.tool("large") do |ctx|
        ctx.progress(1)
        "x" * LARGE_BYTES
      end
      @server.tool("fills") do |ctx|
        ctx.progress(1, total: 2, message: "x" * LARGE_BYTES)
        waits.call(ctx)
      end
      @server.tool("echo") { |text:| text }
    end

    def counted(app)
      lambda do |env|
        status, headers, body = app.call(env)
        [status, headers, Rack::BodyProxy.new(body) { @written << true }]
      end
    end
  end

  # The headers and the message of a call: of 2026-07-28, or in a session.
  def self.call(tool, session = nil)
    about = { protocolVersion: "2026-07-28", clientCapabilities: {}, clientInfo: { name: "difficult", version: "1" } }
    meta = session ? {} : about.transform_keys { |name| "io.modelcontextprotocol/#{name}" }
    params = { name: tool, arguments: tool == "echo" ? { text: "echoed" } : {}, _meta: { progressToken: 1, **meta } }
    described = { "mcp-protocol-version" => "2026-07-28", "mcp-method" => "tools/call", "mcp-name" => tool }
    [{ **BOTH, **(session || described) }, JSON.generate(jsonrpc: "2.0", id: 2, method: "tools/call", params: params)]
  end

  # The methods that return what a client sees.
  PLAYS = {
    "stuck reader" => :stuck_reader, "slow reader" => :slow_reader, "slow body" => :slow_body, "gone within its body" => :gone_within_its_body,
    "gone" => :gone, "legacy client gone" => :legacy_client_gone, "deadline" => :deadline, "shutdown" => :shutdown,
    "compression" => :compression, "prefix" => :prefix
  }.freeze

  TABLE.each do |row|
    define_method(:"test_#{row["name"].gsub(/\W/, "_")}_below_rack_in_puma") do
      skip "needs puma" unless puma?
      skip row["lacks"]["puma"] if row.dig("lacks", "puma")

      assert_equal row["seen"], send(PLAYS.fetch(row["play"]), row)
    end
  end

  def puma?
    require "puma"
    require "puma/server"
    true
  rescue LoadError
    false
  end

  def on_site(row, &around)
    @site = Site.new(row["options"], &around)
  end

  def teardown
    @site&.close
    super
  end

  # puma waits for a stuck client for 10 seconds.
  def with_write_timeout_of_puma(seconds)
    Puma::Request.const_set(:WRITE_TIMEOUT, seconds)
    yield
  ensure
    Puma::Request.send(:remove_const, :WRITE_TIMEOUT)
  end

  def stuck_reader(row)
    with_write_timeout_of_puma(row["options"]["writeTimeoutMs"].fdiv(1000)) do
      site = on_site(row)
      stuck, = site.raw(row["tool"])
      site.wait_written
      others = site.others
      cut = read_all(stuck)
      assert cut.start_with?("HTTP/1.1 200 ") && cut.bytesize < LARGE_BYTES, "#{cut.bytesize} bytes: #{cut[0, 100]}"
      seen = { "response" => "given up", "others" => others }
      return seen unless row["tool"] == "fills"

      site.cancelled.wait
      seen.merge("call" => "cancelled")
    end
  end

  def read_all(socket)
    read = +""
    Timeout.timeout(TEST_TIMEOUT) { loop { read << socket.readpartial(65_536) } }
  rescue EOFError, SystemCallError
    read
  ensure
    socket.close
  end

  def slow_reader(row)
    with_write_timeout_of_puma(row["options"]["writeTimeoutMs"].fdiv(1000)) do
      slow, = on_site(row).raw(row["tool"])
      read = 0
      last = ""
      while (chunk = slow.read(65_536))
        read += chunk.bytesize
        last = (last + chunk)[-5..]
        sleep 0.04
      end
      slow.close
      { "response" => read > LARGE_BYTES && last == "0\r\n\r\n" ? "complete" : "cut after #{read} bytes" }
    end
  end

  def slow_body(row)
    site = on_site(row)
    slow, rest = site.raw(row["tool"], send: 20)
    others = site.others
    slow.write(rest)
    text = read_all(slow)
    { "response" => text.include?("echoed") ? "complete" : text, "others" => others }
  end

  def gone_within_its_body(row)
    site = on_site(row)
    site.raw(row["tool"], send: 20).first.close
    assert_equal "served", site.others
    # A closing server would wait for open requests.
    site.server.close
    { "started" => site.started.happened?, "open" => 0 }
  end

  # HTTP-24
  def gone(row)
    site = on_site(row)
    leaving, = site.raw(row["tool"])
    site.started.wait
    leaving.close
    site.cancelled.wait
    { "call" => "cancelled" }
  end

  # HTTP-22
  def legacy_client_gone(row)
    site = on_site(row)
    session = site.session
    leaving, = site.raw(row["tool"], call: TestMounts.call(row["tool"], session))
    site.started.wait
    leaving.close
    site.wait_written
    assert_equal "served", site.others
    refute site.cancelled.happened?
    told = JSON.generate(jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 })
    assert_equal "202", site.post(nil, call: [BOTH.merge(session), told]).code
    site.cancelled.wait
    { "call" => "cancelled by its message" }
  end

  # A deadline of middleware.
  class Late < RuntimeError; end

  def deadline(row)
    site = on_site(row) do |app|
      lambda do |env|
        next app.call(env) unless env["HTTP_MCP_NAME"] == row["tool"]

        # As the gem rack-timeout, but not by the clock.
        handling = Thread.current
        watching = Thread.new do
          @site.started.wait
          handling.raise(Late)
        end
        begin
          app.call(env)
        rescue Late
          [504, {}, []]
        ensure
          watching.kill
        end
      end
    end
    status = site.post(row["tool"]).code.to_i
    site.cancelled.wait
    { "status" => status, "call" => "cancelled", "others" => site.others }
  end

  def shutdown(row)
    site = on_site(row)
    streaming = Thread::Queue.new
    headers = BOTH.merge(site.session)
    stream = Thread.new do
      Net::HTTP.start("127.0.0.1", site.port, read_timeout: TEST_TIMEOUT) do |http|
        http.request(Net::HTTP::Get.new(PATH, headers)) do |response|
          streaming << true
          response.read_body
        end
      end
    end
    Timeout.timeout(TEST_TIMEOUT) { streaming.pop }
    calling = Thread.new { site.post(row["tool"]) }
    site.started.wait
    closing = Thread.new { Trunkline::RackApp.close_all }
    # The stream ends while the call still runs.
    assert stream.join(TEST_TIMEOUT)
    meanwhile = site.post("echo")
    site.released.happen
    text = calling.value.body
    assert closing.join(TEST_TIMEOUT)
    { "stream" => "ended", "call" => text.include?("released") ? "complete" : text,
      "meanwhile" => meanwhile.code.to_i, "connection" => meanwhile["connection"] }
  end

  def compression(row)
    site = on_site(row) { |app| Rack::Deflater.new(app) }
    first = nil
    rest = +""
    headers, body = TestMounts.call(row["tool"])
    response = Net::HTTP.start("127.0.0.1", site.port, read_timeout: TEST_TIMEOUT) do |http|
      http.request(Net::HTTP::Post.new(PATH, headers), body) do |streaming|
        streaming.read_body do |piece|
          # The first event may come in parts.
          rest << piece
          first ||= rest.dup.tap { site.released.happen } if rest.include?("\n\n")
        end
      end
    end
    { "events" => first.include?("notifications/progress") ? "at once" : "late",
      "call" => rest.include?("released") ? "complete" : rest, "cacheControl" => response["cache-control"] }
  end

  def prefix(row)
    site = on_site(row)
    row["seen"].keys.to_h { |path| [path, site.post(row["tool"], path: path).code.to_i] }
  end
end
