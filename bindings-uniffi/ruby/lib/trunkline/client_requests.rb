# frozen_string_literal: true

module Trunkline
  # A request of a handler to its client. {InputRequests} creates them.
  class InputRequest
    # @return [String]
    attr_reader :method
    # @return [Hash{String => Object}]
    attr_reader :params
    # @return [Class] the model of the result
    attr_reader :result

    def initialize(method, params, result)
      @method = method
      @params = Model.plain(params).compact
      @result = result
    end

    # @return [Hash{String => Object}]
    def to_h = @params.empty? ? { "method" => @method } : { "method" => @method, "params" => @params }

    # The messages of a conversation: a string is a user message.
    # @api private
    def self.conversation(messages)
      Array(messages.is_a?(Hash) ? [messages] : messages).map do |message|
        message.is_a?(String) ? { "role" => "user", "content" => { "type" => "text", "text" => message } } : message
      end
    end
  end

  # Returned by a handler of a tool, prompt or resource that needs input from the client first. The
  # handler then runs again from the start, with the responses in `ctx.input_responses` under the same
  # keys, and with `ctx.state`, which is sealed. Most handlers use `ctx.elicit` and similar methods
  # instead.
  class InputRequired
    # @return [Hash{String => InputRequest}]
    attr_reader :input_requests
    # @return [Object] any JSON value
    attr_reader :state

    def initialize(input_requests, state: nil)
      @input_requests = input_requests
      @state = state
    end

    # @api private
    def to_h = { "inputRequests" => @input_requests.to_h { |key, request| [key.to_s, request.to_h] }, "state" => Model.plain(@state) }.compact
  end
end
