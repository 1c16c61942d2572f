# frozen_string_literal: true

module Trunkline
  # The connection of a client.
  # @api private
  class Connection < OpenHandle
    attr_reader :handlers

    def initialize(port)
      super
      @handlers = ClientHandlers.new
      @on_notification = nil
    end

    attr_writer :on_notification

    # What the client connects to, in the core's form, with the options that apply to it.
    def transport_of(target, http, child)
      case target
      when Server then { "type" => "memory", "server" => target.send(:known) }
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
      open(lifespan) { |native| native.open(Requests.json("transport" => transport, "handlers" => @handlers.lanes, **config)) }
    end

    def callable(operation) = @handlers.callable(operation)

    def receive_notification(method, params)
      @handlers.notify(method, params)
      @on_notification&.call(method, params)
    end
  end

  # The servers of a group.
  # @api private
  GroupTarget = Struct.new(:servers)
end
