# frozen_string_literal: true

module Trunkline
  # What a server opens before its first call and closes after its last.
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

    # What the program has raised, if it could not be opened.
    def take_failure = @failure.tap { @failure = nil }

    private

    def open(_, context)
      # It may have been called off when it was already open.
      close
      @failure = nil
      value = @open.call
      # What was about to serve may have been closed meanwhile, and the next may be open.
      context.over? ? dispose(value) : @value = value
    rescue Exception => e # rubocop:disable Lint/RescueException
      @failure = e unless context.over?
      # Who listens or connects gets the message.
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
