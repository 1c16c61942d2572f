# frozen_string_literal: true

module Trunkline
  # A client of many servers, whose tools have the names of their servers as a prefix.
  class ClientGroup < ConnectedClient
    include GroupOperations

    # Connects to all servers. If one of them fails, the others are still connected. With a block, the
    # group is closed at its end.
    #
    # @param servers [Hash, String] the targets by name, each as for {Client.connect} except servers of
    #   this process; a configuration with `mcpServers`, or the path of its file
    # @return [ClientGroup]
    def self.connect(servers, **options, &block)
      given = servers.is_a?(Hash) ? servers.to_h { |name, target| [name.to_s, place(target)] } : servers.to_s
      clients = servers.is_a?(Hash) ? servers.select { |_, target| target.is_a?(ConnectedClient) }.to_a : []
      opened(GroupTarget.new(given, clients), options, &block)
    end

    # @api private
    def initialize(target, options)
      # The finalizer of a client would close the connection that the group shares.
      @clients = target.clients
      super
    end

    # @see GroupOperations#add_server
    def add_server(name, target, **options)
      @clients << [name, target] if target.is_a?(ConnectedClient)
      super
    end

    # @see GroupOperations#remove_server
    def remove_server(name, **options)
      super
      @clients.delete_if { |one, _| one.to_s == name.to_s }
      nil
    end

    # A server as the core has it: a client is a connection that the group shares.
    # @api private
    def self.place(target) = target.is_a?(ConnectedClient) ? { "connection" => target.handle_at(Port.current) } : Options.in_json(target)

    private

    def target_of(target) = self.class.place(target)
  end
end
