# frozen_string_literal: true

module Trunkline
  # The event queue of this process, the threads that drain it, and what its events belong to.
  # `docs/bridge.md` describes the events.
  # @api private
  class Port
    # The exit of the process waits for the port to close, in seconds.
    EXIT_TIMEOUT = 2

    @lock = Mutex.new

    class << self
      # The port of this process. After a fork, the child gets its own, where a server registers itself
      # again; connections and listeners of the parent's raise {ForkedError}. A handler of `at_exit` that
      # runs after the port has closed also gets another one.
      def current
        @lock.synchronize do
          @current = nil if @current&.over?
          @current ||= new
        end
      end

      # Closes the port at the exit of the process.
      def finish
        @exiting = true
        @lock.synchronize { @current }&.finish
      end

      def exiting? = @exiting
    end
    # Before the handlers of programs that run in one, as with `minitest/autorun`: Ruby calls the last
    # one first.
    at_exit { finish }

    attr_reader :native, :requests, :pool

    def initialize
      @pid = Process.pid
      @native = Native::Port.new
      @pool = Pool.new(Trunkline.max_threads)
      @requests = Requests.new(@native, @pool)
      @calls = Calls.new(@native, @requests, @pool)
      @lock = Mutex.new
      # The tables with the handlers of features, by handle.
      @tables = {}
      # The handlers of lifespans and servers' stores, by handle and name. They are called until the
      # core has freed them.
      @kept = {}
      # Listeners and connections.
      @owners = {}
      @exchanges = {}
      # Notifications by connection, and log records for the program's logger by 0: a slow handler must
      # hold up nothing else.
      @notices = Hash.new { |notices, handle| notices[handle] = Notices.new }
    end

    # Registers a server or a feature. `callables` are its handlers, by the names of their calls, which
    # are kept in `table`, by handle, or here. The port refers to a table weakly: blocks usually refer to
    # their server, which has the table and could not be collected.
    def register(kind, description, callables = {}, table: nil)
      # Its events wait until the handler is known.
      @lock.synchronize do
        handle = @native.register(kind, Requests.json(Model.plain(description)))
        unless callables.empty?
          (table || @kept)[handle] = callables
          @tables[handle] = Weak.new(table) if table
        end
        handle
      end
    end

    # Opens a listener or connection, and returns what the core says about it. Its owner gets its handle,
    # notifications, calls and end.
    def open(owner)
      ensure_running
      pending = @lock.synchronize do
        @requests.start { yield @native }.tap do |started|
          owner.handle = started.ticket
          @owners[started.ticket] = owner
        end
      end
      opened = @requests.wait(pending)
    ensure
      discard(pending.ticket) if pending && !opened
    end

    # Passes a request of a web framework to a listener. Returns its ticket, or nothing if it is
    # optional and nothing is served at its path. The queue gets the response.
    def exchange(listener, head, queue)
      @lock.synchronize do
        ticket = @native.http_request(listener, Requests.json(head), false)
        @exchanges[ticket] = queue unless ticket.zero?
        ticket unless ticket.zero?
      end
    end

    # True if the port belongs to the process that this one was forked from.
    def foreign? = @pid != Process.pid

    # True if nothing can be opened here any more.
    def over? = foreign? || @closed

    # Starts the threads, unless they run.
    # @raise [ForkedError] in a child: the threads are those of the parent
    def ensure_running
      raise ForkedError, "the client or listener belongs to the parent process: open a new one after the fork" if foreign?

      @lock.synchronize { start unless @receivers }
    end

    # Closes everything at the exit of the process. A forked child leaves its parent's port alone.
    def finish
      return if foreign? || @receivers.nil?

      begin
        drain_listeners
      ensure
        close
      end
    end

    private

    # Ends what has failed to open, or whose thread was interrupted meanwhile.
    def discard(handle)
      @native.close(handle, 0)
    rescue Error
      nil # The handle has ended.
    end

    def start
      at_exit { finish } if Port.exiting?
      @receivers = Receivers.new(@native, receive: method(:receive), abandon: method(:abandon)).tap(&:start)
    end

    # Handles an event. Returns a handler to run on this thread, if that is allowed.
    def receive(event, may_return_handler)
      kind, ticket, handle, _, name, body, cause = event
      return @calls.start(ticket, callable(handle, name), body, cause, may_return_handler) if kind == Waist::CALL

      dispatch(*event)
      nil
    rescue StandardError => e
      # The other events must not be lost.
      Trunkline.log_error("an event failed", e)
      nil
    end

    # Nothing may wait for events any more.
    def abandon
      @requests.abandon({ "kind" => "closed", "message" => "the thread that waits for events has ended" })
      owners, exchanges = @lock.synchronize { [@owners, @exchanges].map { |table| table.values.tap { table.clear } } }
      owners.each { |owner| owner.closed(nil) }
      exchanges.each { |queue| queue.push([Waist::HTTP_END, true, ""]) }
    end

    def dispatch(kind, ticket, handle, ok, name, body, _)
      case kind
      when Waist::CANCEL then @calls.cancel(ticket, body.force_encoding(Encoding::UTF_8))
      when Waist::REPLY
        # A handle that has failed to open has no other end.
        ended(ticket) unless ok
        @requests.receive_reply(ticket, ok, body)
      when Waist::NOTIFICATION
        return @requests.receive_progress(ticket, body) unless ticket.zero?

        owner = @lock.synchronize { @owners[handle] }
        notice(owner, handle, name, body) if owner.respond_to?(:receive_notification)
      when Waist::CLOSED
        ended(handle)&.closed(ok ? nil : Requests.error(body))
      when Waist::LOG
        write = lambda do
          Requests.parse(body).each do |record|
            Trunkline.log(record["level"], record["message"], record["target"], event: record["event"], fields: record["fields"])
          end
        end
        Trunkline.logger ? @notices[0].run(body.bytesize, &write) : write.call
      when Waist::TELEMETRY then @requests.spans.receive(Requests.parse(body))
      when Waist::HTTP_HEAD, Waist::HTTP_CHUNK then @lock.synchronize { @exchanges[ticket] }&.push([kind, ok, body])
      when Waist::HTTP_END then @lock.synchronize { @exchanges.delete(ticket) }&.push([kind, ok, body])
      when Waist::FREED
        @requests.freed(handle)
        @lock.synchronize { [@kept, @tables.delete(handle)&.get].compact.each { |table| table.delete(handle) } }
      end
    end

    # The handler of a feature, of a server's request to a client, or a function of a store.
    def callable(handle, name)
      @lock.synchronize do
        owner = @owners[handle]
        next owner.callable(name) if owner.respond_to?(:callable)

        names = @kept[handle] || @tables[handle]&.get&.fetch(handle, nil)
        names && (names[name] || names[""])
      end
    end

    def notice(owner, handle, name, body)
      dropped = @notices[handle].run(name.bytesize + body.bytesize) { owner.receive_notification(name, Requests.parse(body) || {}) }
      Trunkline.log(:warn, "dropped notifications: they arrived faster than they were handled", "trunkline.client") if dropped
    end

    # Forgets what has ended, and returns its owner.
    def ended(handle)
      @notices.delete(handle)&.close
      @lock.synchronize { @owners.delete(handle) }
    end

    # Lets calls in flight complete, as after a signal. A signal, or a second one, ends the process at
    # once.
    def drain_listeners
      return if Foreground.interrupted?

      serving = @lock.synchronize { @owners.values.select(&:serving?) }
      serving.map { |one| Thread.new { one.drain(EXIT_TIMEOUT) } }.each(&:join)
    end

    def close
      @closed = true
      notices = @notices.values
      @native.close(0, 0)
      @receivers.join(EXIT_TIMEOUT)
      # A thread must not begin or end while the interpreter does.
      notices |= @notices.values
      notices.each(&:close)
      deadline = now + EXIT_TIMEOUT
      notices.each { |one| one.join([deadline - now, 0].max) }
    rescue Error
      nil # The port is closed.
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
