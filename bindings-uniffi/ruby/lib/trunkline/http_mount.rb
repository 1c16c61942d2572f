# frozen_string_literal: true

require "time"

module Trunkline
  # A server as a Rack application: `run server.rack_app`. Its listener opens with the first request.
  # Each streaming response occupies a thread of the web server.
  class RackApp
    # The body of a request is read in chunks.
    CHUNK_BYTES = 65_536
    private_constant :CHUNK_BYTES

    # Closes the endpoints of this process: streams end, and calls in flight may complete.
    def self.close_all
      # An `ObjectSpace::WeakMap` would know them, but compaction corrupts it (Ruby bug 19529).
      ObjectSpace.each_object(self).to_a.each(&:begin_close).each(&:close)
    end

    # @api private
    def initialize(open)
      @open = open
      @lock = Mutex.new
    end

    # Closes the endpoint: requests get 503 from now on.
    # @api private
    def begin_close
      @lock.synchronize do
        @closed = true
        @opened&.first&.then { |listener| listener.begin_close if listener.open? }
      end
    end

    # Waits until it has closed.
    def close
      begin_close
      @opened&.first&.then { |listener| listener.wait unless @opened.last.foreign? }
    end

    # Several values of a header, as Rack 2 and Rack 3 want them.
    # @api private
    def self.joined(values)
      defined?(Rack) && Rack.respond_to?(:release) && Rack.release >= "3" ? values : values.join("\n")
    end

    # Handles a request.
    # @return [Array(Integer, Hash, #each)]
    def call(env)
      listener, port = listening
      events = Thread::Queue.new
      exchange = Exchange.new(port, port.exchange(listener, head(env), events), events)
      begin
        exchange.feed(env["rack.input"], CHUNK_BYTES)
        response = exchange.response
      ensure
        # `Thread#kill`, and timeouts of the web server, are no StandardError. A response to HEAD has no body.
        exchange.close if !response || env["REQUEST_METHOD"] == "HEAD"
      end
    rescue ClosedError => e
      [503, { "content-type" => "text/plain; charset=utf-8", "connection" => "close" }, [e.message]]
    end

    private

    def listening
      @lock.synchronize do
        raise ClosedError, "the server is closing" if @closed

        # Also after a fork, where that of the parent does not count.
        @opened = @open.call unless @opened&.first&.open?
        [@opened.first.handle, @opened.last]
      end
    end

    def head(env)
      headers = env.filter_map do |name, value|
        case name
        when /\AHTTP_(?!VERSION\z)(.+)/, /\A(CONTENT_(?:TYPE|LENGTH))\z/
          [Regexp.last_match(1).tr("_", "-").downcase, value.b.unpack("C*").pack("U*")] unless value.empty? && name.start_with?("CONTENT")
        end
      end
      path = escaped(env["PATH_INFO"])
      { "method" => env["REQUEST_METHOD"], "path" => path.empty? ? "/" : path, "query" => escaped(env["QUERY_STRING"]),
        "headers" => headers, "remoteAddress" => env["REMOTE_ADDR"] }.compact
    end

    def escaped(text) = text.to_s.b.gsub(/[^!-~]/n) { |byte| format("%%%02X", byte.ord) }

    # A request, and its response as the body of Rack.
    # @api private
    class Exchange
      def initialize(port, ticket, events)
        @port = port
        @ticket = ticket
        @events = events
      end

      def feed(input, size)
        while input && (bytes = input.read(size))
          return unless @port.native.http_body(@ticket, bytes, false)
        end
        @port.native.http_body(@ticket, "", true)
      end

      def response
        kind, ok, body = @events.pop
        unless kind == Waist::HTTP_HEAD
          @ended = true
          raise ok ? ClosedError.new("the server was closed") : Requests.error(body)
        end

        head = Requests.parse(body)
        headers = head["headers"].group_by(&:first).transform_values { |pairs| pairs.map(&:last) }
        @known_length = headers.key?("content-length")
        # Otherwise the ETag of Rack 2, which Rails uses, collects a stream until its end.
        headers["last-modified"] = [Time.now.httpdate] unless @known_length
        [head["status"], headers.transform_values { |values| values.length == 1 ? values.first : RackApp.joined(values) }, self]
      end

      # Passes on the chunks as the web server takes them.
      def each
        until @ended
          kind, ok, body = @events.pop
          if kind == Waist::HTTP_CHUNK
            yield body
            @port.native.http_credit(@ticket, body.bytesize)
          else
            @ended = true
            # The web server drops the connection, so that the client notices the truncation.
            raise Requests.error(body) if !ok && @known_length
          end
        end
      end

      # Called by the web server at the end, or when the client has disconnected.
      def close
        @port.requests.cancel(@ticket, "the client has disconnected") unless @ended
        @ended = true
      end
    end
  end
end
