# frozen_string_literal: true

require_relative "helper"

class TestScars < TrunklineTest
  def test_servers_end_when_their_client_is_killed
    text = <<~RUBY
      require "trunkline"
      client = Trunkline::Client.connect(command: #{program("server.tool('stuck') { sleep }").inspect})
      Thread.new { client.call_tool("stuck") }
      puts client.pid
      $stdout.flush
      sleep
    RUBY
    Open3.popen3(RbConfig.ruby, "-I", LIB, "-e", text) do |_, output, _, thread|
      pid = Timeout.timeout(30) { output.gets.to_i }
      Process.kill(:KILL, thread.pid)
      eventually { !running?(pid) }
    end
  end

  def running?(pid)
    Process.kill(0, pid)
    !File.read("/proc/#{pid}/stat").split(") ").last.start_with?("Z")
  rescue Errno::ESRCH, Errno::ENOENT
    false
  end

  def test_killed_servers_are_restarted
    Trunkline::Client.connect(command: program("server.tool('pid') { Process.pid.to_s }")) do |client|
      first = client.call_tool("pid").text
      Process.kill(:KILL, first.to_i)
      second = eventually do
        client.call_tool("pid").text
      rescue Trunkline::TransportError
        nil
      end
      refute_equal first, second
    end
  end

  def test_floods_of_calls
    client = connected { |server| server.tool("echo") { |text:| text } }
    threads = Array.new(16) { |thread| Thread.new { Array.new(50) { |n| client.call_tool("echo", { text: "#{thread} #{n}" }).text } } }
    assert_equal Array.new(16) { |thread| Array.new(50) { |n| "#{thread} #{n}" } }, threads.map(&:value)
  end

  def test_large_messages
    client = connected { |server| server.tool("repeat", input: { n: Integer }) { |n:| "ä" * n } }
    assert_equal 1_000_000, client.call_tool("repeat", { n: 1_000_000 }).text.length
  end

  def test_abandoned_calls_end
    slow_client
    threads = Array.new(20) do
      Thread.new { Timeout.timeout(0.05) { slow_client.call_tool("slow") } }.tap { |thread| thread.report_on_exception = false }
    end
    threads.each { |thread| assert_raises(Timeout::Error) { thread.value } }
    assert_equal "fast", slow_client.call_tool("fast").text
  end

  def slow_client
    @slow_client ||= connected do |server|
      server.tool("slow") { |ctx| ctx.sleep(30) }
      server.tool("fast") { "fast" }
    end
  end

  def test_threads_that_are_killed_while_they_wait
    client = slow_client
    thread = Thread.new { client.call_tool("slow") }
    sleep 0.1
    thread.kill.join
    assert_equal "fast", client.call_tool("fast").text
  end

  def test_output_of_handlers_does_not_disturb_the_protocol
    Trunkline::Client.connect(command: program("server.tool('noisy') { puts 'noise'; $stdout.write('more'); system('echo child'); 'ok' }"), stderr: "discard") do |client|
      3.times { assert_equal "ok", client.call_tool("noisy").text }
    end
  end
end
