# frozen_string_literal: true

module Trunkline
  # A server of tools, resources, prompts and skills for clients of every protocol revision. One server
  # handles all connections and requests of a process, on any number of transports. Its features can
  # change while clients are connected.
  #
  # @example
  #   server = Trunkline::Server.new("calculator", version: "1.0")
  #   server.tool("add", description: "Adds two numbers", input: { a: Numeric, b: Numeric }) { |a:, b:| a + b }
  #   server.serve_stdio
  class Server
    # The hooks of a server, as its calls see them.
    Owner = Struct.new(:on_error, :lifespan)
    # A feature of a server, and its handle unless it was removed.
    Entry = Struct.new(:feature, :handle, :hidden)
    private_constant :Owner, :Entry

    # Members of a server's description.
    INFO = %i[title description website_url icons].freeze
    private_constant :INFO

    # @param name [String] the name, for programs
    # @param version [String]
    # @param instructions [String] instructions for the model on how to use the server
    # @param store [String, Object] keeps tasks and sessions: a URL (`memory:`, `sqlite:PATH`,
    #   `redis://…`), or an object with the methods of a store
    # @param on_error [#call] called with an error of a handler and its {Context} if the caller only
    #   gets a generic message
    # @param lifespan [#call] opens what calls need, before the first one; the value is `ctx.lifespan`,
    #   and its `close` is called when nothing serves or uses the server any more. That of a mounted
    #   server opens with the first request that reaches it, and closes with the server it is mounted on
    # @param options the title and other members of {Implementation}, and {Options::SERVER}
    # @raise [InvalidArgumentError] if an option is unknown or invalid
    def initialize(name, version:, instructions: nil, store: nil, on_error: nil, lifespan: nil, **options)
      { on_error: on_error, lifespan: lifespan }.each { |option, hook| hook.nil? || hook.respond_to?(:call) || raise(InvalidArgumentError, "#{option} must respond to `call`") }
      @owner = Owner.new(on_error)
      @opens = lifespan
      info = Implementation.new(name: name, version: version, **options.slice(*INFO))
      own = store.nil? || store.is_a?(String) ? {} : Store.callables(store)
      given = Options.encode(Options::SERVER, options.except(*INFO), others: [*INFO, :version, :instructions, :store, :on_error, :lifespan])
      given["store"] = store if store.is_a?(String)
      given["telemetry"] = Trunkline.telemetry ? given.fetch("telemetry", true) : false
      @description = { "info" => info.to_h, "instructions" => instructions, "options" => given, "store" => own.empty? ? nil : lanes(own) }.compact
      @store = own
      @lock = Mutex.new
      # The features, in the order in which they were added. They keep what is mounted and proxied.
      @entries = []
      settle(Port.current)
    end

    # Adds a tool. The block gets the arguments as keywords and, if it has a positional parameter, the
    # {Context}. What it returns becomes the result: a string is text, content is sent as it is, and
    # anything else becomes JSON.
    #
    # @example
    #   server.tool("forecast", description: "The forecast", input: { city: String, days: 1..7 }) do |ctx, city:, days: 1|
    #     ctx.progress(0.5)
    #     { city: city, days: days }
    #   end
    # @param name [String]
    # @param input [Hash] the types of the arguments by name (see {Schema.object}), or a JSON Schema.
    #   Arguments with a default in the block are optional. By default, they have any type.
    # @param output [Hash, Class] the type of the structured content
    # @param visible [#call] decides for each caller, by its {Context}, who sees and calls the tool
    # @param options the members of {Tool}, and {Options::TOOL}
    # @return [Registration]
    # @raise [InvalidArgumentError] if the definition is invalid or its name is taken
    def tool(name, **options, &block) = changeable(:tool, name, options, block)

    # Adds a resource or, with a URI template (RFC 6570, such as `notes://{name}`), all resources whose
    # URI matches. The block gets the variables, and `uri`, as keywords. It returns text, a binary
    # string, {ResourceContents}, or anything for JSON; nil means that there is no such resource.
    #
    # @param uri [String]
    # @param complete [Hash{Symbol => #call}] suggests values of variables
    # @param options the members of {Resource} or {ResourceTemplate}, and {Options::RESOURCE}
    # @return [Registration]
    def resource(uri, **options, &block) = changeable(:resource, uri.to_s, options, block)
    alias resource_template resource

    # Adds a prompt. The block gets the arguments, which are strings, as keywords. It returns a string
    # or content as a user message, {Trunkline.user} and {Trunkline.assistant}, or an array of these.
    #
    # @param name [String]
    # @param arguments [Hash{Symbol => String}] descriptions of the arguments
    # @param complete [Hash{Symbol => #call}] suggests values of arguments
    # @param options the members of {Prompt}, and {Options::PROMPT}
    # @return [Registration]
    def prompt(name, **options, &block) = changeable(:prompt, name, options, block)

    # Adds a completion. The block gets the text so far and the other arguments, and returns texts or a
    # {Completion}.
    #
    # @param reference [PromptReference, ResourceTemplateReference]
    # @param argument [String, Symbol]
    # @return [Registration]
    def completion(reference, argument, &block) = add(Features.completion(reference, argument, &block))

    # Adds an agent skill: its folder, or its files by path.
    # @return [Registration]
    def skill(files, **options) = add(Features.skill(files, **options))

    # Adds a folder whose files are resources, read when they are requested.
    # @return [Registration]
    def directory(uri, path, **options) = add(Features.directory(uri, path, **options))

    # Adds a provider of features that are not registered, such as rows of a database: an object with
    # `list(cursor, ctx)`, which returns the items, or a hash of `items` and `nextCursor`, and
    # `get(params, ctx)`, which returns what a handler does.
    #
    # @param of [String, Symbol] `tools`, `resources`, `resourceTemplates` or `prompts`
    # @return [Registration]
    def provider(of, provider) = add(Features.provider(Options.camel(of), provider))

    # Adds middleware for some methods, or for all that can be wrapped. The block gets a request, whose
    # `proceed` runs the rest and returns its result, and the {Context}. It returns the result.
    #
    # @example
    #   server.middleware("tools/call") { |request| logger.info(request.params["name"]); request.proceed }
    # @return [Registration]
    def middleware(*methods, &block) = add(Features.middleware(methods, &block))

    # Adds the handler of a request that is not part of the protocol, such as `com.acme/sum`.
    # @return [Registration]
    def request_handler(method, **options, &block) = add(Features.request_handler(method, **options, &block))

    # Adds the features of another server, under a prefix.
    # @return [Registration]
    def mount(prefix, other)
      raise InvalidArgumentError, "only a Trunkline::Server can be mounted, not #{other.inspect}" unless other.is_a?(Server)

      add(Features::Feature.new(kind: :mount, description: { "prefix" => prefix }, refers: ->(port) { { "mounted" => other.send(:handle_at, port) } }))
    end

    # Adds the features of the server behind a client.
    # @return [Registration]
    def proxy(client, **options)
      raise InvalidArgumentError, "only a client or a group can be proxied, not #{client.inspect}" unless client.is_a?(ConnectedClient)

      add(Features::Feature.new(kind: :proxy, description: Options.encode(Options::PROXY, options), refers: ->(port) { { "connection" => proxied(client, port) } }))
    end

    # Notifies subscribers that a resource has changed.
    def resource_updated(uri) = notify(known, "resourceUpdated" => uri)

    # Notifies clients that a provider's list has changed. Other lists need no call.
    def list_changed(list) = notify(known, "listChanged" => Options.camel(list))

    # Notifies the client that the user has finished with the page of `elicit_url` (2025-11-25).
    def elicitation_complete(elicitation_id) = notify(known, "elicitationComplete" => elicitation_id)

    # Serves over stdin and stdout in the foreground, until stdin ends or SIGINT or SIGTERM arrives. Calls
    # in flight may then complete. Anything that the program prints to stdout goes to stderr.
    #
    # @raise [Error] the error that ended the input
    def serve_stdio
      foreground({ "type" => "stdio" }) do
        # On other systems the core redirects the descriptors. It has handles of its own.
        if RUBY_PLATFORM.match?(/mingw|mswin/)
          $stdin.reopen(File::NULL)
          $stdout.reopen($stderr)
        end
      end
    end

    # Serves Streamable HTTP in the foreground, until SIGINT or SIGTERM arrives. Calls in flight may then
    # complete. Like {#listen} followed by {Listener#run}, but also handles signals while opening.
    #
    # @example
    #   server.serve_http(port: 8000)
    # @param (see #listen)
    # @raise [TransportError] if the address is not available
    def serve_http(auth: nil, **options) = foreground(http(auth, options))

    # Listens for Streamable HTTP. With a block, the listener is closed at its end.
    #
    # @example
    #   server.listen(port: 8000) { |listener| puts listener.url }
    # @param auth [Hash] only serves requests with an access token: {Options::AUTH}; `verifier` is a
    #   function of an {AccessToken} that returns an {Identity} or nil
    # @param options {Options::HTTP}
    # @return [Listener]
    # @raise [TransportError] if the address is not available
    def listen(auth: nil, **options)
      listener = Listener.new(port, open_listener(OpenHandle.new(port, known), http(auth, options)))
      return listener unless block_given?

      begin
        yield listener
      ensure
        listener.close
      end
    end

    # Serves on descriptors, such as a socket passed by a supervisor. The program keeps its descriptors.
    # @return [Listener]
    def listen_io(reader, writer = reader)
      handle = OpenHandle.new(port, known)
      remember(handle.open(lifespan) { |native| native.open_pipe(known, reader.fileno, writer.fileno) })
      Listener.new(port, handle)
    end

    # The server as a Rack application, with the options of {#listen} except those of a socket. It
    # serves every path that the framework passes on, unless `path` names one. It may be created before
    # a web server forks.
    #
    # @return [RackApp]
    def rack_app(auth: nil, **options)
      transport = http(nil, options).merge("mounted" => true)
      port.native.check(Requests.json("server" => known, "transport" => transport))
      RackApp.new(-> { [open_listener(OpenHandle.new(port, known), auth ? transport.merge("auth" => protection(auth)) : transport), port] })
    end

    # Closes all listeners and in-memory connections of the server, and frees it.
    def close(deadline: nil)
      serving = @open.select(&:open?)
      serving.each { |handle| handle.begin_close(deadline) }
      serving.each(&:wait)
      unregister(@handle) if @handle && !@port.over?
      @handle = nil
    end

    # Checks the server's store, and returns what is wrong with it.
    # @return [Array<String>]
    def check_store
      port.ensure_running
      port.requests.send(known, "checkStore")["findings"]
    end

    # @return [String]
    def inspect = "#<#{self.class.name}>"

    # For finalizers, which must not refer to the server.
    def self.freeing(port, handle)
      lambda do |_|
        port.native.unregister(handle) unless port.foreign?
      rescue Error
        nil # The server is closed.
      end
    end
    private_class_method :freeing

    private

    # The port of this process. If it is another one, as in a child, the server is registered there first.
    def port
      @lock.synchronize { settle(Port.current) if @handle && @port.over? } if @port.over?
      @port
    end

    # Registers the server, and everything that was added to it before.
    def settle(port)
      # The opened lifespan belongs to the parent.
      @owner.lifespan = @opens && Lifespan.new(@opens)
      @table = {}
      handle = port.register("server", @description, @store)
      port.register("lifespan", { "server" => handle }, @owner.lifespan.callables) if @opens
      @entries.each do |entry|
        entry.handle = register_at(port, handle, entry.feature)
        port.native.notify(entry.handle, '{"enabled":false}') if entry.hidden
      end
      # Listeners, and connections of this process.
      @open = []
      @port = port
      @handle = handle
      ObjectSpace.define_finalizer(self, self.class.send(:freeing, port, handle))
    rescue Error
      port.native.unregister(handle) if handle
      raise
    end

    # The handle, for a connection of this process.
    def handle_at(port) = port == self.port ? known : raise(ForkedError, "the server belongs to another process")

    def known
      port
      @handle || raise(ClosedError, "the server is closed")
    end

    def lifespan = @owner.lifespan

    def lanes(callables) = callables.transform_values { "queue" }

    # Serves until the end or a signal. The block runs once it has opened.
    def foreground(transport)
      handle = OpenHandle.new(port, known)
      # Before it opens, there is nothing to drain.
      close = -> { handle.handle ? handle.begin_close : Process.kill(:TERM, Process.pid) }
      Foreground.until_signal(close) do |signals|
        open_listener(handle, transport, { "foreground" => true, "signals" => signals })
        yield if block_given?
        handle.wait
      rescue ClosedError
        # A signal has ended it before it was open.
        raise unless handle.handle
      end
      raise handle.error if handle.error
    end

    # Opens a listener. Its verifier is registered until its end, because it verifies the requests
    # that arrive before.
    def open_listener(handle, transport, more = {})
      verifier = transport.dig("auth", "verifier")
      handle.at_end { unregister(verifier) } if verifier
      remember(handle.open(lifespan) { |native| native.open(Requests.json("server" => known, "transport" => transport, **more)) })
    end

    def remember(handle)
      handle.server = self
      @lock.synchronize { @open = @open.select(&:open?) << handle }
      handle
    end

    def http(auth, options)
      transport = { "type" => "http", **Options.encode(Options::HTTP, options, others: [:auth]) }
      auth ? transport.merge("auth" => protection(auth)) : transport
    end

    def protection(auth)
      raise InvalidArgumentError, "auth must be a Hash of options" unless auth.is_a?(Hash)

      verifier = auth[:verifier]
      json = Options.encode(Options::AUTH, auth.except(:verifier))
      verifier ? json.merge("verifier" => register_at(port, known, Features.verifier(verifier))) : json
    end

    # Adds a feature that can be changed: `options` and `block` define it.
    def changeable(kind, name, options, block)
      key = kind == :resource ? :uri : :name
      rebuild = lambda do |entry, changes, handler|
        defined = options.merge(changes)
        # A resource also has a name, which is an option.
        named = defined.delete(key) || name
        feature = Features.public_send(kind, named, **defined.compact, &handler || block)
        entry = enter(feature, entry)
        options, name, block = defined, named, handler || block
        entry
      end
      Registration.new(self, rebuild.call(nil, {}, nil), &rebuild)
    end

    def add(feature) = Registration.new(self, enter(feature))

    # Adds a feature, or puts it in the place of another.
    def enter(feature, entry = nil)
      at = port
      handle = register_at(at, known, feature, replaces: entry && present(entry))
      @lock.synchronize do
        @entries << (entry = Entry.new) unless entry
        entry.feature = feature
        entry.handle = handle
      end
      entry
    end

    # The handle of a feature that was not removed.
    def present(entry)
      port
      entry.handle || raise(InvalidArgumentError, "the feature was removed")
    end

    def remove(entry)
      return unless entry.handle

      # In a child, the parent's is left alone.
      unregister(entry.handle) if @handle && !@port.over?
      @lock.synchronize { @entries.delete_if { |one| one.equal?(entry) } }
      entry.handle = nil
    end

    def show(entry, shown)
      notify(present(entry), "enabled" => shown)
      entry.hidden = !shown
      nil
    end

    def proxied(client, port)
      client.handle_at(port)
    rescue ForkedError
      raise ForkedError, "the server proxies a client that belongs to the parent process: connect it, and add the proxy, after the fork"
    end

    # Registers a feature and its hooks, which it then keeps alive.
    def register_at(port, server, feature, replaces: nil)
      hooks = []
      hooked = ->(kind, callable) { port.register(kind, { "server" => server }, { "" => owned(callable) }, table: @table).tap { |handle| hooks << handle } }
      description = { "server" => server, "replaces" => replaces, **feature.description, **(feature.refers ? feature.refers.call(port) : {}) }
      description["visible"] = hooked.call("visibility", feature.visible.callable) if feature.visible
      description["complete"] = feature.completers.transform_values { |one| hooked.call("completer", one) } if feature.completers&.any?
      port.register(feature.kind.to_s, description.compact, feature.callable ? { "" => owned(feature.callable) } : {}, table: @table)
    ensure
      hooks.each { |handle| port.native.unregister(handle) }
    end

    def owned(callable)
      callable.owner = @owner
      callable
    end

    def unregister(handle)
      port.native.unregister(handle)
    rescue InvalidArgumentError, ClosedError
      nil # The handle was removed, or its port is closed.
    end

    def notify(target, message)
      port.native.notify(target, Requests.json(message))
      nil
    end
  end

  # Checks that a store fulfils its contract, which takes a few seconds.
  # @return [Array<String>] the violations found
  def self.check_store(store)
    server = Server.new("check", version: "1", store: store)
    server.check_store
  ensure
    server&.close
  end
end
