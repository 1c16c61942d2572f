# frozen_string_literal: true

module Trunkline
  # The handler of a feature, as its calls use it: `run` gets the body and the context, and `answer`
  # converts what it returns. `where` names it in the log, as does `tool` if it is one, and `source`
  # is the function of the program. It is `short` if its last call took less than it takes to hand one
  # to another thread.
  # @api private
  Callable = Struct.new(:run, :answer, :where, :tool, :source, :owner, :short, keyword_init: true) do
    # The event and the fields of a failure, as the core logs it.
    def failed
      tool ? { event: "a tool failed", fields: { "tool" => tool } } : { event: "a handler failed", fields: { "feature" => where } }
    end

    # Converts what it has returned. For the program, the place of a failure is the handler: it is not
    # on the stack any more.
    # @return [Array(Integer, String)] the shape and the bytes
    def converted(value)
      answer.call(value)
    rescue InvalidArgumentError, Returns::WrongType => e
      raise e.class, e.message, ["#{Handler.location(source) || "(unknown)"}:in `#{where}'"], cause: nil
    end
  end

  # An argument that matches its schema, but not the type in Ruby.
  # @api private
  class InvalidArguments < StandardError
    attr_reader :path

    def initialize(message, path = "")
      super(message)
      @path = path
    end
  end

  # Calls of handlers, from the body to the response, which is sent exactly once.
  # @api private
  class Calls
    def initialize(native, requests, pool)
      @native = native
      @requests = requests
      @pool = pool
      @lock = Mutex.new
      @open = {}
    end

    # Runs the handler of a call on a thread of the pool, or returns a function that runs it, if that is
    # allowed and it is short.
    def start(ticket, callable, body, cause, may_return_handler = false)
      unless callable
        send_failure(ticket) { { "kind" => "tool", "message" => "the handler was removed before the call ran" } }
        return
      end
      context = Context.new(@native, @requests, ticket, @requests.scope(cause), callable.owner)
      @lock.synchronize { @open[ticket] = context }
      find = -> { caller_of(ticket) }
      handler = -> { timed(callable) { run(ticket, callable, body, context) } }
      return here(callable, handler) if may_return_handler && callable.short && @pool.enter(find)

      @pool.run(find, over: -> { context.cancelled? }, &handler)
      nil
    rescue ThreadError => e
      finish(ticket)
      send_failure(ticket) { failure(e, callable, context) }
      nil
    end

    # Tells the handler that its call was cancelled.
    def cancel(ticket, reason) = finish(ticket)&.send(:cancel, reason)

    private

    def here(callable, handler)
      # Calls that arrive before it is over go to other threads.
      callable.short = false
      lambda do
        handler.call
      ensure
        @pool.leave
      end
    end

    # In seconds.
    SHORT_CALL = 0.000_2
    private_constant :SHORT_CALL

    def timed(callable)
      began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      yield
      callable.short = Process.clock_gettime(Process::CLOCK_MONOTONIC) - began < SHORT_CALL
    end

    def run(ticket, callable, body, context)
      return finish(ticket) if context.cancelled?

      value = @requests.spans.serve(ticket) { callable.run.call(Requests.parse(body), context) }
      shape, bytes = callable.converted(value)
      context.ended(value)
      @native.complete(ticket, shape, bytes)
      answered = true
      finish(ticket)
    rescue Exception => e # rubocop:disable Lint/RescueException
      finish(ticket)
      send_failure(ticket) { failure(e, callable, context) }
      answered = true
      raise if e.is_a?(SystemExit)
    ensure
      # `Thread.exit` raises nothing.
      finish(ticket) && send_failure(ticket) { { "kind" => "internal", "message" => "the handler has ended its thread" } } unless answered
    end

    # The principal of a call, if its access token was verified.
    def caller_of(ticket)
      auth = Requests.parse(@native.describe(ticket))["auth"]
      auth && (auth["principal"] || auth.values_at("issuer", "subject", "clientId"))
    rescue Error
      nil # The call is over, or is not one of a client.
    end

    def finish(ticket) = @lock.synchronize { @open.delete(ticket) }

    # Sends the failure that the block describes.
    def send_failure(ticket)
      failure = yield
      fail(ticket, failure.merge("message" => Text.of(failure["message"])))
    rescue Exception => e # rubocop:disable Lint/RescueException
      # Whatever the program has raised, the caller must get a response.
      fail(ticket, { "kind" => "internal", "message" => "an error that cannot be sent: #{e.is_a?(InvalidArgumentError) ? e.message : e.class}" })
    end

    def fail(ticket, failure)
      @native.fail(ticket, Requests.json(failure))
    rescue Error => e
      raise if e.is_a?(InvalidArgumentError)
      # Otherwise, the port is closed.
    end

    def failure(error, callable, context)
      context.ended(error)
      case error
      when ToolError then { "kind" => "tool", "message" => error.message }
      when InvalidArguments then { "kind" => "invalid", "message" => error.message, "path" => error.path }
      when ProtocolError then { "kind" => "protocol", "message" => error.message, "code" => error.code, "data" => Model.plain(error.data) }.compact
      when TokenError
        return { "kind" => "invalid", "message" => error.message, "path" => "" } unless error.scopes

        { "kind" => "protocol", "message" => error.message, "data" => { "error" => "insufficient_scope", "scopes" => error.scopes } }
      else
        unless error.is_a?(Suspended) || context.over?
          context.ended(error, error)
          report(error, callable, context)
        end
        { "kind" => "internal", "message" => error.full_message(highlight: false, order: :top), "logged" => true }
      end
    end

    def report(error, callable, context)
      Trunkline.log_error("#{callable.where} failed", error, **callable.failed)
      callable.owner&.on_error&.then { |hook| Handler.positional(hook, error, context) }
    rescue Exception => e # rubocop:disable Lint/RescueException
      Trunkline.log_error("on_error failed", e) # The caller must get a response.
    end
  end
end
