# frozen_string_literal: true

module Trunkline
  # Serving as the main work of a program, until a signal.
  # @api private
  module Foreground
    SIGNALS = %w[INT TERM].freeze

    module_function

    # Runs the block, which serves until the end. The first SIGINT or SIGTERM calls `close`; a second
    # one has its default effect. The block gets true if signals are handled here; those that the
    # program handles itself are left to it.
    def until_signal(close)
      signals = Thread::Queue.new
      closer = Thread.new { close.call if signals.pop }
      previous = SIGNALS.filter_map { |signal| take(signal, signals) }.to_h
      yield previous.any?
    ensure
      previous&.each { |signal, handler| trap(signal, handler) }
      signals&.close
      closer&.join(0.1)
    end

    # Lets a second signal end the process: a web server that has begun to close would ignore it, and
    # also rescues Ruby's exceptions for signals.
    def forget_signals
      SIGNALS.each { |signal| trap(signal, "SYSTEM_DEFAULT").then { |before| trap(signal, before) if before == "IGNORE" } }
    rescue ArgumentError
      nil # Not on this system.
    end

    def take(signal, signals)
      before = trap(signal) do
        SIGNALS.each { |one| trap(one, "DEFAULT") }
        signals << true
      end
      return [signal, before] if before == "DEFAULT"

      trap(signal, before)
      nil
    rescue ArgumentError
      nil # Not on this system.
    end
    private_class_method :take
  end
end
