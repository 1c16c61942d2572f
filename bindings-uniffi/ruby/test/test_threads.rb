# frozen_string_literal: true

require_relative "helper"

class TestThreads < TrunklineTest
  def test_calls_run_at_the_same_time
    arrived = Thread::Queue.new
    go = Thread::Queue.new
    client = connected { |server| server.tool("meet") { arrived << true; go.pop; "met" } }
    threads = Array.new(8) { Thread.new { client.call_tool("meet").text } }
    Timeout.timeout(30) { 8.times { arrived.pop } }
    8.times { go << true }
    assert_equal ["met"] * 8, threads.map(&:value)
  end

  # A handler that was short runs on the thread that receives events. When it blocks or ends that thread,
  # another one goes on.
  def test_a_short_handler_that_blocks_holds_up_nothing
    began, go = Array.new(2) { Thread::Queue.new }
    client = connected do |server|
      server.tool("once", input: { kind: String }) do |ctx, kind:|
        began << true unless kind == "short"
        go.pop if kind == "blocks"
        ctx.sleep(60) if kind == "waits"
        Thread.exit if kind == "exits"
        kind
      end
    end
    Timeout.timeout(60) do
      %w[blocks exits waits blocks].each do |kind|
        20.times { client.call_tool("once", { kind: "short" }) }
        thread = Thread.new { client.call_tool("once", { kind: kind }, timeout: kind == "waits" ? 1 : 60) }
        thread.report_on_exception = false
        began.pop
        3.times { assert_equal "short", client.call_tool("once", { kind: "short" }).text }
        go << true if kind == "blocks"
        next assert_raises(Trunkline::TimeoutError) { thread.value } if kind == "waits"

        assert_equal kind == "exits", thread.value.is_error ? true : false
      end
    end
  end

  # An event that stayed behind would wait for the handlers of the others.
  def test_events_that_do_not_fit_into_the_buffer_cross_with_the_others
    native = Trunkline::Native::Port.new
    server = native.register("server", '{"info":{"name":"test","version":"1"}}')
    tools = Array.new(3) do |number|
      native.register("tool", JSON.generate(server: server, tool: { name: "tool#{number}", inputSchema: { type: "object" } }))
    end
    tools.each { |tool| native.unregister(tool) }
    # Enough for two that report the end of a tool.
    room = FFI::MemoryPointer.new(100)
    assert_equal(-1, Trunkline::Native.plain_drain(native.instance_variable_get(:@plain), 9, 0, room, room.size))
    assert_equal tools, native.drain(9, 0).map { |event| event[2] }
  ensure
    native&.close(0, 0)
  end

  def test_a_handler_that_blocks_holds_up_no_call_that_does_not_fit_into_the_buffer
    began, go, arrived = Array.new(3) { Thread::Queue.new }
    client = connected do |server|
      server.tool("once", input: { blocks: :boolean }) { |blocks:| blocks ? (began << true) && go.pop : "short" }
      server.tool("length", input: { text: String }) { |text:| text.length.to_s }
    end
    gate = Mutex.new
    native = Trunkline::Port.current.native
    native.define_singleton_method(:drain) do |*arguments|
      arrived << true
      gate.synchronize { nil }
      super(*arguments)
    end
    native.define_singleton_method(:stand_by) { |grace_us, _| super(grace_us, 600_000) }
    20.times { client.call_tool("once", { blocks: false }) }
    gate.lock
    arrived.clear
    threads = [Thread.new { client.call_tool("once", { blocks: false }).text }]
    Timeout.timeout(30) { arrived.pop }
    # Both calls are pending when the next batch is drained.
    [["once", { blocks: true }], ["length", { text: "a" * 100_000 }]].each do |name, given|
      threads << Thread.new { client.call_tool(name, given).text }
      sleep 0.2
    end
    gate.unlock
    assert threads.last.join(30), "it waits for the handler"
    Timeout.timeout(30) { began.pop }
    go << "done"
    assert_equal %w[short done 100000], threads.map(&:value)
  ensure
    gate&.unlock if gate&.owned?
    go << "done" if threads&.any?(&:alive?)
    %i[drain stand_by].each { |name| native&.singleton_class&.remove_method(name) }
  end

  # The thread of the port may run between the request and the wait, as it does beside many others.
  def test_a_reply_may_arrive_before_anyone_waits_for_it
    requests = Trunkline::Requests.new(nil, Struct.new(:size) { def waiting = yield }.new)
    pending = requests.start { 7 }
    requests.receive_reply(7, true, +"[1]")
    assert_equal [1], Timeout.timeout(30) { requests.wait(pending) }
  end

  def test_a_reply_that_cannot_be_read_fails_its_request
    requests = Trunkline::Requests.new(nil, Struct.new(:size) { def waiting = yield }.new)
    pending = requests.start { 7 }
    requests.receive_reply(7, true, +'{"a": ')
    assert_raises(Trunkline::TransportError) { Timeout.timeout(30) { requests.wait(pending) } }
    assert_kind_of Trunkline::TransportError, Trunkline::Requests.error(+"{")
  end

  def test_handlers_that_wait_for_handlers_do_not_use_up_the_threads
    client = nil
    client = connected do |server|
      server.tool("down", input: { n: Integer }) { |n:| n.zero? ? "0" : client.call_tool("down", { n: n - 1 }).text + " #{n}" }
    end
    assert_match(/\A0 1 .* 100\z/, Timeout.timeout(30) { client.call_tool("down", { n: 100 }).text })
  end

  def test_the_number_of_threads_is_checked
    [0, "many"].each { |count| assert_raises(Trunkline::InvalidArgumentError, ArgumentError) { Trunkline.max_threads = count } }
    assert_equal 64, Trunkline.max_threads
  end

  # The event of a cancellation may arrive after the handler has failed because of it.
  def test_what_a_cancelled_call_raises_is_not_reported
    core = Struct.new(:is_over) do
      def cancelled(_) = is_over
      def fail(*) = true
    end
    pool = Struct.new(:size) { def run(_, **) = yield }.new
    callable = Trunkline::Callable.new(run: ->(*) { raise "late" }, where: "the handler")
    logged do |records|
      counts = [true, false].map do |is_over|
        native = core.new(is_over)
        Trunkline::Calls.new(native, Trunkline::Requests.new(native, pool), pool).start(7, callable, +"{}", 0)
        records.length
      end
      assert_equal [0, 1], counts
    end
  end

  def test_other_threads_run_while_one_waits
    count = 0
    client = connected { |server| server.tool("slow") { eventually { count > 20 } && "done" } }
    counting = Thread.new { loop { count += 1; sleep 0.001 } }
    assert_equal "done", client.call_tool("slow").text
    counting.kill
  end

  def test_a_fiber_scheduler_is_not_blocked
    skip "needs a scheduler" unless Fiber.respond_to?(:set_scheduler)
    client = connected { |server| server.tool("slow") { |ctx, n:| ctx.sleep(0.1); n.to_s } }
    require_relative "scheduler"
    started = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    results = []
    Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      5.times { |n| Fiber.schedule { results << client.call_tool("slow", { n: n }).text } }
    end.join
    assert_equal %w[0 1 2 3 4], results.sort
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started, :<, 5
  end

  def test_a_handler_that_ends_its_thread_costs_one_call
    client = connected do |server|
      server.tool("gone") { Thread.exit }
      server.tool("here") { "here" }
    end
    70.times { assert client.call_tool("gone", {}, timeout: 30).is_error }
    assert_equal "here", client.call_tool("here").text
  end

  def test_a_handler_that_ends_its_thread_makes_room_for_the_next
    pool = Trunkline::Pool.new(1)
    go = Thread::Queue.new
    ran = Thread::Queue.new
    pool.run { go.pop && Thread.exit }
    pool.run { ran << true }
    go << true
    assert Timeout.timeout(30) { ran.pop }
  end

  def test_handlers_run_after_idle_threads_were_killed
    client = connected { |server| server.tool("here") { "here" } }
    assert_equal "here", client.call_tool("here").text
    pool = Trunkline::Port.current.pool
    eventually { pool.instance_variable_get(:@idle).positive? }
    Thread.list.select { |one| one.thread_variable_get(:trunkline_pool) == pool }.each { |one| one.kill.join }
    assert_equal "here", client.call_tool("here", {}, timeout: 30).text
  end

  # Jobs of the pool that run until the test releases them.
  def flood(pool, caller, count, started, go)
    count.times { |number| pool.run(-> { caller }) { started << [caller, number] and go.pop } }
  end

  def taken(queue, count) = Array.new(count) { Timeout.timeout(30) { queue.pop } }

  def test_callers_take_turns
    pool = Trunkline::Pool.new(2)
    started, go = Thread::Queue.new, Thread::Queue.new
    flood(pool, :alice, 50, started, go)
    flood(pool, :bob, 3, started, go)
    flood(pool, nil, 3, started, go)
    taken(started, 2)
    next_ones = Array.new(9) { go << true and taken(started, 1)[0] }
    assert_equal({ alice: 3, bob: 3, nil => 3 }, next_ones.map(&:first).tally)
    assert_equal [0, 1, 2], next_ones.filter_map { |caller, number| number if caller == :bob }
    60.times { go << true }
    taken(started, 45)
    eventually { pool.instance_variable_get(:@count).zero? && pool.instance_variable_get(:@jobs).empty? }
  end

  def test_some_threads_are_left_to_callers_who_have_none
    pool = Trunkline::Pool.new(16)
    started, go = Thread::Queue.new, Thread::Queue.new
    flood(pool, :alice, 100, started, go)
    assert_equal [:alice], taken(started, 14).map(&:first).uniq
    flood(pool, :bob, 5, started, go)
    assert_equal [[:bob, 0]], taken(started, 1)
    flood(pool, :carol, 5, started, go)
    assert_equal [[:carol, 0]], taken(started, 1)
    sleep 0.05
    assert_empty started
    200.times { go << true }
    assert_equal({ alice: 86, bob: 4, carol: 4 }, taken(started, 94).map(&:first).tally)
    # Idle threads run later jobs.
    flood(pool, :bob, 2, started, go)
    taken(started, 2)
  end

  def test_jobs_that_are_over_before_their_turn_are_forgotten
    pool = Trunkline::Pool.new(16)
    started, go = Thread::Queue.new, Thread::Queue.new
    flood(pool, :alice, 14, started, go)
    taken(started, 14)
    20_000.times { pool.run(-> { :alice }, over: -> { true }) { started << :late } }
    assert_operator pool.instance_variable_get(:@jobs).each_value.sum(&:length), :<, 2000
    14.times { go << true }
  end

  def test_callers_without_a_token_may_use_all_threads
    pool = Trunkline::Pool.new(16)
    started, go = Thread::Queue.new, Thread::Queue.new
    flood(pool, nil, 20, started, go)
    taken(started, 16)
    20.times { go << true }
    taken(started, 4)
  end

  def test_a_job_whose_thread_cannot_begin_is_refused
    pool = Trunkline::Pool.new(2)
    pool.define_singleton_method(:begin_thread) { |&remove| raise ThreadError if remove.call }
    assert_raises(ThreadError) { pool.run { nil } }
    assert_equal [0, {}], %i[@count @jobs].map { |name| pool.instance_variable_get(name) }
  end

  def test_one_principal_does_not_hold_up_another
    output, errors, = run_program(<<~'RUBY')
      require "trunkline"
      Trunkline.max_threads = 16
      server = Trunkline::Server.new("x", version: "1")
      started, go = Thread::Queue.new, Thread::Queue.new
      server.tool("block") { started << true and go.pop and "late" }
      server.tool("now") { |ctx| ctx.auth.subject }
      verifier = ->(token) { Trunkline::Identity.new(subject: token.token) }
      auth = { resource: "http://127.0.0.1/mcp", authorization_servers: ["https://login.example"], verifier: verifier }
      server.listen(port: 0, auth: auth) do |listener|
        alice = Trunkline::Client.connect(url: listener.url, auth: "alice")
        threads = Array.new(40) { Thread.new { alice.call_tool("block").text } }
        # Alice gets all but an eighth of the threads.
        14.times { started.pop }
        # While none of hers ends.
        puts Trunkline::Client.connect(url: listener.url, auth: "bob") { |bob| bob.call_tool("now", {}, timeout: 15).text }
        40.times { go << true }
        puts threads.map(&:value).tally
        alice.close
      end
    RUBY
    assert_equal ["bob\n", "{\"late\"=>40}\n"], output.lines, errors
  end

  def test_an_interrupted_wait_does_not_raise_the_limit
    pool = Trunkline::Pool.new(1)
    lock = pool.instance_variable_get(:@lock)
    ended = Thread::Queue.new
    pool.run do
      pool.waiting { lock.define_singleton_method(:synchronize) { singleton_class.remove_method(:synchronize) && raise("late") } }
    rescue RuntimeError => e
      ended << e.message
    end
    assert_equal "late", Timeout.timeout(30) { ended.pop }
    eventually { pool.instance_variable_get(:@idle) == 1 }
    2.times { pool.run { 2.times { ended << Thread.current and sleep 0.05 } } }
    assert_equal 1, Array.new(4) { Timeout.timeout(30) { ended.pop } }.uniq.length
  end

  def test_requests_fail_if_the_thread_of_events_ends
    _, errors, status = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("slow") { |ctx| ctx.sleep(60) }
      client = Trunkline::Client.connect(server: server)
      Thread.new { sleep 0.2; Thread.list.find { |one| one.name == "trunkline" }.kill; client.ping rescue nil }
      begin
        client.call_tool("slow")
      rescue Trunkline::ClosedError
        begin
          client.ping
        rescue Trunkline::ClosedError
          exit 3
        end
      end
    RUBY
    assert_equal 3, status.exitstatus, errors
  end

  def test_a_logger_that_blocks_delays_nothing_else
    held = Thread::Queue.new
    client = connected { |server| server.tool("wrong", output: { a: String }) { { a: 1 } } }
    logged do
      Trunkline.logger.define_singleton_method(:error) { |_| held.pop }
      3.times { assert client.call_tool("wrong", {}, timeout: 30).is_error }
      3.times { held << true }
    end
  end

  def test_slow_handlers_of_notifications_lose_the_newest
    handled = Thread::Queue.new
    released = Thread::Queue.new
    receive = lambda do |message|
      handled << message.data.length
      released.pop
    end
    client = connected({ on_log: receive, log_level: "debug" }) do |server|
      server.tool("say", input: { length: Integer }) { |ctx, length:| ctx.info("x" * length) }
    end
    say = ->(length) { client.call_tool("say", { length: length }) }
    say.call(2)
    assert_equal 2, Timeout.timeout(30) { handled.pop }
    logged do |records|
      [*[1_000_000] * 5, 1].each(&say)
      assert_match(/dropped notifications/, Timeout.timeout(30) { records.pop })
    end
    released.close
    assert_equal [*[1_000_000] * 4, 1], Array.new(5) { Timeout.timeout(30) { handled.pop } }
    # There is room again.
    say.call(1_000_000)
    assert_equal 1_000_000, Timeout.timeout(30) { handled.pop }
  ensure
    released.close
  end

  def test_slow_blocks_for_progress_lose_the_oldest
    queue = Trunkline::Backlog.new(3)
    assert_equal [false, false, false, true, true], Array.new(5) { |n| queue.push(n) }
    assert_equal [2, 3, 4], Array.new(3) { queue.pop }
  end

  def test_a_slow_handler_of_notifications_holds_up_no_other_client
    held = Thread::Queue.new
    arrived = Thread::Queue.new
    say = ->(server) { server.tool("say") { |ctx| ctx.info("said") } }
    slow = connected({ on_log: ->(_) { held.pop }, log_level: "debug" }, &say)
    other = connected({ on_log: ->(message) { arrived << message.data }, log_level: "debug" }, &say)
    [slow, other].each { |client| client.call_tool("say") }
    assert_equal "said", Timeout.timeout(30) { arrived.pop }
  ensure
    held << true
  end

  def test_notifications_arrive_after_their_thread_has_ended
    arrived = Thread::Queue.new
    error = Class.new(StandardError) { def message = raise("no message") }
    receive = lambda do |message|
      arrived << message.data
      raise error if message.data == "raise"
    end
    client = connected({ on_log: receive, log_level: "debug" }) { |server| server.tool("say") { |ctx, text:| ctx.info(text) } }
    said = lambda do |text|
      client.call_tool("say", { text: text })
      assert_equal text, Timeout.timeout(30) { arrived.pop }
    end
    logged do |records|
      said.call("raise")
      assert_match(/cannot be described/, Timeout.timeout(30) { records.pop })
      said.call("after an error")
    end
    Thread.list.select { |one| one.name == "trunkline notifications" }.each { |one| one.kill.join }
    said.call("after its end")
  end

  def test_exit_in_a_handler_ends_the_program
    _, _, status = run_program(<<~RUBY)
      require "trunkline"
      server = Trunkline::Server.new("x", version: "1")
      server.tool("quit") { exit 7 }
      Trunkline::Client.connect(server: server) { |client| client.call_tool("quit"); sleep 5 }
    RUBY
    assert_equal 7, status.exitstatus
  end
end
