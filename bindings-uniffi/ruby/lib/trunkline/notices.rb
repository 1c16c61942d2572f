# frozen_string_literal: true

module Trunkline
  # Runs blocks one after another, on a thread of their own.
  # @api private
  class Notices
    def initialize
      @blocks = Backlog.new
    end

    # Runs a block after those before it. Returns true if this one is the first for which others were
    # dropped.
    def run(&block)
      before = @dropped
      @dropped = @blocks.push(block)
      # The program may have killed the thread.
      @thread = Thread.new { work }.tap { |thread| thread.name = "trunkline notifications" } unless @thread&.alive?
      @dropped && !before
    end

    # Lets the thread end after the last block.
    def close = @blocks.close

    def join(seconds) = @thread&.join(seconds)

    private

    def work
      while (block = @blocks.pop)
        begin
          block.call
        rescue Exception => e # rubocop:disable Lint/RescueException
          Trunkline.log_error("a handler of notifications failed", e)
        end
      end
    end
  end
end
