# frozen_string_literal: true

module Trunkline
  # Custom stores and transports: objects whose methods the core calls.
  # @api private
  module Store
    module_function

    # The handlers of a store, by the names of their calls. Times are in seconds.
    def callables(store)
      functions(store, Waist::STORE, "store") { |error| { "error" => error.is_a?(StoreError) ? error.reason : "unavailable" } }
    end

    # The handlers of a transport, by the names of their calls.
    def transport(transport) = functions(transport, Waist::TRANSPORT, "transport") { nil }

    # The block returns the data of the failure for an error of a method.
    def functions(object, table, noun)
      missing = table.each_value.map(&:first).reject { |method| object.respond_to?(method) }
      raise InvalidArgumentError, "#{noun}: lacks the methods #{missing.join(", ")}" if missing.any?

      table.to_h do |name, (method, parameters, member)|
        run = lambda do |body, _|
          given = parameters.map { |key| key.end_with?("Ms") && body[key] ? body[key] / 1000.0 : body[key] }
          value = begin
            object.public_send(method, *given)
          rescue StandardError => e
            raise ProtocolError.new(e.message, data: yield(e))
          end
          member && !value.nil? ? { member => Model.plain(value) } : {}
        end
        [name, Callable.new(run: run, answer: Returns.method(:result), where: "#{method} of the #{noun}", source: object.method(method))]
      end
    end
    private_class_method :functions
  end
end
