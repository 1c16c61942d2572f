# frozen_string_literal: true

module Trunkline
  # The handlers of a client, for requests and notifications of its server.
  # @api private
  class ClientHandlers
    def initialize
      @callables = {}
      @listeners = {}
    end

    # Adds the handlers among the options, and returns the others.
    def take(options)
      handlers, others = options.partition { |name, _| Handlers::REQUESTS.key?(name) || Handlers::NOTIFICATIONS.key?(name) }
      handlers.each { |name, handler| add(name, handler) unless handler.nil? }
      others.to_h
    end

    def add(name, handler)
      raise InvalidArgumentError, "#{name} must respond to `call`" unless handler.respond_to?(:call)

      if (request = Handlers::REQUESTS[name])
        operation, model, result = request
        @callables[operation] = Callable.new(run: run(operation, model, handler), answer: answer(name, result), where: name.to_s, source: handler)
      else
        method, model = Handlers::NOTIFICATIONS.fetch(name) { Options.unknown("handler", name, Handlers::REQUESTS.keys + Handlers::NOTIFICATIONS.keys) }
        @listeners[method] = ->(params) { Handler.positional(handler, *(model && model.from_json(params))) }
      end
    end

    def add_transport(transport) = @callables.merge!(Store.transport(transport))

    # The operations that have handlers, in the core's form.
    def lanes = @callables.transform_values { "queue" }

    # True if a handler needs a subscription at newer servers.
    def listens? = Handlers::SUBSCRIBING.any? { |name| @listeners.key?(Handlers::NOTIFICATIONS[name].first) }

    def callable(operation) = @callables[operation]

    def notify(method, params) = @listeners[method]&.call(params)

    private

    def run(operation, model, handler)
      lambda do |body, context|
        Handler.positional(handler, model.from_json(body || {}), context)
      rescue StandardError => e
        raise unless Handlers::OWN.include?(operation) && !e.is_a?(ToolError)

        # The program itself calls it, and gets the message.
        raise ToolError, e.message
      end
    end

    def answer(name, result)
      lambda do |value|
        next Returns.result({}) unless result
        # Not the value, which may be a secret.
        raise Returns::WrongType, "#{name} returned a #{value.class} instead of a result" unless Model === value || Hash === value

        Returns.result(value)
      end
    end
  end
end
