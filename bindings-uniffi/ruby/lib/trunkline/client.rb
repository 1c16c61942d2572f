# frozen_string_literal: true

require "uri"

module Trunkline
  # The base of {Client} and {ClientGroup}.
  class ConnectedClient
    include ClientOperations
    include ConnectionDescription

    # @api private
    HTTP = Options::ENDPOINT.reject { |name, _| name == :url }.freeze
    # @api private
    CHILD = Options::CHILD.reject { |name, _| name == :command }.freeze

    # Valid names in addition to {Options::CLIENT}.
    OTHER_OPTIONS = [*HTTP.keys, *CHILD.keys, :auth, *Handlers::REQUESTS.keys, *Handlers::NOTIFICATIONS.keys, :on_notification, :raise_exceptions,
                     :command, :url, :server].freeze
    private_constant :OTHER_OPTIONS

    class << self
      private

      # For finalizers, which must not refer to the client.
      def ending(port, handle)
        lambda do |_|
          port.native.close(handle, 0) unless port.foreign?
        rescue Error
          nil # The connection is closed.
        end
      end

      # Opens a client. With a block, it is closed at its end.
      def opened(target, options)
        client = new(target, options)
        return client unless block_given?

        begin
          yield client
        ensure
          client.close
        end
      end
    end
    private_class_method :new

    # @api private
    def initialize(target, options)
      @port = Port.current
      @requests = @port.requests
      @connection = Connection.new(@port)
      @connection.on_notification = options[:on_notification]
      rest = @connection.handlers.take(options).except(:on_notification)
      @raises = rest.delete(:raise_exceptions)
      raise InvalidArgumentError, "raise_exceptions needs a server of this process: exceptions cannot cross process boundaries" if @raises && !target.is_a?(Server)

      auth = rest.delete(:auth)
      http = Options.encode(HTTP, rest.slice(*HTTP.keys))
      child = Options.encode(CHILD, rest.slice(*CHILD.keys))
      settings = Options.encode(Options::CLIENT, rest.except(*HTTP.keys, *CHILD.keys), others: OTHER_OPTIONS)
      settings["listen"] = true if @connection.handlers.listens? || @connection.on_notification
      settings["telemetry"] = Trunkline.telemetry ? settings.fetch("telemetry", true) : false
      auth = auth.is_a?(String) ? { "token" => auth } : auth && Options.encode(Options::OAUTH, auth)
      @connection.connect(target, http, child, { "client" => settings, "auth" => auth }.compact)
      ObjectSpace.define_finalizer(self, self.class.send(:ending, @port, handle))
    end

    # Sends a request that is not an operation, and returns the result as JSON. The block receives its
    # progress.
    # @return [Object]
    def request(method, params = nil, **options, &on_progress) = call(method, params, options, &on_progress)

    # Sends a notification to the server.
    def notify(method, params = nil)
      message = Model.plain({ "method" => method, "params" => params }.compact)
      @requests.spans.numbered(handle, { **message, "notification" => true }) { |span| tell({ **message, **span }) }
    end

    # Changes the roots.
    # @deprecated Since 2026-07-28: use tool arguments, resource URIs or configuration instead.
    def roots=(roots)
      tell("roots" => roots.map { |root| Model.plain(root) })
    end

    # Adds a handler, such as `:on_sample`, or replaces it. Servers of revisions before 2026-07-28 only
    # accept handlers for capabilities that were declared when the client connected.
    def on(name, &handler)
      @connection.handlers.add(name, handler)
      tell("handlers" => @connection.handlers.lanes)
    end

    # Subscribes to changes of resources, by URI, and of lists. With a block, the subscription is closed
    # at its end, and the method returns the value of the block.
    #
    # @return [Subscription]
    def subscribe(*resources, tools: nil, prompts: nil, resource_list: nil, tasks: nil, **options, &block)
      filter = { "resources" => resources.empty? ? nil : resources, "tools" => tools || nil, "prompts" => prompts || nil,
                 "resourceList" => resource_list || nil, "tasks" => tasks }.compact
      stream(Subscription, "subscribe", filter, options, &block)
    end

    # Calls a tool as a task. With a block, polling ends with it.
    # @return [ClientTask]
    def start_task(name, arguments = {}, ttl: nil, **options, &block)
      params = { "name" => name, "arguments" => arguments, "ttlMs" => ttl && Options.milliseconds(:ttl, ttl) }
      stream(ClientTask, "startTask", params, options, &block)
    end

    # Continues with a task of an earlier client.
    # @return [ClientTask]
    def resume_task(task_id, **options, &block) = stream(ClientTask, "startTask", { "taskId" => task_id }, options, &block)

    # Closes the connection; requests in flight fail. A server that the client started gets `deadline`
    # seconds to exit on its own, by default `close_timeout`.
    def close(deadline: nil)
      @connection.close(deadline)
      nil
    end

    # False once the client was closed or has lost a server that it cannot reach again.
    def connected? = @connection.open?

    # @api private
    def handle = @connection.handle

    # The handle, for a server or a group of this process.
    # @api private
    def handle_at(port) = port == @port ? handle : raise(ForkedError, "the client belongs to the parent process: create a new one after the fork")

    # @return [String]
    def inspect = "#<#{self.class.name}>"

    private

    # The option that raises a {ToolError} if a tool has failed.
    RAISE_OPTION = :raise_on_error
    private_constant :RAISE_OPTION

    # Options of requests, and the methods whose arguments are a Hash: the braces are easily forgotten.
    REQUEST = (Requests::TABLE.keys - %i[key all]).freeze
    WITH_ARGUMENTS = { "tools/call" => :call_tool, "prompts/get" => :get_prompt, "startTask" => :start_task }.freeze
    private_constant :REQUEST, :WITH_ARGUMENTS

    def call(method, params, options, &on_progress)
      check(method, options, :meta)
      meta = options[:meta]
      params = { **(params || {}), "_meta" => meta } if meta
      options = options.except(:meta, RAISE_OPTION)
      return @requests.send(handle, method, params, options, &on_progress) unless @raises

      scope = Requests::Scope.new
      begin
        @requests.send(handle, method, params, options, scope: scope, &on_progress)
      ensure
        # In place of the result, or of the error that the caller would get.
        raise scope.failure if scope.failure
      end
    end

    def check(method, options, *others)
      valid = [*REQUEST, *others, *(RAISE_OPTION if method == "tools/call")]
      name = options.keys.find { |one| !valid.include?(one) } or return
      asked = WITH_ARGUMENTS[method]
      Options.unknown("option", name, valid, asked && "arguments go in a Hash, as in `#{asked}(\"name\", { #{name}: … })`")
    end

    def list(method, member, item, options)
      check(method, options)
      read_list(@requests.send(handle, method, nil, { **options, all: true }), method, member).map { |one| item.from_json(one) }
    end

    def read_list(result, method, member)
      found = result.is_a?(Hash) && result[member]
      found.is_a?(Array) ? found : raise(TransportError, "invalid response to #{method}: it has no array #{member}")
    end

    def read(model, result) = model.from_json(result)

    def checked(result, options)
      result = CallToolResult.from_json(result)
      raise ToolError, result.text if options[RAISE_OPTION] && result.is_error

      result
    end

    def stream(type, method, params, options)
      stream = type.new(self, @requests, *opened_stream(method, params, options))
      return stream unless block_given?

      begin
        yield stream
      ensure
        stream.close
      end
    end

    # The ticket of a request that opens a stream, and its first reply.
    def opened_stream(method, params, options)
      check(method, options)
      request = { "method" => method, "params" => Model.plain(params).compact, **Options.encode(Requests::TABLE, options) }
      pending = @requests.start { @port.native.request(handle, Requests.json(request)) }
      [pending.ticket, @requests.wait(pending)]
    end

    def tell(message)
      @port.native.notify(handle, Requests.json(Model.plain(message)))
      nil
    end

    # Known from the opening, or shortly after.
    def described
      opened = @connection.opened
      return opened if opened["serverInfo"] && !opened.key?("pid")

      Requests.parse(@port.native.describe(handle))
    rescue Error
      opened
    end
  end

  # A connection to a server. Threads may share it.
  class Client < ConnectedClient
    # Connects and negotiates. With a block, the client is closed at its end.
    #
    # @example
    #   Trunkline::Client.connect(command: ["ruby", "server.rb"]) do |client|
    #     puts client.call_tool("add", { a: 1, b: 2 }).text
    #   end
    # @param target [String, Array<String>, Server, Hash, Object] a URL, a program with its arguments, a
    #   {Server} of this process, an entry of `mcpServers` or the path of a `.json` file with one, or a
    #   custom transport
    # @param command [Array<String>] the program, instead of `target`
    # @param url [String] the URL, instead of `target`
    # @param server [Server] the server of this process, instead of `target`
    # @param raise_exceptions [Boolean] raises errors of the server's handlers that are hidden from
    #   callers, for tests; the server must be one of this process
    # @param options {Options::CLIENT}, {Options::ENDPOINT}, {Options::CHILD}; `auth`, an access token or
    #   {Options::OAUTH}; `on_notification`, and the handlers of {Handlers::REQUESTS} and
    #   {Handlers::NOTIFICATIONS}, such as `on_elicit`
    # @return [Client]
    # @raise [TransportError] if the server cannot be reached or started
    # @raise [VersionError] if client and server share no revision
    def self.connect(target = nil, command: nil, url: nil, server: nil, **options, &block)
      targets = [target, command, url, server].compact
      raise InvalidArgumentError, "connect needs one target: command:, url: or server:" unless targets.length == 1

      # Otherwise, what should be a URL could start a program.
      is_url = [String, URI::Generic].any? { |type| url.is_a?(type) } && url.to_s.include?("://")
      raise InvalidArgumentError, "url must be a URL such as http://localhost:8000/mcp, not #{url.inspect}" unless url.nil? || is_url
      raise InvalidArgumentError, "command must be a list of strings, not #{command.inspect}" unless command.nil? || command.is_a?(Array)
      raise InvalidArgumentError, "server must be a Trunkline::Server of this process, not #{server.inspect}" unless server.nil? || server.is_a?(Server)

      opened(targets.first, options, &block)
    end
  end
end
