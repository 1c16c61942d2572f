# frozen_string_literal: true

module Trunkline
  # The connection of a client.
  # @api private
  class Connection < OpenHandle
    attr_reader :handlers

    def initialize(port)
      super
      @handlers = ClientHandlers.new
    end

    attr_accessor :on_notification

    def serving? = false

    # The client's target in the core's form, with the options that apply to it.
    def transport_of(target, http, child)
      case target
      when Server then { "type" => "memory", "server" => target.send(:handle_at, @port) }
      when Array then { "type" => "child", "command" => target.map(&:to_s), **child, **http }
      when GroupTarget then { "type" => "group", "servers" => target.servers, "defaults" => { **http, **child } }
      when Hash then { "type" => "config", "server" => Options.in_json(target), "defaults" => { **http, **child } }
      when String, URI::Generic
        text = target.to_s
        return { "type" => "config", "server" => text, "defaults" => { **http, **child } } if text.end_with?(".json") && !text.include?("://")

        { "type" => "http", "url" => text, **http, **child }
      else
        @handlers.add_transport(target)
        { "type" => "channel", **http, **child }
      end
    end

    def connect(target, http, child, config)
      transport = transport_of(target, http, child)
      lifespan = target.is_a?(Server) ? target.send(:lifespan) : nil
      open(lifespan) do |native|
        message = Model.plain({ "transport" => transport, "handlers" => @handlers.lanes, **config })
        next native.open(Requests.json(message)) unless config.dig("client", "telemetry")

        @port.requests.spans.numbered(0, { "method" => "open" }) { |span| native.open(Requests.json(message.merge(span))) }
      end
      target.send(:remember, self) if target.is_a?(Server)
    end

    def callable(operation) = @handlers.callable(operation)

    def receive_notification(method, params)
      @handlers.notify(method, params)
      @on_notification&.call(method, params)
    end
  end

  # The servers of a group, and the clients among them, as pairs of their names and themselves.
  # @api private
  GroupTarget = Struct.new(:servers, :clients)
end
