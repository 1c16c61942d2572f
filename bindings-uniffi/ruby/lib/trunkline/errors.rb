# frozen_string_literal: true

module Trunkline
  # Raised by a handler to give the caller a result with `is_error` and this message.
  class ToolError < StandardError
  end

  # Ends a handler until the client's response arrives; the handler then runs again. Not a
  # StandardError, so that a handler's own `rescue` doesn't catch it.
  class Suspended < Exception # rubocop:disable Lint/InheritException
  end

  # Raised by a verifier of access tokens to refuse the request; the client gets the reason.
  class TokenError < StandardError
    # @return [Array<String>, nil] the scopes that the request needs and the token lacks
    attr_reader :scopes

    def initialize(message = nil, scopes: nil)
      super(message)
      @scopes = scopes
    end
  end

  # Raised by a custom store. Any other error means `unavailable`.
  class StoreError < StandardError
    # @return [String] the reason: `unavailable`, `full` or `corrupt`
    attr_reader :reason

    def initialize(message = nil, reason: "unavailable")
      super(message)
      @reason = reason.to_s
    end
  end

  # Creates the exception for an error object of the core.
  # @api private
  def self.error_of(error)
    kind, message, code, data = error.values_at("kind", "message", "code", "data")
    return Suspended.new(message) if kind == "suspended"

    type = ERRORS.fetch(kind, InternalError)
    if type == ProtocolError
      code ? type.new(message, code: code, data: data) : type.new(message, data: data)
    elsif type.instance_method(:initialize).owner == type
      type.new(message, data: data)
    else
      type.new(message)
    end
  end
end
