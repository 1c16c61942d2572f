# frozen_string_literal: true

module Trunkline
  # A queue for a consumer that may be slow: beyond its bound, the oldest items are dropped.
  # @api private
  class Backlog
    DEFAULT_BOUND = 1024

    def initialize(bound = DEFAULT_BOUND)
      @bound = bound
      @queue = Thread::Queue.new
    end

    # Adds an item. Returns whether others were dropped for it.
    def push(item)
      dropped = @queue.length >= @bound
      @queue.pop(true) while @queue.length >= @bound
      @queue << item
      dropped
    rescue ThreadError
      retry # The consumer was faster.
    end

    def pop = @queue.pop

    def close = @queue.close
  end
end
