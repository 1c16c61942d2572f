# frozen_string_literal: true

module Trunkline
  # Runs blocks one after another, on a thread of their own. Of too many, the newest are dropped.
  # @api private
  class Notices
    # Maximum number of blocks that wait.
    MAX_COUNT = 10_000
    # Maximum size of what they keep, in bytes.
    MAX_BYTES = 4 << 20

    # `total` is the size of what this block and all before it keep.
    Waiting = Struct.new(:block, :total)
    private_constant :MAX_COUNT, :MAX_BYTES, :Waiting

    def initialize
      @blocks = Thread::Queue.new
      # Each is set by one thread only.
      @added = @taken = 0
    end

    # Runs a block, which keeps that many bytes, after those before it. Returns true if this one is
    # dropped, and the one before was not.
    def run(bytes, &block)
      before = @dropped
      @dropped = !fits?(bytes)
      @blocks << Waiting.new(block, @added += bytes) unless @dropped
      # The program may have killed the thread.
      @thread = Thread.new { work }.tap { |thread| thread.name = "trunkline notifications" } unless @thread&.alive?
      @dropped && !before
    end

    # Lets the thread end after the last block.
    def close = @blocks.close

    def join(seconds) = @thread&.join(seconds)

    private

    # A single one always fits, because messages have their own limit.
    def fits?(bytes) = @blocks.empty? || (@blocks.length < MAX_COUNT && @added - @taken + bytes <= MAX_BYTES)

    def work
      while (waiting = @blocks.pop)
        @taken = waiting.total
        begin
          waiting.block.call
        rescue Exception => e # rubocop:disable Lint/RescueException
          Trunkline.log_error("a handler of notifications failed", e)
        end
      end
    end
  end
end
