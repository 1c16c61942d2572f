# frozen_string_literal: true

module Trunkline
  # Opens before the first call of a server and closes after its last.
  # @api private
  class Lifespan
    # @return [Object] what was opened
    attr_reader :value

    def initialize(open)
      @open = open
    end

    # The functions that the core calls, by the names of their calls.
    def callables
      { Waist::OPEN => method(:open), Waist::CLOSE => method(:close) }.transform_values do |run|
        Callable.new(run: run, answer: ->(_) { Returns.result({}) }, where: "the lifespan")
      end
    end

    # Takes the error that the program raised if the lifespan could not be opened.
    def take_failure = @failure.tap { @failure = nil }

    private

    def open(_, context)
      # A cancelled opening may have left a value open.
      close
      @failure = nil
      value = @open.call
      # The listener or connection may be closed by now, and the next one open.
      context.over? ? dispose(value) : @value = value
    rescue Exception => e # rubocop:disable Lint/RescueException
      @failure = e unless context.over?
      # The caller of `listen` or `connect` gets the message.
      raise ToolError, e.message
    end

    def close(*) = dispose(@value.tap { @value = nil })

    def dispose(value)
      value.close if value.respond_to?(:close)
    rescue Exception => e # rubocop:disable Lint/RescueException
      Trunkline.log_error("the lifespan could not be closed", e)
    end
  end
end
