# frozen_string_literal: true

module Trunkline
  # What a server opens before its first call and closes after its last.
  # @api private
  class Lifespan
    # @return [Object] what was opened
    attr_reader :value

    def initialize(open)
      @open = open
      @lock = Mutex.new
      @users = 0
      @mounted = []
      # Those that are open because this one is.
      @opened = []
    end

    # Opens that of a mounted server with this one, and now if this one is open.
    def mount(other)
      @lock.synchronize do
        @opened << other.tap(&:enter) if @users.positive?
        @mounted << other
      end
    end

    # The next time this one opens, that of the mounted server stays closed. If it is open, it stays
    # open as long as this one, because calls may still use it.
    def unmount(other) = @lock.synchronize { @mounted.index(other)&.then { |index| @mounted.delete_at(index) } }

    # Opens it for one more listener or client.
    def enter
      @lock.synchronize do
        open if @users.zero?
        @users += 1
      end
    end

    # Closes it if nothing else uses the server.
    def leave
      @lock.synchronize do
        next unless (@users -= 1).zero?

        value, @value = @value, nil
        begin
          value.close if value.respond_to?(:close)
        ensure
          leave_mounted
        end
      end
    rescue Exception => e # rubocop:disable Lint/RescueException
      Trunkline.log_error("the lifespan could not be closed", e)
    end

    private

    def open
      @mounted.each { |other| @opened << other.tap(&:enter) }
      @value = @open&.call
    rescue Exception # rubocop:disable Lint/RescueException
      leave_mounted
      raise
    end

    def leave_mounted = @opened.slice!(0..).each(&:leave)
  end
end
