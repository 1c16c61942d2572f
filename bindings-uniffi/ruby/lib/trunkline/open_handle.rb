# frozen_string_literal: true

module Trunkline
  # The common part of listeners and connections, until they have ended.
  # @api private
  class OpenHandle
    # @return [Integer] the handle of the core
    attr_accessor :handle
    # @return [Object] what the core said when it was opened
    attr_reader :opened
    # @return [Error, nil] why it has ended
    attr_reader :error
    # The server that it serves. The port refers to what is open, so the server's finalizer does not
    # run before its end.
    attr_writer :server

    # The deadline of a close is in the options of `owner`: the server of a listener, or this handle.
    def initialize(port, owner = nil)
      @port = port
      @owner = owner
      @end = Thread::Queue.new
    end

    # Calls the block when it has ended, or has failed to open.
    def at_end(&block) = @at_end = block

    # Opens it. What the lifespan of its server raises, this raises.
    def open(lifespan = nil, &block)
      @opened = @port.open(self, &block)
      self
    rescue TransportError => e
      failure = lifespan&.take_failure || e
      raise failure, cause: failure.cause
    ensure
      @at_end&.call unless @opened
    end

    def open? = !@handle.nil? && !@port.foreign? && !@end.closed?

    # Closes it, and waits for the end. Without a deadline, that of the options applies. In a child of
    # the process that opened it, this has no effect.
    def close(deadline = nil)
      return unless open?

      begin_close(deadline)
      wait
    end

    def begin_close(deadline = nil)
      ms = deadline ? Options.milliseconds(:deadline, deadline) : @port.native.close_deadline_ms(@owner || @handle)
      @port.native.close(@handle, ms)
    end

    # True if this serves clients: calls in flight may then complete at the exit of the process.
    def serving? = true

    # Closes it with the deadline of the options, and waits for the end, but not much longer.
    def drain(more)
      begin_close
      seconds = (@port.native.close_deadline_ms(@owner || @handle) / 1000.0) + more
      Thread.new { wait }.join(seconds)
    rescue Error
      nil # The handle has ended.
    end

    # Waits for the end.
    def wait
      raise ForkedError, "only the parent process can wait for what it has opened: open a new one after the fork" if @port.foreign?

      @port.pool.waiting { @end.pop }
      nil
    end

    def closed(error)
      @error = error
      @end.close
      @at_end&.call
    end
  end
end
