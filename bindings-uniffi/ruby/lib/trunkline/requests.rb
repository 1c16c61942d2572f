# frozen_string_literal: true

module Trunkline
  # Requests to the servers of connections and to the clients of calls, and their replies.
  # @api private
  class Requests
    # The core passes these on for every request.
    TABLE = Options::REQUEST.merge(Options::INPUT, Options::CACHE, key: "key", all: "all", result_schema: "resultSchema").freeze

    # The values that a request shares with the calls that it causes in this process, and the
    # exception that ended one of them.
    Scope = Struct.new(:vars, :failure)

    # A request whose reply can be awaited. The reply may arrive before anyone waits for it.
    Pending = Struct.new(:ticket, :queue)

    attr_reader :spans

    def initialize(native, pool)
      @native = native
      @pool = pool
      @spans = Spans.new(native)
      @lock = Mutex.new
      @pending = {}
      # By the ticket of their request.
      @scopes = {}
    end

    # Sends a request, and waits for its result. The block receives its progress, on the caller's
    # thread. Calls that the request causes in this process find `scope`. For `left`, see {#wait}.
    def send(target, method, params = nil, options = {}, scope: nil, left: nil, &on_progress)
      request = { "method" => method, **Options.encode(TABLE, options) }
      request["params"] = Model.plain(params).compact if params
      request["progress"] = true if on_progress
      request["causes"] = true if scope
      @spans.send(target, request) do |traced, sent|
        pending = start(scope) { @native.request(target, Requests.json(traced)) }
        sent.call(pending.ticket)
        wait(pending, left, &on_progress)
      end
    end

    # Waits for the next item of a stream. `left` has its requests whose wait was interrupted: an item
    # may have arrived for them at that moment.
    def next(stream, left, options)
      pending = left.shift
      pending ? wait(pending, left) : send(stream, Waist::NEXT, nil, options, left: left)
    rescue CancelledError
      raise unless pending

      retry
    end

    # Calls a function that returns a ticket.
    # @return [Pending]
    def start(scope = nil)
      @lock.synchronize do
        raise Trunkline.error_of(@abandoned) if @abandoned

        ticket = yield
        @scopes[ticket] = scope if scope
        Pending.new(ticket, @pending[ticket] = Backlog.new)
      end
    end

    # Waits for a reply. If the thread is interrupted meanwhile, the request is cancelled, and added to
    # `left`, if given, because its reply can still be awaited.
    def wait(pending, left = nil)
      queue = pending.queue
      reply = nil
      loop do
        ok, body = @pool.waiting { reply = queue.pop }
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
        queue.push(reply) if reply
        left ? left << pending : forget(pending.ticket)
        cancel(pending.ticket)
      end
    end

    def receive_reply(ticket, ok, body)
      queue = forget(ticket)
      queue&.push([ok, Requests.parse(body)])
    rescue TransportError => e
      # Otherwise the caller would wait forever.
      queue.push([false, { "kind" => e.kind, "message" => e.message }])
    end

    def receive_progress(ticket, body)
      queue = @lock.synchronize { @pending[ticket] }
      queue&.push([:progress, Requests.parse(body)])
    end

    def cancel(ticket, reason = "")
      @native.cancel(ticket, reason)
    rescue Error
      nil # The request is over, or its port is closed.
    end

    # The scope of the request that caused a call, if there is one.
    def scope(cause) = cause.zero? ? nil : @lock.synchronize { @scopes[cause] }

    # Forgets what is kept for a request that causes no more calls.
    def freed(ticket) = @lock.synchronize { @scopes.delete(ticket) }

    # Fails everything that waits for a reply, because none will come.
    def abandon(error)
      @lock.synchronize do
        @abandoned = error
        @pending.values.tap { @pending.clear }
      end.each { |queue| queue.push([false, error]) }
    end

    # Deeper values are refused by the core as well.
    MAX_NESTING = 200
    private_constant :MAX_NESTING

    # @raise [InvalidArgumentError] if the value has no JSON form
    def self.json(value)
      JSON.generate(value, max_nesting: MAX_NESTING)
    rescue JSON::NestingError
      raise InvalidArgumentError, JsonForm::TOO_DEEP
    rescue JSON::GeneratorError, EncodingError => e
      valid = scrubbed(value)
      raise InvalidArgumentError, "the value cannot be represented in JSON: #{Text.of(e.message)}" if valid.equal?(value) || valid == value

      json(valid)
    end

    def self.scrubbed(value)
      case value
      when String then Text.written(value)
      when Hash then value.to_h { |name, one| [scrubbed(name), scrubbed(one)] }
      when Array then value.map { |one| scrubbed(one) }
      else value
      end
    end
    private_class_method :scrubbed

    # The json gem refuses some escapes of unpaired surrogates, and reads others as something else.
    SURROGATE = /\\u[dD][89a-fA-F]/
    # The beginning of each: a search for these is several times as fast as the expression.
    SURROGATE_STARTS = ["\\ud", "\\uD"].freeze
    # Pairs of surrogates, single ones, and all other escapes, so that no match begins within one.
    ESCAPE = /\\(?:u[dD][89abAB]\h\h\\u[dD][c-fC-F]\h\h|u[dD][89a-fA-F]\h\h|.)/m
    UNPAIRED_LENGTH = 6
    private_constant :SURROGATE, :SURROGATE_STARTS, :ESCAPE, :UNPAIRED_LENGTH

    # Unpaired surrogates become U+FFFD.
    # @raise [TransportError] if the json gem cannot read it
    def self.parse(body)
      return if body.empty?

      body.force_encoding(Encoding::UTF_8)
      has_surrogates = SURROGATE_STARTS.any? { |start| body.include?(start) } && body.match?(SURROGATE)
      body = body.gsub(ESCAPE) { |escape| escape.length == UNPAIRED_LENGTH ? "\\ufffd" : escape } if has_surrogates
      JSON.parse(body, max_nesting: false)
    rescue JSON::ParserError => e
      raise TransportError, "invalid JSON: #{Text.of(e.message)[0, 200]}"
    end

    # The error that a body describes.
    def self.error(body)
      Trunkline.error_of(parse(body))
    rescue TransportError => e
      e
    end

    private

    def forget(ticket) = @lock.synchronize { @pending.delete(ticket) }
  end
end
