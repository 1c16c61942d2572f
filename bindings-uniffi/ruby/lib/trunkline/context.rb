# frozen_string_literal: true

module Trunkline
  # The call that a handler answers: the facts about it, and messages and requests to its client.
  class Context
    include CallDescription
    include ClientRequests

    # @api private
    def initialize(native, requests, ticket, scope = nil, owner = nil)
      @native = native
      @requests = requests
      @ticket = ticket
      @scope = scope
      @owner = owner
      @lock = Mutex.new
      @change = ConditionVariable.new
      @cancelled = nil
      @done = {}
      @working = {}
    end

    # Values shared by this request's middleware and handler.
    # @return [Hash]
    def vars = scope.vars ||= {}

    # The value that the server's `lifespan` opened.
    def lifespan = @owner&.lifespan&.value

    # Reports progress if the caller requested it. Values that don't increase are dropped.
    def progress(progress, total: nil, message: nil)
      tell("progress" => progress, "total" => total, "message" => message)
    end

    # Sends a log message to the client, if it accepts messages of that level. `data` is any JSON
    # value; `logger` names the part of the server that logs.
    #
    # @deprecated Since 2026-07-28: log to standard error or through OpenTelemetry instead.
    def log(level, data, logger: nil)
      tell("log" => { "level" => level.to_s, "data" => data, "logger" => logger }.compact)
    end

    %i[debug info warning error].each do |level|
      define_method(level) { |data, logger: nil| log(level, data, logger: logger) }
    end

    # True if the call was cancelled: by its caller, or because its connection or the server closes.
    def cancelled? = !@cancelled.nil?

    # Ends the handler if the call was cancelled.
    # @raise [CancelledError]
    def check_cancelled = (raise CancelledError, @cancelled if @cancelled)

    # Sleeps, unless the call is cancelled.
    # @raise [CancelledError] if it is
    def sleep(seconds)
      deadline = now + seconds
      @lock.synchronize do
        while !@cancelled && (left = deadline - now).positive?
          @change.wait(@lock, left)
        end
      end
      check_cancelled
    end

    # Runs the block once per request, even if the handler is rerun. Later runs get its value, which
    # must be representable in JSON.
    def once(name)
      name = name.to_s
      known = described["once"] || {}
      return known[name] if known.key?(name)

      # Threads of the handler that come later wait for the value.
      @lock.synchronize { @working[name] ||= Mutex.new }.synchronize do
        @done.fetch(name) do
          # The value as later runs get it.
          value = JSON.parse(Requests.json([Model.plain(yield)])).first
          tell("once" => { "name" => name, "value" => value })
          @done[name] = value
        end
      end
    end

    # Turns this call into a task: the client gets the task now and fetches the result later. Only has
    # an effect if the tool supports tasks and has `defer_task`, and the client supports tasks.
    def start_task = tell("startTask" => true)

    # Sets the status message of the task. Has no effect if the call is not a task.
    def task_message=(text)
      tell("taskMessage" => text)
    end

    # Closes the stream that the client waits on, if the client can reconnect for the result (over
    # HTTP, in sessions of 2025-11-25). Has no effect otherwise.
    def close_stream = tell("closeStream" => true)

    # Returns when the client responds to a ping.
    # @raise [ProtocolError] on revision 2026-07-28 and later, where servers cannot ping
    def ping(timeout: nil)
      @requests.send(@ticket, "ping", nil, { timeout: timeout })
      nil
    end

    # @return [String]
    def inspect = "#<#{self.class.name}>"

    # Runs the rest of a request, for middleware.
    # @api private
    def proceed(params = nil)
      inner = Requests::Scope.new(vars)
      outcome = @requests.send(@ticket, Waist::NEXT, params, scope: inner)
    rescue StandardError => e
      outcome = e
      raise
    ensure
      (@passed_on ||= {}.compare_by_identity)[outcome] = inner.failure if inner&.failure
    end

    # Keeps the exception that ended the handler, for a caller in this process. Middleware passes it on
    # with the result, or the error, that it got from `proceed`; otherwise it has recovered from it.
    # @api private
    def ended(outcome, failure = nil)
      @scope.failure ||= @passed_on&.fetch(outcome, nil) || failure if @scope
    end

    # True if nothing waits for the answer any more.
    # @api private
    def over?
      cancelled? || @native.cancelled(@ticket)
    rescue Error
      true
    end

    private

    def scope = @scope ||= Requests::Scope.new

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def cancel(reason)
      @lock.synchronize do
        @cancelled = reason.to_s.empty? ? "the call was cancelled" : "the call was cancelled: #{reason}"
        @change.broadcast
      end
    end

    # Otherwise, a handler that only sends messages keeps the interpreter's lock for 100 ms.
    MESSAGES_IN_A_ROW = 16
    private_constant :MESSAGES_IN_A_ROW

    def tell(message)
      @native.notify(@ticket, Requests.json(Model.plain(message.compact)))
      Thread.pass if ((@told = @told.to_i + 1) % MESSAGES_IN_A_ROW).zero?
      nil
    rescue Error
      raise unless over?
    end

    # Asks the client. Its response is read as a result, so that a failed conversion names the peer.
    def ask(request, key:, timeout:)
      request.result.from_json(@requests.send(@ticket, request.method, request.params, { key: key, timeout: timeout }))
    end

    def described
      @described ||= Requests.parse(@native.describe(@ticket))
    rescue Error
      raise unless over?

      raise ClosedError, "the call has ended: read its revision, meta and other details before it ends"
    end
  end
end
