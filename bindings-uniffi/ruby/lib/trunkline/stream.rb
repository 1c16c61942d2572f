# frozen_string_literal: true

module Trunkline
  # Items from a server, in order of arrival. Close it, or let the block of the method that opened it
  # do so.
  class Stream
    include Enumerable

    # @api private
    def initialize(client, requests, ticket, first)
      # Its finalizer would close the connection.
      @client = client
      @requests = requests
      @ticket = ticket
      @first = first
      @closed = false
      @left = []
      ObjectSpace.define_finalizer(self, self.class.send(:ending, requests, ticket))
    end

    # Waits for the next item; nil when the stream has ended. An item that arrives while the wait is
    # interrupted is kept for the next call.
    # @param timeout [Numeric] in seconds; default: forever
    # @raise [TimeoutError] if none came in time
    def next(timeout: nil)
      item = @closed ? nil : @requests.next(@ticket, @left, { timeout: timeout })
      item && received(item)
    rescue ClosedError
      nil
    end

    # Yields the items until the stream ends. Without a block, returns an Enumerator.
    def each
      return enum_for(:each) unless block_given?

      while (item = self.next)
        yield item
      end
      self
    end

    # Ends the stream. Calling it again has no effect.
    def close
      return if @closed

      @closed = true
      @requests.cancel(@ticket)
      nil
    end

    # @return [String]
    def inspect = "#<#{self.class.name}>"

    def self.ending(requests, ticket) = ->(_) { requests.cancel(ticket) }
    private_class_method :ending
  end

  # Changes at a server, as {Change}. A subscription survives reconnects.
  class Subscription < Stream
    # @return [SubscriptionFilter] the part of the filter that the server accepted
    def honored = SubscriptionFilter.from_json(@first || {})

    private

    def received(item) = Change.from_json(item)
  end

  # A tool call that runs as a task: its states, as {Task}, and its result. States in quick succession
  # may be skipped. {#close} stops polling but doesn't cancel the task.
  class ClientTask < Stream
    # @return [Task, nil] the latest known state; nil if the server didn't create a task
    def state
      @state || (@first && Task.from_json(@first))
    end

    # @return [String, nil] the id; nil if the server didn't create a task
    def id = state&.task_id

    # Waits for the task to end, and returns the result of the call. The block receives its progress.
    # @return [CallToolResult]
    # @raise [CancelledError] if the task was cancelled
    # @raise [TimeoutError] if it did not end in time; it keeps running
    def result(**options, &on_progress) = CallToolResult.from_json(@requests.send(@ticket, "result", nil, options, &on_progress))

    # Answers the input requests of the current state, by key, if `manual_input` was set.
    def respond(responses, **options)
      @requests.send(@ticket, "respond", responses, options)
      nil
    end

    # Cancels the task. Has no effect once it has ended, and it may still end differently.
    def cancel(**options)
      @requests.send(@ticket, "cancel", nil, options)
      nil
    end

    private

    def received(item) = @state = Task.from_json(item)
  end
end
