# frozen_string_literal: true

# A minimal fiber scheduler: blocked fibers are resumed by other threads.
class Scheduler
  def initialize
    @ready = Thread::Queue.new
    @blocked = 0
  end

  def block(_blocker, _timeout = nil)
    @blocked += 1
    Fiber.yield
  ensure
    @blocked -= 1
  end

  def unblock(_blocker, fiber) = @ready << fiber

  def kernel_sleep(seconds = nil) = block(:sleep, seconds)

  def io_wait(_io, events, _timeout) = events

  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

  def close
    @ready.pop.resume while @blocked.positive? || !@ready.empty?
  end
end
