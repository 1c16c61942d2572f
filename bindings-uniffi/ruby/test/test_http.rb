# frozen_string_literal: true

require "net/http"
require "rack"
require "rack/etag"
require "rack/lint"
require "rack/mock"
require "socket"
require "tmpdir"
require_relative "helper"

class TestHttp < TrunklineTest
  def server
    @server ||= Trunkline::Server.new("http", version: "1").tap do |server|
      (@opened ||= []) << server
      server.tool("echo") { |text:| text }
      server.tool("stream") { |ctx| ctx.progress(1); ctx.sleep(0.05); "end" }
      server.tool("who") { |ctx| ctx.auth&.subject.to_s }
    end
  end

  def test_listens_until_the_block_ends
    url = nil
    server.listen(port: 0) do |listener|
      url = listener.url
      Trunkline::Client.connect(url: url) { |client| assert_equal "x", client.call_tool("echo", { text: "x" }).text }
      error = assert_raises(Trunkline::TransportError) { server.listen(port: listener.port) }
      assert_equal "EADDRINUSE", error.code
    end
    assert_raises(Trunkline::TransportError) { Trunkline::Client.connect(url: url) }
  end

  def test_tokens_are_verified
    verifier = lambda do |token|
      raise Trunkline::TokenError, "too old" if token.token == "old"

      Trunkline::Identity.new(subject: "ann") if token.token == "good"
    end
    server.listen(port: 0, auth: { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example"], verifier: verifier }) do |listener|
      Trunkline::Client.connect(url: listener.url, auth: "good") { |client| assert_equal "ann", client.call_tool("who").text }
      %w[bad old].each do |token|
        response = Net::HTTP.post(URI(listener.url), "{}", "authorization" => "Bearer #{token}", "content-type" => "application/json")
        assert_equal "401", response.code
      end
    end
  end

  def test_verifiers_are_released_with_their_listeners
    tables = Trunkline::Port.current.instance_variable_get(:@tables)
    served = server
    known = tables.keys
    auth = { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example"], verifier: ->(_) {} }
    listener = served.listen(port: 0, auth: auth)
    assert_equal 1, (tables.keys - known).size
    assert_raises(Trunkline::TransportError) { served.listen(port: listener.port, auth: auth) }
    listener.close
    eventually { (tables.keys - known).empty? }
  end

  CALL = { jsonrpc: "2.0", id: 1, method: "tools/call", params: {
    name: "echo", arguments: { text: "x" },
    _meta: { "io.modelcontextprotocol/protocolVersion" => "2026-07-28", "io.modelcontextprotocol/clientCapabilities" => {}, "io.modelcontextprotocol/clientInfo" => { name: "t", version: "1" } }
  } }.freeze

  def post(app, message, headers = {})
    name = message.dig(:params, :name).to_s
    given = { "CONTENT_TYPE" => "application/json", "HTTP_ACCEPT" => "application/json, text/event-stream", "HTTP_MCP_PROTOCOL_VERSION" => "2026-07-28",
              "HTTP_MCP_METHOD" => message[:method], "HTTP_MCP_NAME" => name, "HTTP_HOST" => "localhost" }
    Rack::MockRequest.new(Rack::Lint.new(app)).post("/anything", **given, **headers, input: JSON.generate(message))
  end

  def test_rack
    app = server.rack_app
    response = post(app, CALL)
    assert_equal 200, response.status
    assert_match(/"text":"x"/, response.body)
    assert_equal 403, post(app, CALL, "HTTP_HOST" => "evil.example").status
    assert_equal 405, Rack::MockRequest.new(Rack::Lint.new(app)).head("/anything", "HTTP_HOST" => "localhost").status
    params = CALL[:params].merge(name: "stream", arguments: {}, _meta: CALL[:params][:_meta].merge(progressToken: 1))
    stream = post(Rack::ETag.new(app), CALL.merge(params: params))
    assert_match(/notifications\/progress.*"text":"end"/m, stream.body)
    refute stream.headers.key?("ETag"), "the stream was collected"
  end

  def test_requests_whose_thread_is_interrupted_are_cancelled
    ended = Thread::Queue.new
    started = Thread::Queue.new
    server.tool("slow") do |ctx|
      started << true
      ctx.sleep(30)
    ensure
      ended << ctx.cancelled?
    end
    app = server.rack_app
    call = CALL.merge(params: CALL[:params].merge(name: "slow", arguments: {}))
    timeout = Class.new(Exception) # rubocop:disable Lint/InheritException
    [:kill.to_proc, ->(thread) { thread.raise(timeout) }, ->(thread) { thread.raise("late") }].each do |interrupt|
      thread = Thread.new { post(app, call) }.tap { |one| one.report_on_exception = false }
      Timeout.timeout(30) { started.pop }
      interrupt.call(thread)
      assert Timeout.timeout(30) { ended.pop }
    end
    assert_equal 200, post(app, CALL).status
    eventually { Trunkline::Port.current.instance_variable_get(:@exchanges).empty? }
  end

  def test_requests_with_bytes_that_are_not_text_are_answered
    app = server.rack_app
    assert_equal 200, post(app, CALL, "QUERY_STRING" => "a=\xFF".b).status
    assert_equal 415, post(app, CALL, "CONTENT_TYPE" => "text/\xFF".b).status
  end

  def test_rack_options_are_checked
    error = assert_raises(Trunkline::InvalidArgumentError) { server.rack_app(allowed_hots: ["x"]) }
    assert_match(/allowed_hosts/, error.message)
  end

  # puma repeats its signal to workers.
  def test_workers_of_puma_finish_their_calls
    ["preload_app! false", "preload_app!"].each do |preload|
      with_puma("workers 1\n#{preload}") do |url, pid|
        client = connected_to(url)
        assert_equal "done", client.call_tool("slow") { Process.kill(:TERM, pid) }.text
      ensure
        client&.close
      end
    end
  end

  def test_all_workers_of_puma_serve_a_server_that_was_preloaded
    with_puma("workers 2\npreload_app!") do |url, pid|
      answers = {}
      eventually do
        connected_to(url).then do |client|
          parent, worker, lifespan = JSON.parse(client.call_tool("pids").text)
          assert_equal [pid, worker], [parent, lifespan]
          answers[worker] = true
        ensure
          client.close
        end
        answers.length == 2
      end
      refute answers.key?(pid)
    end
  end

  def connected_to(url)
    eventually do
      Trunkline::Client.connect(url: url)
    rescue Trunkline::TransportError
      nil
    end
  end

  def with_puma(config)
    skip "needs puma and fork" unless Gem::Specification.any? { |gem| gem.name == "puma" } && Process.respond_to?(:fork)
    Dir.mktmpdir do |folder|
      port = free_port
      File.write("#{folder}/config.ru", <<~'RUBY')
        require "trunkline"
        lifespan = -> { Struct.new(:pid) { def close = nil }.new(Process.pid) }
        server = Trunkline::Server.new("puma", version: "1", lifespan: lifespan)
        server.tool("slow") { |ctx| ctx.progress(1); ctx.sleep(1); "done" }
        loaded = Process.pid
        server.tool("pids") { |ctx| [loaded, Process.pid, ctx.lifespan.pid] }
        # One that has already served.
        Trunkline::Client.connect(server: server) { |client| client.call_tool("pids") }
        run server.rack_app(stateless: true)
      RUBY
      File.write("#{folder}/puma.rb", "bind 'tcp://127.0.0.1:#{port}'\n#{config}\nplugin :trunkline\n")
      pid = spawn(RbConfig.ruby, "-I", LIB, "-S", "puma", "-C", "puma.rb", chdir: folder, out: File::NULL)
      yield "http://127.0.0.1:#{port}", pid
    ensure
      Process.kill(:TERM, pid)
      Process.wait(pid)
    end
  end

  def test_closed_servers_answer_503
    app = server.rack_app
    server.close
    assert_equal 503, post(app, CALL).status
  end
end
