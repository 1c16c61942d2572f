# frozen_string_literal: true

require "minitest/autorun"
require "open3"
require "rbconfig"
require "socket"
require "tempfile"
require "timeout"
require "trunkline"

# Servers in this process, and programs.
module Helper
  LIB = File.expand_path("../lib", __dir__)

  # Connects to a server that the block fills, and closes both.
  def connected(options = {}, server_options = {})
    server = Trunkline::Server.new("test", version: "1", **server_options)
    yield server
    client = Trunkline::Client.connect(server: server, **options)
    @opened = (@opened || []) << client << server
    client
  end

  def teardown
    @opened&.each(&:close)
    super
  end

  # Runs a program, and returns its output, its errors and its status.
  def run_program(text, input: "", timeout: 30)
    Timeout.timeout(timeout) { Open3.capture3(RbConfig.ruby, "-w", "-I", LIB, "-e", text, stdin_data: input) }
  end

  # The command of a program that serves what the text adds to `server`.
  def program(text, serve: "serve_stdio")
    [RbConfig.ruby, "-I", LIB, "-r", "trunkline", "-e", "server = Trunkline::Server.new('program', version: '1')\n#{text}\nserver.#{serve}"]
  end

  # A port for a program that is yet to listen: the system gives none of these to another socket meanwhile.
  def free_port
    port = rand(20_000...32_000)
    TCPServer.open("127.0.0.1", port, &:close)
    port
  rescue Errno::EADDRINUSE
    retry
  end

  # Waits until the block returns something.
  def eventually(seconds = 30)
    deadline = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    until (found = yield)
      flunk "nothing happened" if Process.clock_gettime(Process::CLOCK_MONOTONIC) > deadline
      sleep 0.01
    end
    found
  end

  # Log records of the block.
  def logged
    records = Thread::Queue.new
    logger = Object.new
    %i[debug info warn error].each { |level| logger.define_singleton_method(level) { |text| records << text } }
    Trunkline.logger = logger
    yield records
  ensure
    Trunkline.logger = nil
  end
end

class TrunklineTest < Minitest::Test
  include Helper
end
