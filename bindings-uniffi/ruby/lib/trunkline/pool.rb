# frozen_string_literal: true

module Trunkline
  class << self
    # Maximum number of threads that run handlers. Threads that wait for a reply of the core don't
    # count. Set it before the first server or client opens. Default: 64.
    def max_threads=(count)
      @max_threads = Integer(count).tap { |threads| raise InvalidArgumentError, "max_threads must be 1 or more, not #{threads}" unless threads.positive? }
    end

    def max_threads = @max_threads ||= 64
  end

  # The threads that run handlers.
  # @api private
  class Pool
    # Idle threads end, except for this many.
    KEPT = 4

    def initialize(limit)
      @limit = limit
      @lock = Mutex.new
      @arrived = ConditionVariable.new
      @jobs = []
      # The threads that do not wait for the core. A timeout in a handler could leave a mere count wrong.
      @running = {}
      @idle = 0
    end

    # Runs a block on one of the threads.
    def run(&job)
      @lock.synchronize do
        @jobs << job
        wake
      end
    end

    # Lets another thread run handlers while the caller, which may be one of them, waits. Otherwise
    # handlers that wait for other handlers could wait forever.
    def waiting
      return yield unless Thread.current.thread_variable_get(:trunkline_pool) == self

      @lock.synchronize { wake if @running.delete(Thread.current) }
      begin
        yield
      ensure
        @lock.synchronize { @running[Thread.current] = true }
      end
    end

    private

    # Lets a thread take a job that waits, if there is one.
    def wake
      return if @jobs.empty?

      if @jobs.length <= @idle
        @arrived.signal
      elsif @running.length < @limit
        begin_thread
      end
    end

    # Without another thread, those that run must do, if there are any.
    # @raise [ThreadError] if there are none
    def begin_thread
      thread = Thread.new { work }
      thread.name = "trunkline handler"
      @running[thread] = true
    rescue ThreadError
      raise if @running.empty? && @jobs.pop
    end

    def work
      Thread.current.thread_variable_set(:trunkline_pool, self)
      while (job = take)
        job.call
      end
    ensure
      # The handler may have ended the thread while other calls wait for one.
      @lock.synchronize { wake if @running.delete(Thread.current) }
    end

    # The program may kill the thread meanwhile.
    def idle
      @idle += 1
      @arrived.wait(@lock)
    ensure
      @idle -= 1
    end

    # Waits for the next job. Returns nothing if the thread is not needed any more.
    def take
      @lock.synchronize do
        @running[Thread.current] = true
        until @running.length > @limit
          return @jobs.shift if @jobs.any?
          return if @idle >= KEPT

          idle
        end
      end
    end
  end
end
