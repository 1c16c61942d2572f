# frozen_string_literal: true

module Trunkline
  class << self
    # Maximum number of threads that run handlers. Threads that wait for a reply of the core don't
    # count. Callers whose access tokens were verified take turns, and an eighth of the threads is left to
    # those who have none running. Set it before the first server or client opens. Default: 64.
    def max_threads=(count)
      @max_threads = Integer(count).tap { |threads| raise InvalidArgumentError, "max_threads must be 1 or more, not #{threads}" unless threads.positive? }
    end

    def max_threads = @max_threads ||= 64
  end

  # The threads that run handlers.
  # @api private
  class Pool
    # Idle threads end, except for this many.
    MAX_IDLE = 4
    # One thread of this many is left to callers who have none.
    RESERVED_SHARE = 8

    # Jobs that are over are removed each time as many as that were added.
    MIN_PURGE = 512

    # `find` returns the caller, or nothing if there is none to tell apart. It is only asked when threads
    # become scarce. `over` says whether the job need not run any more.
    Job = Struct.new(:work, :find, :over) do
      def caller
        return @caller if defined?(@caller)

        @caller = find&.call
      end
    end
    # The key of jobs whose caller was not asked for.
    UNKNOWN_CALLER = Object.new
    private_constant :MAX_IDLE, :RESERVED_SHARE, :MIN_PURGE, :Job, :UNKNOWN_CALLER

    def initialize(limit)
      @limit = limit
      @shared = limit - (limit / RESERVED_SHARE)
      @lock = Mutex.new
      @arrived = ConditionVariable.new
      # The jobs that wait, by their caller, in the order of turns.
      @jobs = {}
      @count = 0
      @added = 0
      # The threads that do not wait for the core, and their jobs. A timeout in a handler could leave a
      # mere count wrong.
      @running = {}
      @idle = 0
    end

    # Runs a block on one of the threads.
    def run(find = nil, over: nil, &work)
      @lock.synchronize do
        purge if @added >= MIN_PURGE
        job = Job.new(work, find, over)
        key = @running.length - @idle + @count < @shared ? UNKNOWN_CALLER : job.caller
        (@jobs[key] ||= []) << job
        @count += 1
        @added += 1
        wake { withdraw(key, job) }
      end
    end

    # Counts the calling thread as one of the pool, if one is free for its job, until it calls {#leave}.
    def enter(find)
      @lock.synchronize do
        next if @count.positive? || @running.length - @idle >= @shared

        Thread.current.thread_variable_set(:trunkline_pool, self)
        @running[Thread.current] = Job.new(nil, find)
      end
    end

    def leave
      Thread.current.thread_variable_set(:trunkline_pool, nil)
      @lock.synchronize do
        @running.delete(Thread.current)
        wake
      end
    end

    # Lets another thread run handlers while the caller, which may be one of them, waits. Otherwise
    # handlers that wait for other handlers could wait forever.
    def waiting
      return yield unless Thread.current.thread_variable_get(:trunkline_pool) == self

      job = @lock.synchronize { @running.delete(Thread.current).tap { |found| wake if found } }
      begin
        yield
      ensure
        @lock.synchronize { @running[Thread.current] = job }
      end
    end

    private

    # Otherwise a caller could add any number of jobs by cancelling those that wait for its turn.
    def purge
      @jobs.each_value { |jobs| jobs.reject! { |job| job.over&.call } }
      @jobs.reject! { |_, jobs| jobs.empty? }
      @count = @jobs.each_value.sum(&:length)
      # Each job is looked at a few times at most.
      @added = -@count
    end

    # Lets a thread take a job that waits, if one may run. The block removes the one that was added.
    def wake(&remove)
      ready = count_ready
      return if ready.zero?

      if ready <= @idle || (@idle.positive? && @running.length >= @limit)
        @arrived.signal
      elsif @running.length < @limit
        begin_thread(&remove)
      end
    end

    # Without another thread, those that run must do, if there are any.
    # @raise [ThreadError] if there are none
    def begin_thread(&remove)
      thread = Thread.new { work }
      thread.name = "trunkline handler"
      @running[thread] = nil
    rescue ThreadError
      raise if @running.empty? && remove&.call
    end

    def work
      Thread.current.thread_variable_set(:trunkline_pool, self)
      while (job = take)
        job.work.call
      end
    ensure
      # The handler may have ended the thread while other calls wait for one.
      @lock.synchronize do
        known = @running.key?(Thread.current)
        @running.delete(Thread.current)
        wake if known
      end
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
        @running[Thread.current] = nil
        until @running.length > @limit
          job = next_job
          return @running[Thread.current] = job if job
          return if @idle >= MAX_IDLE

          idle
        end
      end
    end

    # True if the threads left are reserved for callers that have none.
    def scarce? = @running.length >= @shared && @running.each_value.count(&:itself) >= @shared

    # The callers who may get none of the threads that are left.
    def busy
      return [] unless scarce?

      @jobs.delete(UNKNOWN_CALLER)&.each { |job| (@jobs[job.caller] ||= []) << job }
      @running.each_value.filter_map { |job| job&.caller }.uniq
    end

    # The number of jobs that may run, or of callers who have some.
    def count_ready
      return 0 if @count.zero?

      excluded = busy
      excluded.empty? ? @count : @jobs.count { |key, _| !excluded.include?(key) }
    end

    # The job of the caller whose turn it is, who is then the last.
    def next_job
      return if @count.zero?

      excluded = busy
      key, jobs = @jobs.find { |one, _| !excluded.include?(one) }
      jobs && withdraw(key, jobs.first)
    end

    def withdraw(key, job)
      jobs = @jobs.delete(key)
      jobs.first.equal?(job) ? jobs.shift : jobs.delete_if { |one| one.equal?(job) }
      @jobs[key] = jobs unless jobs.empty?
      @count -= 1
      job
    end
  end
end
