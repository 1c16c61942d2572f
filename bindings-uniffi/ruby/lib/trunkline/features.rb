# frozen_string_literal: true

module Trunkline
  # The features of a server, as the core registers them.
  # @api private
  module Features
    # A feature to register: its kind, description, handler, and the hooks it refers to. `refers` is
    # called with a port, and returns the members with the handles of what it depends on there.
    Feature = Struct.new(:kind, :description, :callable, :visible, :completers, :refers, keyword_init: true)

    module_function

    def tool(name, input: nil, output: nil, **options, &block)
      of = "the tool #{name.inspect}"
      handler = Handler.new(block, of)
      numbers = Schema.numbers(input)
      input = input.nil? ? arguments_of(handler) : Schema.arguments(input, handler)
      output = output.nil? ? nil : output_schema(output)
      wrapped = !output.nil? && output["type"] != "object"
      output = { "type" => "object", "properties" => { "result" => output }, "required" => ["result"] } if wrapped
      descriptor = described(Tool, options, "name" => name.to_s, "inputSchema" => input, "outputSchema" => output)
      feature(:tool, of, options, { "tool" => descriptor, "wrapOutput" => wrapped }, Options::TOOL, [*members_of(Tool), :input, :output]) do
        Callable.new(run: ->(arguments, context) { handler.call(context, Schema.with_numbers(arguments, numbers)) }, where: of, tool: name.to_s, source: handler.block,
                     answer: ->(value) { Returns.answer(value, Returns::TOOL, wrapped: wrapped) })
      end
    end

    # In a URI template (RFC 6570): an expression, and the name of a variable within it.
    EXPRESSION = /\{[+#.\/;?&]?([^{}]+)\}/
    NAME = /\A[^:*]*/
    private_constant :EXPRESSION, :NAME

    def resource(uri, name: nil, **options, &block)
      uri = Text.of(uri)
      of = "the resource #{uri.inspect}"
      handler = Handler.new(block, of)
      template = uri.include?("{")
      model, member = template ? [ResourceTemplate, "uriTemplate"] : [Resource, "uri"]
      kind = template ? :resourceTemplate : :resource
      variables = uri.scan(EXPRESSION).flatten.flat_map { |names| names.split(",").map { |one| one[NAME].to_sym } }
      lacking(handler, [*variables, :uri], "the URI has no variable")
      descriptor = described(model, options, member => uri, "name" => (name || uri).to_s)
      feature(kind, of, options, { kind.to_s => descriptor }, Options::RESOURCE, [:name, *members_of(model)], template ? variables : nil) do
        run = ->(body, context) { handler.call(context, { "uri" => body["uri"] }.merge(body["variables"] || {})) }
        Callable.new(run: run, where: of, source: handler.block, answer: ->(value) { Returns.answer(value, Returns::RESOURCE) })
      end
    end

    def prompt(name, arguments: nil, **options, &block)
      of = "the prompt #{name.inspect}"
      handler = Handler.new(block, of)
      arguments = prompt_arguments(handler, arguments)
      descriptor = described(Prompt, options, "name" => name.to_s, "arguments" => arguments)
      names = (arguments || []).map { |argument| argument["name"].to_s.to_sym }
      feature(:prompt, of, options, { "prompt" => descriptor }, Options::PROMPT, members_of(Prompt), names) do
        Callable.new(run: ->(given, context) { handler.call(context, given) }, where: of, source: handler.block,
                     answer: ->(value) { Returns.answer(value, Returns::PROMPT) })
      end
    end

    def completion(reference, argument, &block)
      Feature.new(kind: :completion, description: { "ref" => Model.plain(reference), "argument" => argument.to_s },
                  callable: completer(block, "the completion of #{argument.inspect}"))
    end

    # Names of arguments that become symbols if nothing says which there are.
    MAX_NAMES = 100
    private_constant :MAX_NAMES

    # Functions take the text so far, the other arguments, and the context. A caller may send any number
    # of them, whose names must not all become symbols.
    def completer(function, of, names = nil)
      checked(function, of)
      names = names&.to_h { |name| [name.name, name] }
      run = lambda do |body, context|
        given = body.dig("context", "arguments") || {}
        known = names ? names.filter_map { |text, name| [name, given[text]] if given.key?(text) }.to_h : given.first(MAX_NAMES).to_h.transform_keys(&:to_sym)
        Handler.positional(function, body.dig("argument", "value"), known, context)
      end
      Callable.new(run: run, answer: Returns.method(:value), where: of, source: function)
    end

    def provider(list, provider)
      parts = { "tools" => Returns::TOOL, "prompts" => Returns::PROMPT }.fetch(list, Returns::RESOURCE)
      run = lambda do |body, context|
        next provider.get(body["get"], context) if body.key?("get")

        page = provider.list(body.dig("list", "cursor"), context)
        Page.new(page.is_a?(Array) ? { "items" => page } : page)
      end
      answer = ->(value) { Page === value ? Returns.value(value.value) : Returns.answer(value, parts) }
      Feature.new(kind: :provider, description: { "of" => list }, callable: Callable.new(run: run, answer: answer, where: "a provider of #{list}", source: provider.method(:get)))
    end

    Page = Struct.new(:value)

    # A request in middleware: its method and params, and the rest of its way.
    Request = Struct.new(:method, :params, :context) do
      # Runs the rest, with other params if given, and returns the result.
      def proceed(params = nil) = context.proceed(params)
    end

    def middleware(methods, &block)
      checked(block, "middleware")
      run = ->(body, context) { Handler.positional(block, Request.new(body["method"], body["params"] || {}, context), context) }
      Feature.new(kind: :middleware, description: methods.empty? ? {} : { "methods" => methods.map(&:to_s) },
                  callable: Callable.new(run: run, answer: method(:middleware_result), where: "middleware", source: block))
    end

    def middleware_result(value)
      raise Returns::WrongType, "middleware must return a result: the value of `proceed`, or another Hash" unless Model === value || Hash === value

      Returns.result(value)
    end
    private_class_method :middleware_result

    def request_handler(method, params: nil, **options, &block)
      of = "the handler of #{method}"
      handler = Handler.new(block, of)
      description = Options.encode(Options::REQUEST_HANDLER, options, others: [:params])
      description["paramsSchema"] = Schema.object(params, optional: handler.optional) if params
      numbers = Schema.numbers(params)
      Feature.new(kind: :requestHandler, description: { "method" => method, **description },
                  callable: Callable.new(run: ->(body, context) { handler.call(context, Schema.with_numbers(body || {}, numbers)) }, answer: Returns.method(:value), where: of, source: block))
    end

    def verifier(function)
      checked(function, "a verifier of access tokens")
      run = ->(body, context) { Handler.positional(function, AccessToken.from_json(body), context) }
      Feature.new(kind: :verifier, description: {}, callable: Callable.new(run: run, answer: Returns.method(:value), where: "the verifier of access tokens", source: function))
    end

    def visibility(function)
      checked(function, "a feature's visibility")
      Feature.new(kind: :visibility, description: {},
                  callable: Callable.new(run: ->(_, context) { Handler.positional(function, context) ? true : false }, answer: Returns.method(:value), where: "a feature's visibility"))
    end

    def skill(files, **options)
      contents = files.respond_to?(:to_h) && !files.is_a?(String) ? { "files" => files.map { |path, text| file(path.to_s, text) } } : { "folder" => File.expand_path(files.to_s) }
      Feature.new(kind: :skill, description: { **contents, **Options.encode(Options::SKILL, options) })
    end

    def directory(uri, path, **options)
      Feature.new(kind: :directory, description: { "uri" => uri, "path" => File.expand_path(path.to_s), **Options.encode(Options::DIRECTORY, options) })
    end

    # The parts of a definition that all features with a descriptor have. `members` are the options that
    # the descriptor has taken, `names` the arguments that can be completed.
    def feature(kind, of, options, description, table, members, names = nil)
      complete = (names && options.delete(:complete)) || {}
      visible = options.delete(:visible)
      others = [*members, :visible, *(:complete if names)]
      Feature.new(kind: kind, description: description.merge(Options.encode(table, options, others: others)), callable: yield,
                  visible: visible && visibility(visible),
                  completers: complete.to_h { |argument, function| [argument.to_s, completer(function, "the completion of #{Text.of(argument.to_s)} of #{of}", names)] })
    end

    # The members of a descriptor that are options: the others are arguments, or follow from them.
    def members_of(model) = model.fields.keys - %i[name uri uri_template input_schema output_schema execution]
    private_class_method :members_of
    private_class_method :feature

    # The descriptor. Takes its members from the options.
    def described(model, options, members)
      fields = model.fields.slice(*options.keys).except(:execution)
      given = fields.to_h { |name, json| [json, model.json_of(name, options.delete(name))] }
      members.merge(given).compact
    end
    private_class_method :described

    def arguments_of(handler)
      names = handler.required + handler.optional
      Schema.arguments(names.to_h { |name| [name, {}] }, handler) if names.any? || handler.rest?
    end
    private_class_method :arguments_of

    # An output is a type, or the members of an object.
    def output_schema(output)
      output.is_a?(Hash) && !Schema.of_any_type?(output) ? Schema.object(output) : Schema.of(output)
    end
    private_class_method :output_schema

    # @raise [InvalidArgumentError] if the block requires a keyword that it would never get
    def lacking(handler, names, reason)
      missing = (handler.required - names).first
      raise InvalidArgumentError, "the block requires the keyword `#{missing}:`, but #{reason} `#{missing}`" if missing
    end
    private_class_method :lacking

    # The arguments of a prompt: from the block, with descriptions by name, or as models.
    def prompt_arguments(handler, given)
      if given.is_a?(Array)
        given = given.map { |argument| Model.plain(argument) }
        lacking(handler, given.map { |argument| argument["name"].to_s.to_sym }, "the prompt has no argument")
        return given
      end

      names = handler.required + handler.optional
      names |= given.keys if given
      return if names.empty?

      names.map { |name| { "name" => name.to_s, "description" => given&.fetch(name, nil), "required" => !handler.optional.include?(name) }.compact }
    end
    private_class_method :prompt_arguments

    def file(path, contents)
      binary = contents.encoding == Encoding::BINARY
      binary ? { "path" => path, "blob" => [contents].pack("m0") } : { "path" => path, "text" => Text.of(contents) }
    end
    private_class_method :file

    def checked(function, of)
      raise InvalidArgumentError, "#{of} must be a block or respond to `call`" unless function.respond_to?(:call)
    end
    private_class_method :checked
  end

  # A registered feature.
  class Registration
    # @api private
    def initialize(server, entry, &rebuild)
      @server = server
      @entry = entry
      @rebuild = rebuild
    end

    # Removes the feature and notifies connected clients.
    def remove = @server.send(:remove, @entry)

    # Hides the feature: it is not listed, and calls of it fail as if it did not exist.
    def disable = @server.send(:show, @entry, false)

    # Shows the feature again.
    def enable = @server.send(:show, @entry, true)

    # Changes the definition or, with a block, the handler of a tool, resource, template or prompt.
    # Options that are not given keep their values; nil removes one.
    #
    # @raise [InvalidArgumentError] if the changed definition is invalid; the feature then stays
    def update(**changes, &block)
      raise InvalidArgumentError, "this feature cannot be updated: remove it, and add another" unless @rebuild

      @rebuild.call(@entry, changes, block)
      self
    end
  end
end
