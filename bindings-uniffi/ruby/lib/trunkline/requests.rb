# frozen_string_literal: true

module Trunkline
  # Requests to the servers of connections and to the clients of calls, and their replies.
  # @api private
  class Requests
    # The core passes these on for every request.
    TABLE = Options::REQUEST.merge(Options::INPUT, Options::CACHE, key: "key", all: "all", result_schema: "resultSchema").freeze

    def initialize(native, pool)
      @native = native
      @pool = pool
      @lock = Mutex.new
      @pending = {}
      # Values shared with the calls that a request causes in this process, by ticket.
      @scopes = {}
    end

    # Sends a request, and waits for its result. The block receives its progress, on the caller's
    # thread. Calls that the request causes in this process find the values of `scope`.
    def send(target, method, params = nil, options = {}, scope: nil, &on_progress)
      request = { "method" => method, **Options.encode(TABLE, options) }
      request["params"] = Model.plain(params).compact if params
      request["progress"] = true if on_progress
      request["causes"] = true if scope
      wait(start(scope) { @native.request(target, Requests.json(request)) }, &on_progress)
    end

    # Calls a function that returns a ticket, whose reply can then be awaited.
    def start(scope = nil)
      @lock.synchronize do
        ticket = yield
        @pending[ticket] = Thread::Queue.new
        @scopes[ticket] = scope if scope
        ticket
      end
    end

    # Waits for a reply. If the thread is interrupted meanwhile, the request is cancelled.
    def wait(ticket)
      queue = @lock.synchronize { @pending.fetch(ticket) }
      loop do
        ok, body = @pool.waiting { queue.pop }
        if ok == :progress
          yield Progress.from_json(body)
        else
          queue = nil
          return body if ok

          raise Trunkline.error_of(body)
        end
      end
    ensure
      if queue
        forget(ticket)
        cancel(ticket)
      end
    end

    def receive_reply(ticket, ok, body) = forget(ticket)&.push([ok, Requests.parse(body)])

    def receive_progress(ticket, body)
      queue = @lock.synchronize { @pending[ticket] }
      queue&.push([:progress, Requests.parse(body)])
    end

    def cancel(ticket, reason = "")
      @native.cancel(ticket, reason)
    rescue Error
      nil # It is over, or its port is closed.
    end

    # The values of the request that caused a call, if there are any.
    def scope(cause) = cause.zero? ? nil : @lock.synchronize { @scopes[cause] }

    # Forgets what is kept for a request that causes no more calls.
    def freed(ticket) = @lock.synchronize { @scopes.delete(ticket) }

    # @raise [InvalidArgumentError] if the value has no JSON form
    def self.json(value)
      JSON.generate(value)
    rescue JSON::GeneratorError, EncodingError => e
      raise InvalidArgumentError, "the value cannot be represented in JSON: #{e.message}"
    end

    def self.parse(body) = body.empty? ? nil : JSON.parse(body.force_encoding(Encoding::UTF_8), max_nesting: false)

    private

    def forget(ticket) = @lock.synchronize { @pending.delete(ticket) }
  end
end
