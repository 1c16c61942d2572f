# frozen_string_literal: true

module Trunkline
  # Serving as the main work of a program, until a signal.
  # @api private
  module Foreground
    SIGNALS = %w[INT TERM].freeze
    # A queue for each server in the foreground of this process. A signal ends all of them.
    @serving = []
    @interrupted = false
    HANDLER = proc do |signal|
      @interrupted = true
      release(SIGNALS)
      # A forked child inherits the handler, but not the servers.
      raise signal == Signal.list["INT"] ? Interrupt : SignalException.new(signal) unless @pid == Process.pid

      @serving.dup.each { |signals| signals << true }
    end
    private_constant :HANDLER

    module_function

    # Runs the block, which serves until the end. The first SIGINT or SIGTERM calls `close`; a second
    # one has its default effect. Those that the program handles itself are left to it; the block
    # gets true if there are none, so that the core may handle them, too.
    def until_signal(close)
      @pid, @serving = Process.pid, [] unless @pid == Process.pid
      signals = Thread::Queue.new
      closer = Thread.new { close.call if signals.pop }
      @serving << signals
      handled = SIGNALS.select { |signal| handle?(signal) }
      yield handled == SIGNALS
      # Another signal would have raised.
      @interrupted = false if @serving == [signals]
    ensure
      @serving.delete(signals)
      release(handled) if handled && @serving.empty?
      signals&.push(false) # Not closed: the handler may be about to push.
      closer&.join(0.1)
    end

    # True once a signal has begun to end the servers in the foreground: if the program exits before
    # their end, a second one did that.
    def interrupted? = @interrupted && @pid == Process.pid

    # Gives signals their default effect, except those that the program has begun to handle meanwhile.
    def release(signals)
      signals.each { |one| trap(one, "DEFAULT").then { |before| trap(one, before) unless before == HANDLER } }
    end

    # Lets a second signal end the process: a web server that has begun to close would ignore it, and
    # also rescues Ruby's exceptions for signals.
    def forget_signals
      SIGNALS.each { |signal| trap(signal, "SYSTEM_DEFAULT").then { |before| trap(signal, before) if before == "IGNORE" } }
    rescue ArgumentError
      nil # Not on this system.
    end

    def handle?(signal)
      before = trap(signal, HANDLER)
      return true if before == "DEFAULT" || before == HANDLER

      trap(signal, before)
      false
    rescue ArgumentError
      false # Not on this system.
    end
    private_class_method :handle?
  end
end
