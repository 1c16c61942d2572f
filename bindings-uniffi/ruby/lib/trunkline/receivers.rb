# frozen_string_literal: true

module Trunkline
  # The threads of a port. One of them receives events, and another stands by. A handler runs on a thread
  # of the pool, unless it was short the last time and no other event has arrived: then it runs on the
  # thread that has received its call, because handing it to another one takes longer. If it is not short
  # this time, the thread that stands by receives the next events.
  # @api private
  class Receivers
    BATCH_SIZE = 512
    # The threads wait in native code, which returns earlier for an event and at the end.
    POLL_TIMEOUT_MS = 5_000
    # How long an event waits for a thread that runs a handler. A switch between threads takes longer than
    # most handlers.
    GRACE_US = 1_000
    private_constant :BATCH_SIZE, :POLL_TIMEOUT_MS, :GRACE_US

    # `receive` handles an event. It returns a handler to run on the same thread, if its second argument
    # allows that. `abandon` is called when nobody receives events any more.
    def initialize(native, receive:, abandon:)
      @native = native
      @receive = receive
      @abandon = abandon
      @lock = Mutex.new
      @threads = []
      # True for those that a thread has.
      @roles = { receive: false, stand_by: false }
      @ended = false
    end

    # @raise [ThreadError] if there cannot be a thread
    def start
      @lock.synchronize do
        @threads << Thread.new { attend }.tap { |thread| thread.name = "trunkline" }
      end
    end

    # Waits until the threads have ended.
    def join(timeout)
      deadline = now + timeout
      @lock.synchronize { @threads.dup }.each { |thread| thread.join([deadline - now, 0].max) unless thread == Thread.current }
    end

    private

    def attend
      until @ended
        next receive if take(:receive)

        take(:stand_by) ? stand_by : break
      end
    ensure
      @lock.synchronize { @threads.delete(Thread.current) }
    end

    def stand_by
      @native.stand_by(GRACE_US, POLL_TIMEOUT_MS)
      # At the end, it does not wait for the thread that receives the last event.
      sleep 0.001 if @roles[:receive]
    ensure
      @roles[:stand_by] = false
    end

    # Receives events until another thread does.
    def receive
      receiving = true
      loop do
        events = @native.drain(BATCH_SIZE, POLL_TIMEOUT_MS)
        events.each_with_index do |event, index|
          return if event.first == Waist::STOPPED

          handler = @receive.call(event, index == events.length - 1 && watched?) or next
          receiving = @roles[:receive] = false
          handler.call
          receiving = take(:receive) or return
        end
      end
    ensure
      # Even if the program has killed the thread.
      if receiving
        @ended = true
        @roles[:receive] = false
        @abandon.call
      end
    end

    # True if another thread stands by.
    def watched?
      @roles[:stand_by] || start
    rescue ThreadError
      false # There are too many.
    end

    def take(role)
      @lock.synchronize { !@roles[role] && (@roles[role] = true) }
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
