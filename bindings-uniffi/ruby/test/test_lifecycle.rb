# frozen_string_literal: true

require "socket"
require "tmpdir"
require_relative "helper"

class TestLifecycle < TrunklineTest
  def test_programs_end_with_open_clients_and_servers
    _, errors, status = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("a") { "b" }
      client = Trunkline::Client.connect(server: server)
      listener = server.listen(port: 0)
      exit(client.call_tool("a").text == "b" ? 3 : 4)
    RUBY
    assert_equal 3, status.exitstatus
    assert_match(/\AINFO .* serving .*\n\z/, errors)
  end

  # At its end, Ruby unloads libraries whose threads still run.
  def test_the_library_is_never_unloaded
    return unless File.exist?("/proc/self/maps")

    path = File.realpath(Trunkline::Native.path)
    output, errors, = run_program(<<~RUBY)
      require "fiddle"
      Fiddle.dlopen(#{path.dump}).close
      puts File.read("/proc/self/maps").include?(#{path.dump})
    RUBY
    assert_equal ["true\n", ""], [output, errors]
  end

  def test_a_library_that_is_there_but_cannot_be_loaded_is_not_called_missing
    _, errors, = run_program(<<~RUBY)
      ENV["TRUNKLINE_RUBY_LIBRARY"] = #{__FILE__.dump}
      require "trunkline"
    RUBY
    assert_includes errors, "Could not open library"
    refute_includes errors, "is missing"
  end

  def test_a_library_that_is_not_usable_is_a_load_error
    return unless Trunkline::Native.path.end_with?(".so")

    Dir.mktmpdir do |folder|
      start = File.binread(Trunkline::Native.path, 1 << 20)
      { "half" => start, "short" => start, "head" => start[0, 64], "empty" => "" }.each { |name, bytes| File.binwrite("#{folder}/#{name}.so", bytes) }
      # By a single byte.
      File.truncate("#{folder}/short.so", File.size(Trunkline::Native.path) - 1)
      other = Dir["/{usr/,}lib{,64}/{,*-linux-gnu/}libffi.so*"].first
      { "half" => /is incomplete \(\d+ of at least \d+ bytes\): install/, "short" => /is incomplete/, "head" => /is incomplete/, "empty" => /Could not open library/, "none" => /is missing at .*TRUNKLINE_RUBY_LIBRARY names it/,
        other => /is not trunkline's native library for Ruby, although TRUNKLINE_RUBY_LIBRARY names it: that is libtrunkline_uniffi/ }.compact.each do |name, message|
        _, errors, status = run_program("ENV['TRUNKLINE_RUBY_LIBRARY'] = #{(name.start_with?("/") ? name : "#{folder}/#{name}.so").dump}; begin; require 'trunkline'; rescue LoadError; warn $!.message; exit 3; end")
        assert_equal [3, nil], [status.exitstatus, status.termsig], "#{name}: #{errors}"
        assert_match message, errors, name
      end
    end
  end

  # The variable may be set for Go.
  def test_the_variable_of_another_language_is_not_read
    output, errors, = Open3.capture3({ "TRUNKLINE_LIBRARY" => "/does/not/exist" }, RbConfig.ruby, "-I", LIB, "-r", "trunkline", "-e", "print Trunkline::VERSION")
    assert_equal Trunkline::VERSION, output, errors
  end

  def test_the_end_of_a_program_closes_lifespans
    output, errors, status = run_program(<<~RUBY)
      require "trunkline"
      resource = Object.new
      def resource.close = sleep(0.2) && puts("closed")
      server = Trunkline::Server.new("x", version: "1", lifespan: -> { resource })
      client = Trunkline::Client.connect(server: server)
      listener = server.listen(port: 0)
      client.ping
    RUBY
    assert_equal ["closed\n", 0], [output, status.exitstatus], errors
  end

  # As with minitest/autorun, or in the classic style of Sinatra.
  def test_programs_may_run_in_handlers_of_the_exit
    output, errors, status = run_program(<<~'RUBY')
      at_exit do
        listener = @server.listen(port: 0)
        Trunkline::Client.connect(url: listener.url) { |client| puts client.call_tool("echo", { text: "last" }).text }
      end
      require "trunkline"
      at_exit do
        puts @client.call_tool("echo", { text: "late" }).text
        Trunkline::Client.connect(server: @server) { puts "again" }
      end
      @server = Trunkline::Server.new("x", version: "1", lifespan: -> { Class.new { def close = puts("closed") }.new })
      @server.tool("echo") { |text:| text }
      @client = Trunkline::Client.connect(server: @server)
    RUBY
    assert_equal [%w[late again closed last closed], 0], [output.split, status.exitstatus], errors
  end

  def test_programs_end_while_handlers_run
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    _, errors, status = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("forever") { sleep }
      client = Trunkline::Client.connect(server: server)
      Thread.new { client.call_tool("forever") }.report_on_exception = false
      sleep 0.2
    RUBY
    assert_equal ["", 0], [errors, status.exitstatus]
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started, :<, 20
  end

  def test_unhandled_errors_end_the_program
    _, errors, status = run_program('require "trunkline"; c = Trunkline::Client.connect(command: ["/does/not/exist"])')
    assert_match(/TransportError/, errors)
    assert_equal 1, status.exitstatus
  end

  def test_stdio_servers_end_with_their_input
    output, errors, status = Open3.capture3(*program("puts 'noise'; server.tool('a') { puts 'more'; 'b' }"), stdin_data: "#{JSON.generate(initialize_request)}\n")
    assert_equal 0, status.exitstatus
    assert_equal "2025-11-25", JSON.parse(output.lines.last)["result"]["protocolVersion"]
    refute_match(/trunkline/, errors)
  end

  def test_lifespans_may_print
    text = "server = Trunkline::Server.new('p', version: '1', lifespan: -> { puts 'opening'; system('echo too'); 1 })"
    Trunkline::Client.connect(command: program("#{text}; server.tool('a') { |ctx| ctx.lifespan }"), stderr: "keep") do |client|
      assert_equal "1", client.call_tool("a").text
    end
  end

  def test_signals_end_servers
    %w[INT TERM].each do |signal|
      Open3.popen3(*program("")) do |input, output, _, thread|
        input.puts JSON.generate(initialize_request)
        output.gets
        Process.kill(signal, thread.pid)
        assert_equal 0, Timeout.timeout(30) { thread.value.exitstatus }, signal
      end
    end
  end

  def test_signals_that_the_program_handles_are_left_to_it
    text = "trap('INT') { $stderr.puts 'own' }; at_exit { $stderr.puts trap('INT', 'DEFAULT').class }"
    Open3.popen3(*program(text)) do |input, output, errors, thread|
      input.puts JSON.generate(initialize_request)
      output.gets
      Process.kill("INT", thread.pid)
      assert_equal "own\n", Timeout.timeout(30) { errors.gets }
      input.puts JSON.generate(jsonrpc: "2.0", id: 2, method: "ping")
      assert_match(/"id":2/, Timeout.timeout(30) { output.gets })
      Process.kill("TERM", thread.pid)
      assert_equal 0, Timeout.timeout(30) { thread.value.exitstatus }
      assert_equal "Proc\n", errors.read
    end
  end

  def test_signal_handlers_installed_while_serving_stay
    text = "server.tool('own') { trap('INT') {}; 'x' }; at_exit { $stderr.puts trap('INT', 'DEFAULT').class }"
    Open3.popen3(*program(text)) do |input, output, errors, thread|
      input.puts JSON.generate(initialize_request)
      output.gets
      input.puts JSON.generate(jsonrpc: "2.0", method: "notifications/initialized")
      input.puts JSON.generate(jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "own" })
      assert_match(/"text":"x"/, Timeout.timeout(30) { output.gets })
      Process.kill("TERM", thread.pid)
      assert_equal 0, Timeout.timeout(30) { thread.value.exitstatus }
      assert_equal "Proc\n", errors.read
    end
  end

  def test_signals_end_servers_while_they_open
    text = "server = Trunkline::Server.new('p', version: '1', lifespan: -> { $stderr.puts 'opening'; sleep })"
    ["serve_stdio", "serve_http(port: 0)"].each do |serve|
      Open3.popen3(*program(text, serve: serve)) do |_, _, errors, thread|
        errors.gets
        Process.kill(:TERM, thread.pid)
        assert_equal 0, Timeout.timeout(30) { thread.value.exitstatus }, "#{serve}: #{errors.read}"
      end
    end
  end

  def test_a_signal_ends_the_servers_of_all_threads
    text = <<~RUBY
      require "trunkline"
      threads = Array.new(2) do
        listener = Trunkline::Server.new("x", version: "1").listen(port: 0)
        Thread.new { listener.run }
      end
      sleep 0.01 until threads.all?(&:stop?)
      Process.kill(:TERM, Process.pid)
      exit(threads.all? { |thread| thread.join(25) } ? 3 : 4)
    RUBY
    _, errors, status = run_program(text)
    assert_equal 3, status.exitstatus, errors
  end

  # A tool that starts a child, ends it by a signal, and returns how it ended.
  CHILDREN = <<~'RUBY'
    require "timeout"
    child = lambda do |signal, &block|
      ready, started = IO.pipe
      pid = fork { block.call(started) }
      ready.readpartial(1)
      Process.kill(signal, pid)
      Timeout.timeout(25) { Process.wait2(pid)[1] }.then { |status| [status.termsig, status.exitstatus].inspect }
    ensure
      Process.kill(:KILL, pid) rescue nil # The child ends even after a failure.
    end
    server.tool("idle") do |signal:|
      child.call(signal) do |started|
        started.write(".") and sleep
      rescue Interrupt
        exit! 9
      end
    end
    server.tool("serving") do |signal:|
      child.call(signal) do |started|
        Thread.new do
          # Not the server of the parent.
          own = ->(name) { Trunkline::Foreground.instance_variable_get(name) }
          sleep 0.01 until own[:@pid] == Process.pid && own[:@serving].any?
          started.write(".")
        end
        server.serve_http(port: 0)
        exit! 7
      end
    end
  RUBY
  ENDS = { %w[idle TERM] => "[15, nil]", %w[idle INT] => "[nil, 9]", %w[serving TERM] => "[nil, 7]", %w[serving INT] => "[nil, 7]" }.freeze

  def test_signals_end_forked_children
    ends = lambda do |client|
      # The first call of a tool runs on another thread than the next.
      (ENDS.to_a * 2).each { |(tool, signal), ended| assert_equal ended, client.call_tool(tool, { signal: signal }, timeout: 30).text, "#{tool} #{signal}" }
    end
    Trunkline::Client.connect(command: program(CHILDREN), &ends)
    serving = [RbConfig.ruby, "-I", LIB, "-r", "trunkline", "-e", "server = Trunkline::Server.new('x', version: '1')\n#{CHILDREN}\nlistener = server.listen(port: 0)\nputs listener.url\n$stdout.flush\nlistener.run"]
    Open3.popen3(*serving) do |_, output, errors, thread|
      Trunkline::Client.connect(url: output.gets.chomp, &ends)
      Process.kill(:TERM, thread.pid)
      assert_equal 0, Timeout.timeout(30) { thread.value.exitstatus }, errors.read
    ensure
      # `popen3` waits for the process.
      Process.kill(:KILL, thread.pid) if thread.alive?
    end
  end

  def initialize_request
    { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } }
  end

  # Everything that a server may have, in every state, so that a child can compare it with the parent's.
  FULL = <<~'RUBY'
    require "trunkline"
    opened = []
    lifespan = -> { opened << Process.pid and Struct.new(:pid) { def close = nil }.new(Process.pid) }
    inner = Trunkline::Server.new("inner", version: "1")
    inner.tool("one") { "inner" }
    server = Trunkline::Server.new("x", version: "1", lifespan: lifespan, instructions: "Do.", store: "memory:")
    server.middleware("tools/call") { |request| request.proceed.tap { |result| result["_meta"] = { "first" => true } } }
    server.middleware("tools/call") { |request| request.proceed.tap { |result| result["_meta"] = { "second" => true } } }
    changed = server.tool("changed", description: "old") { "old" }
    server.tool("pid", output: { pid: Integer, lifespan: Integer }) { |ctx| { pid: Process.pid, lifespan: ctx.lifespan.pid } }
    hidden = server.tool("hidden") { "hidden" }
    shown = server.tool("shown", visible: ->(_) { true }) { "shown" }
    removed = server.tool("removed") { "removed" }
    server.resource("note://{name}", complete: { name: ->(start) { ["#{start}!"] } }) { |name:| name }
    server.prompt("plan") { |city:| city }
    server.skill({ "SKILL.md" => "---\nname: one\ndescription: A skill.\n---\nRead.\n" })
    server.request_handler("com.acme/x") { { pid: Process.pid } }
    server.provider("tools", Class.new { def list(*) = [{ name: "dynamic", inputSchema: { type: "object" } }] and def get(*) = "got" }.new)
    server.mount("in", inner)
    changed.update(description: "new") { "new" }
    [hidden, shown].each(&:disable)
    shown.enable
    removed.remove
    look = lambda do |client|
      tools = client.list_tools.map(&:to_h)
      calls = %w[changed shown dynamic in__one hidden removed].map { |name| client.call_tool(name).to_h rescue $!.message }
      own = client.call_tool("pid").structured_content
      others = [client.read_resource("note://a").to_h, client.get_prompt("plan", { city: "Oslo" }).to_h, client.list_skills.map(&:to_h), client.instructions,
                client.complete(Trunkline::ResourceTemplateReference.new(uri: "note://{name}"), { name: "name", value: "a" }).to_h]
      [[tools, calls, others].inspect, own.values + [client.request("com.acme/x")["pid"]]]
    end
  RUBY

  def test_servers_from_before_a_fork_work_in_every_child
    output, errors, = run_program(FULL + <<~'RUBY')
            listener = server.listen(port: 0)
            client = Trunkline::Client.connect(server: server)
            expected, pids = look.call(client)
            abort "the parent: #{pids}" unless pids.uniq == [Process.pid]
            children = Array.new(3) do |child|
              fork do
                # The parent's are left alone.
                client.close
                listener.close
                abort "open" if client.connected? || listener.open?
                # At once, as from the threads of a web server.
                clients = Array.new(4) { Thread.new { Trunkline::Client.connect(server: server) } }.map(&:value)
                found, pids = look.call(clients.first)
                warn "#{child}:
      #{found}
      instead of
      #{expected}" unless found == expected
                warn "#{child}: #{pids}" unless pids.uniq == [Process.pid]
                warn "#{child}: opened #{opened}" unless opened.count(Process.pid) == 1
                server.tool("own") { "own" }
                hidden.enable
                changed.update { "newer" }
                shown.remove
                warn "#{child}: changes" unless %w[own hidden changed].map { |name| clients.last.call_tool(name).text } == %w[own hidden newer]
                warn "#{child}: removed" unless (clients.last.call_tool("shown") rescue $!.is_a?(Trunkline::ProtocolError))
                warn "#{child}: listen" unless server.listen(port: 0) { |own| Trunkline::Client.connect(url: own.url) { |one| one.call_tool("own").text } } == "own"
                # A child of the child, and a server that was closed there.
                grandchild = fork { warn "#{child}: grandchild" unless Trunkline::Client.connect(server: server) { |one| one.call_tool("own").text } == "own" }
                Process.wait(grandchild)
                server.close
                begin
                  server.tool("late") { "" }
                  warn "#{child}: not closed"
                rescue Trunkline::ClosedError
                  puts "done"
                end
              end
            end
            children.each { |pid| Process.wait(pid) }
            found, = look.call(client)
            puts(found == expected)
    RUBY
    assert_equal (["done\n"] * 3) + ["true\n"], output.lines, errors
    assert_empty errors.lines.grep_v(/\A(INFO|WARN) /)
  end

  def test_a_server_closed_in_a_child_is_open_in_the_parent
    output, errors, = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("a") { "b" }
      client = Trunkline::Client.connect(server: server)
      Process.wait(fork { server.close })
      puts client.call_tool("a").text
    RUBY
    assert_equal "b\n", output, errors
  end

  def test_what_a_child_inherits_can_be_closed_there
    output, errors, = run_program(<<~'RUBY')
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("a", task: "optional") { "b" }
      app = server.rack_app
      app.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" })
      server.listen(port: 0) do |listener|
        Trunkline::Client.connect(url: listener.url) do |client|
          Trunkline::ClientGroup.connect({ g: client }) do |group|
            client.subscribe(tools: true) do |subscription|
              task = client.start_task("a")
              pid = fork
              next Process.wait(pid) && task.result if pid

              { app: app, server: server, listener: listener, client: client, group: group, subscription: subscription, task: task }.each do |name, one|
                2.times { one.close }
              rescue Exception => e
                puts "#{name}: #{e.inspect}"
              end
              # The blocks close them, too.
              at_exit { puts $!.inspect }
              exit 3
            end
            puts client.call_tool("a").text
          end
        end
      end
    RUBY
    assert_equal "#<SystemExit: exit>\nb\n", output, errors
  end

  def test_each_failure_after_a_fork_is_as_clear_as_the_first
    output, errors, = run_program(<<~'RUBY')
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("a") { "b" }
      outer = Trunkline::Server.new("outer", version: "1")
      client = Trunkline::Client.connect(server: server)
      proxy = outer.proxy(client)
      app = outer.rack_app
      listener = server.listen(port: 0)
      Process.wait(fork do
        uses = { "call" => -> { client.ping }, "rack" => -> { app.call({ "REQUEST_METHOD" => "GET" }) }, "connect" => -> { Trunkline::Client.connect(server: outer) }, "add" => -> { outer.tool("c") { "" } }, "wait" => -> { listener.wait } }
        uses.each do |name, use|
          messages = Array.new(3) { use.call and "nothing" rescue [$!.class, $!.message] }
          puts "#{name}: #{messages}" unless messages.uniq.length == 1 && messages[0][0] == Trunkline::ForkedError && messages[0][1].match?(/parent|before fork/)
        end
        # With what cannot be taken along removed, the rest works.
        proxy.remove
        outer.tool("c") { "d" }
        Trunkline::Client.connect(server: outer) { |own| puts own.call_tool("c").text }
      end)
    RUBY
    assert_equal "d\n", output, errors
  end

  def test_children_of_a_fork_get_a_clear_error
    output, errors, = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("a") { "b" }
      client = Trunkline::Client.connect(server: server)
      pid = fork do
        begin
          client.call_tool("a")
        rescue Trunkline::ForkedError => e
          puts "forked: \#{e.message}"
        end
        own = Trunkline::Server.new("y", version: "1")
        own.tool("c") { "d" }
        uses = [-> { own.proxy(client) }, -> { Trunkline::ClientGroup.connect({ g: client }) }]
        puts uses.count { |use| (use.call && false) rescue $!.is_a?(Trunkline::ForkedError) }
        own.mount("m", server)
        puts Trunkline::Client.connect(server: own) { |one| one.call_tool("c").text + one.call_tool("m__a").text }
      end
      Process.wait(pid)
      puts client.call_tool("a").text
    RUBY
    assert_match(/\Aforked: .*\n2\ndb\nb\n\z/, output, errors)
  end

  def test_lifespans_last_while_something_uses_the_server
    events = []
    resource = Struct.new(:name) { define_method(:close) { events << :closed } }
    server = Trunkline::Server.new("x", version: "1", lifespan: -> { events << :opened; resource.new("db") })
    server.tool("name") { |ctx| ctx.lifespan.name }
    2.times do
      Trunkline::Client.connect(server: server) do |one|
        assert_equal "db", one.call_tool("name").text
        Trunkline::Client.connect(server: server) { |two| two.call_tool("name") }
      end
    end
    assert_equal %i[opened closed opened closed], events
    failing = Trunkline::Server.new("y", version: "1", lifespan: -> { raise "no database" })
    [-> { failing.listen(port: 0) }, -> { Trunkline::Client.connect(server: failing) }].each do |use|
      error = assert_raises(RuntimeError, &use)
      assert_equal ["no database", nil], [error.message, error.cause]
    end
  ensure
    server&.close
  end

  def test_lifespans_of_mounted_servers_last_as_long_as_their_mount
    events = []
    resource = Struct.new(:name) { define_method(:close) { events << :closed } }
    inner = Trunkline::Server.new("inner", version: "1", lifespan: -> { events << :opened; resource.new("db") })
    inner.tool("name") { |ctx| ctx.lifespan.name }
    outer = Trunkline::Server.new("outer", version: "1")
    client = Trunkline::Client.connect(server: outer)
    mount = outer.mount("in", inner)
    assert_equal "db", client.call_tool("in__name").text
    mount.remove
    mount.remove
    assert_equal %i[opened], events
    client.close
    assert_equal %i[opened closed], events
    client = Trunkline::Client.connect(server: outer)
    Trunkline::Client.connect(server: outer, &:list_tools)
    assert_equal %i[opened closed], events
    failing = Trunkline::Server.new("failing", version: "1", lifespan: -> { raise "no database" })
    failing.tool("never") { "never" }
    outer.mount("out", failing)
    logged do
      refute_match(/database/, assert_raises(Trunkline::ProtocolError) { client.call_tool("out__never") }.message)
    end
  ensure
    client&.close
    [outer, inner, failing].each { |server| server&.close }
  end

  def test_a_lifespan_that_could_not_open_once_is_not_blamed_for_other_failures
    is_broken = true
    inner = Trunkline::Server.new("inner", version: "1", lifespan: -> { raise "no database" if is_broken })
    inner.tool("name") { "db" }
    outer = Trunkline::Server.new("outer", version: "1")
    outer.mount("in", inner)
    logged do
      Trunkline::Client.connect(server: outer) do |client|
        assert_raises(Trunkline::ProtocolError) { client.call_tool("in__name") }
      end
    end
    is_broken = false
    TCPServer.open("127.0.0.1", 0) do |taken|
      assert_raises(Trunkline::TransportError) { inner.listen(port: taken.addr[1]) }
    end
  ensure
    [outer, inner].each { |server| server&.close }
  end

  def test_a_lifespan_that_cannot_close_or_a_logger_that_fails_hold_up_nobody
    logger, Trunkline.logger = Trunkline.logger, Object.new
    stuck = Object.new.tap { |one| one.define_singleton_method(:close) { raise NotImplementedError, "stuck" } }
    server = Trunkline::Server.new("stuck", version: "1", lifespan: -> { stuck })
    Timeout.timeout(30) { Trunkline::Client.connect(server: server, &:list_tools) }
  ensure
    Trunkline.logger = logger
    server&.close
  end

  def test_a_server_keeps_what_it_mounts_and_proxies
    outer = Trunkline::Server.new("outer", version: "1")
    # In threads, because a stack may still refer to what a method has returned.
    Thread.new { outer.mount("in", Trunkline::Server.new("inner", version: "1").tap { |inner| inner.tool("one") { "one" } }) }.join
    behind = Trunkline::Server.new("behind", version: "1")
    behind.tool("two") { "two" }
    removed = Thread.new { outer.proxy(Trunkline::Client.connect(server: behind), prefix: "by") }.value
    3.times { GC.start }
    Trunkline::Client.connect(server: outer) do |client|
      assert_equal %w[one two], %w[in__one by__two].map { |name| client.call_tool(name).text }
      removed.remove
      assert_equal %w[in__one], client.list_tools.map(&:name)
    end
    assert_equal 1, outer.instance_variable_get(:@entries).length
  ensure
    [outer, behind].each { |one| one&.close }
  end

  def test_what_is_open_keeps_its_server
    behind = Trunkline::Server.new("behind", version: "1")
    behind.tool("one") { "one" }
    # In threads, because a stack may still refer to what a method has returned.
    listener = Thread.new { Trunkline::Server.new("x", version: "1").listen(port: 0) }.value
    client = Thread.new do
      Trunkline::Client.connect(server: Trunkline::Server.new("outer", version: "1").tap { |outer| outer.proxy(Trunkline::Client.connect(server: behind), prefix: "by") })
    end.value
    3.times { GC.start }
    assert_equal "one", client.call_tool("by__one").text
    listener.close
    refute listener.open?
  ensure
    [client, behind].each { |one| one&.close }
  end

  def test_a_mount_that_is_refused_leaves_the_one_before
    inner = Trunkline::Server.new("inner", version: "1")
    inner.tool("one") { "one" }
    outer = Trunkline::Server.new("outer", version: "1")
    mount = outer.mount("in", inner)
    assert_raises(Trunkline::InvalidArgumentError) { outer.mount("again", inner) }
    2.times { mount.remove }
    outer.mount("in", inner)
    mount.remove
    Trunkline::Client.connect(server: outer) { |client| assert_equal %w[in__one], client.list_tools.map(&:name) }
  ensure
    [outer, inner].each { |one| one&.close }
  end

  def test_what_opens_after_its_listener_was_closed_is_closed
    started = Thread::Queue.new
    finish = Thread::Queue.new
    closed = Thread::Queue.new
    resource = Class.new { define_method(:close) { closed << true } }.new
    server = Trunkline::Server.new("x", version: "1", lifespan: -> { started << true; finish.pop; resource })
    opening = Thread.new { server.listen(port: 0) }
    opening.report_on_exception = false
    started.pop
    opening.kill.join
    sleep 0.1
    finish << true
    Timeout.timeout(30) { closed.pop }
    finish << true
    Trunkline::Client.connect(server: server, &:ping)
    assert_equal [1, 1], [started.length, closed.length]
  ensure
    server&.close
  end

  def test_garbage_collection_under_load
    client = connected do |server|
      server.tool("grow", input: { n: Integer }) { |ctx, n:| ctx.progress(1); Array.new(n) { |i| "item #{i}" } }
    end
    GC.stress = false
    threads = Array.new(4) do |thread|
      Thread.new do
        20.times do |round|
          GC.start if (round % 5).zero?
          assert_equal "item #{thread}", JSON.parse(client.call_tool("grow", { n: thread + 1 }).text).last
        end
      end
    end
    threads.each(&:join)
    20.times { |i| Trunkline::Server.new("dropped #{i}", version: "1").tool("a") { "b" } }
    GC.start
    assert_equal "item 0", JSON.parse(client.call_tool("grow", { n: 1 }).text).last
  end

  # Their blocks refer to them, as those of every program do.
  def test_servers_that_nothing_refers_to_are_freed
    output, errors, = run_program(<<~'RUBY')
      require "trunkline"
      make = lambda do |number|
        inner = Trunkline::Server.new("inner", version: "1")
        inner.tool("one") { "inner" }
        server = Trunkline::Server.new("dropped", version: "1", on_error: ->(_) { server.inspect })
        server.tool("a", visible: ->(_) { server.inspect }) { server.inspect && number.to_s }
        server.tool("b") { "" }.then { |tool| tool.update(description: "c") and tool.remove }
        server.resource("x://{y}", complete: { y: ->(_) { server.inspect } }) { server.inspect }
        server.mount("in", inner)
        # Every other one is used, and one of them is still open.
        client = Trunkline::Client.connect(server: server) if number.even?
        abort "call" unless client.nil? || client.call_tool("a").text == number.to_s
        client&.close unless number == 50
        number == 50 ? client : nil
      end
      open = Array.new(100) { |number| Thread.new { make.call(number) }.value }[50]
      table = -> { Trunkline::Port.current.instance_variable_get(:@tables).length }
      live = -> { ObjectSpace.each_object(Trunkline::Server).count }
      # Each of the 100 servers has several entries while it lives.
      freed = -> { live.call <= 10 && table.call < 100 }
      deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
      # A stack may still refer to some.
      until freed.call || Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
        GC.start
        sleep 0.02
      end
      puts [freed.call, live.call >= 2, open.call_tool("a").text, open.call_tool("in__one").text].inspect
    RUBY
    assert_equal "[true, true, \"50\", \"inner\"]\n", output, errors
  end

  def test_weak_references
    kept = Object.new
    map = Class.new { define_method(:initialize) { |object| (@map = ObjectSpace::WeakMap.new)[:object] = object } and def get = @map[:object] }
    # Both forms, whatever this version of Ruby uses.
    [Trunkline::Weak, map].each do |type|
      assert_same kept, type.new(kept).get
      dropped = Thread.new { Array.new(100) { type.new(Object.new) } }.value
      eventually do
        GC.start
        dropped.count(&:get) < 10
      end
      assert_same kept, type.new(kept).tap { GC.compact if GC.respond_to?(:compact) && type == Trunkline::Weak }.get
    end
  end

  def test_clients_that_nothing_refers_to_are_closed
    server = Trunkline::Server.new("x", version: "1", lifespan: -> { Class.new { def close = CLOSED << true }.new })
    Thread.new { Array.new(5) { Trunkline::Client.connect(server: server).ping } }.join
    eventually do
      GC.start
      !CLOSED.empty?
    end
  ensure
    server&.close
  end
  CLOSED = Thread::Queue.new

  def test_streams_and_groups_keep_the_clients_that_they_use
    server = Trunkline::Server.new("x", version: "1")
    server.tool("one", task: "optional") { |ctx| ctx.sleep(0.2); "one" }
    connect = -> { Trunkline::Client.connect(server: server) }
    # In threads, because a stack may still refer to what a method has returned.
    changes = Thread.new { connect.call.subscribe(tools: true) }.value
    task = Thread.new { connect.call.start_task("one") }.value
    group = Thread.new { Trunkline::ClientGroup.connect({ a: connect.call }) }.value
    Thread.new { group.add_server("b", connect.call) }.join
    5.times { GC.start }
    server.tool("two") { "two" }
    assert_equal "tools", changes.next(timeout: 30).kind
    assert_equal "one", task.result(timeout: 30).text
    assert_equal %w[two two], %w[a__two b__two].map { |name| group.call_tool(name).text }
    group.remove_server("b")
    assert_equal [:a], group.instance_variable_get(:@clients).map(&:first)
  ensure
    [changes, task, group, server].each { |one| one&.close }
  end

  def test_gc_stress_in_native_calls
    client = connected { |server| server.tool("a") { |text:| text } }
    native = Trunkline::Port.current.native
    GC.stress = 1 # without major collections, which take too long here
    version = Trunkline::Native.version
    error = begin
      native.describe(12_345)
    rescue Trunkline::InvalidArgumentError => e
      e
    end
    GC.stress = false
    assert_equal Trunkline::VERSION, version
    assert_kind_of Trunkline::InvalidArgumentError, error
    assert_equal "x", client.call_tool("a", { text: "x" }).text
  ensure
    GC.stress = false
  end

  def test_compaction
    client = connected { |server| server.tool("a") { |text:| text } }
    5.times do |round|
      GC.compact if GC.respond_to?(:compact)
      assert_equal round.to_s, client.call_tool("a", { text: round.to_s }).text
    end
  end

  def test_compaction_beside_rack_apps
    _, errors, status = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      kept = []
      1000.times do |round|
        gap = Array.new(rand(200)) { Object.new }
        app = server.rack_app
        kept << app if (round % 3).zero?
        gap.clear
        GC.compact if (round % 17).zero? && GC.respond_to?(:compact)
        kept.delete_at(rand(kept.length)) if (round % 4).zero?
      end
      Trunkline::RackApp.close_all
      exit 3
    RUBY
    assert_equal 3, status.exitstatus, errors
  end

  def test_closed_servers_and_clients_refuse
    server = Trunkline::Server.new("x", version: "1")
    client = Trunkline::Client.connect(server: server)
    client.close
    client.close
    refute client.connected?
    assert_raises(Trunkline::ClosedError) { client.list_tools }
    open = Trunkline::Client.connect(server: server)
    server.close
    server.close
    refute open.connected?
    assert_raises(Trunkline::ClosedError) { open.list_tools }
    assert_raises(Trunkline::ClosedError) { server.resource_updated("x://y") }
  end
end
