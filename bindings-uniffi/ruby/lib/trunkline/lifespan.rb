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
    end

    # Also opens that of a mounted server.
    def mount(other) = @lock.synchronize { @mounted << other }

    # Opens it for one more listener or client.
    def enter
      @lock.synchronize do
        if @users.zero?
          @mounted.each(&:enter)
          @value = @open&.call
        end
        @users += 1
      end
    end

    # Closes it if nothing else uses the server.
    def leave
      @lock.synchronize do
        next unless (@users -= 1).zero?

        value, @value = @value, nil
        value.close if value.respond_to?(:close)
        @mounted.each(&:leave)
      end
    rescue StandardError => e
      Trunkline.log_error("the lifespan could not be closed", e)
    end
  end
end
