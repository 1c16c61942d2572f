# frozen_string_literal: true

module Trunkline
  class << self
    # Maximum number of threads that run handlers. Threads that wait for a reply of the core don't
    # count. Set it before the first server or client opens. Default: 64.
    attr_writer :max_threads

    def max_threads = @max_threads ||= 64
  end

  # The threads that run handlers.
  # @api private
  class Pool
    # Idle threads end, except for this many.
    KEPT = 4

    def initialize(limit)
      @limit = limit
      @jobs = Thread::Queue.new
      @lock = Mutex.new
      @threads = 0
      @idle = 0
    end

    # Runs a block on one of the threads.
    def run(&job)
      @jobs << job
      @lock.synchronize { spawn if @idle < @jobs.length && @threads < @limit }
    end

    # Lets another thread run handlers while the caller, which may be one of them, waits. Otherwise
    # handlers that wait for other handlers could wait forever.
    def waiting
      return yield unless Thread.current.thread_variable_get(:trunkline_pool) == self

      @lock.synchronize do
        @threads -= 1
        spawn if @idle < @jobs.length
      end
      begin
        yield
      ensure
        @lock.synchronize { @threads += 1 }
      end
    end

    private

    def spawn
      @threads += 1
      Thread.new { work }.tap { |thread| thread.name = "trunkline handler" }
    end

    def work
      Thread.current.thread_variable_set(:trunkline_pool, self)
      loop do
        @lock.synchronize do
          return if @threads > @limit || @idle >= KEPT && @jobs.empty?

          @idle += 1
        end
        job = begin
          @jobs.pop
        ensure
          @lock.synchronize { @idle -= 1 }
        end
        job.call
      end
    ensure
      @lock.synchronize { @threads -= 1 }
    end
  end
end
