# frozen_string_literal: true

module Trunkline
  # The features of a server, as the core registers them.
  # @api private
  module Features
    # What to register: its kind, its description, its handler, and the hooks that it refers to.
    Feature = Struct.new(:kind, :description, :callable, :visible, :completers, keyword_init: true)

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
      feature(:tool, of, options, Options::TOOL, { "tool" => descriptor, "wrapOutput" => wrapped }) do
        Callable.new(run: ->(arguments, context) { handler.call(context, Schema.with_numbers(arguments, numbers)) }, where: of,
                     answer: ->(value) { Returns.answer(value, Returns::TOOL, wrapped: wrapped) })
      end
    end

    def resource(uri, name: nil, **options, &block)
      of = "the resource #{uri.inspect}"
      handler = Handler.new(block, of)
      template = uri.include?("{")
      model, member = template ? [ResourceTemplate, "uriTemplate"] : [Resource, "uri"]
      kind = template ? :resourceTemplate : :resource
      descriptor = described(model, options, member => uri, "name" => (name || uri).to_s)
      feature(kind, of, options, Options::RESOURCE, { kind.to_s => descriptor }) do
        run = ->(body, context) { handler.call(context, { "uri" => body["uri"] }.merge(body["variables"] || {})) }
        Callable.new(run: run, where: of, answer: ->(value) { Returns.answer(value, Returns::RESOURCE) })
      end
    end

    def prompt(name, arguments: nil, **options, &block)
      of = "the prompt #{name.inspect}"
      handler = Handler.new(block, of)
      descriptor = described(Prompt, options, "name" => name.to_s, "arguments" => prompt_arguments(handler, arguments))
      feature(:prompt, of, options, Options::PROMPT, { "prompt" => descriptor }) do
        Callable.new(run: ->(given, context) { handler.call(context, given) }, where: of,
                     answer: ->(value) { Returns.answer(value, Returns::PROMPT) })
      end
    end

    def completion(reference, argument, &block)
      Feature.new(kind: :completion, description: { "ref" => Model.plain(reference), "argument" => argument.to_s },
                  callable: completer(block, "the completion of #{argument.inspect}"))
    end

    # Functions take the text so far, the other arguments, and the context.
    def completer(function, of)
      checked(function, of)
      run = lambda do |body, context|
        known = (body.dig("context", "arguments") || {}).transform_keys(&:to_sym)
        Handler.positional(function, body.dig("argument", "value"), known, context)
      end
      Callable.new(run: run, answer: Returns.method(:value), where: of)
    end

    def provider(list, provider)
      parts = { "tools" => Returns::TOOL, "prompts" => Returns::PROMPT }.fetch(list, Returns::RESOURCE)
      run = lambda do |body, context|
        next provider.get(body["get"], context) if body.key?("get")

        page = provider.list(body.dig("list", "cursor"), context)
        Page.new(page.is_a?(Array) ? { "items" => page } : page)
      end
      answer = ->(value) { value.is_a?(Page) ? Returns.value(value.value) : Returns.answer(value, parts) }
      Feature.new(kind: :provider, description: { "of" => list }, callable: Callable.new(run: run, answer: answer, where: "a provider of #{list}"))
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
                  callable: Callable.new(run: run, answer: method(:middleware_result), where: "middleware"))
    end

    def middleware_result(value)
      raise TypeError, "middleware must return a result: the value of `proceed`, or another Hash" unless value.is_a?(Model) || value.is_a?(Hash)

      Returns.result(value)
    end
    private_class_method :middleware_result

    def request_handler(method, params: nil, **options, &block)
      of = "the handler of #{method}"
      handler = Handler.new(block, of)
      description = Options.encode(Options::REQUEST_HANDLER, options)
      description["paramsSchema"] = Schema.object(params, optional: handler.optional) if params
      numbers = Schema.numbers(params)
      Feature.new(kind: :requestHandler, description: { "method" => method, **description },
                  callable: Callable.new(run: ->(body, context) { handler.call(context, Schema.with_numbers(body || {}, numbers)) }, answer: Returns.method(:value), where: of))
    end

    def verifier(function)
      checked(function, "a verifier of access tokens")
      run = ->(body, context) { Handler.positional(function, AccessToken.from_json(body), context) }
      Feature.new(kind: :verifier, description: {}, callable: Callable.new(run: run, answer: Returns.method(:value), where: "the verifier of access tokens"))
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

    # The parts of a definition that all features with a descriptor have.
    def feature(kind, of, options, table, description)
      complete = options.delete(:complete) || {}
      visible = options.delete(:visible)
      Feature.new(kind: kind, description: description.merge(Options.encode(table, options)), callable: yield,
                  visible: visible && visibility(visible),
                  completers: complete.to_h { |argument, function| [argument.to_s, completer(function, "the completion of #{argument} of #{of}")] })
    end
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
      output.is_a?(Hash) && !output.key?(:type) && !output.key?("type") ? Schema.object(output) : Schema.of(output)
    end
    private_class_method :output_schema

    # The arguments of a prompt: from the block, with descriptions by name, or as models.
    def prompt_arguments(handler, given)
      return given.map { |argument| Model.plain(argument) } if given.is_a?(Array)

      names = handler.required + handler.optional
      names |= given.keys if given
      return if names.empty?

      names.map { |name| { "name" => name.to_s, "description" => given&.fetch(name, nil), "required" => !handler.optional.include?(name) }.compact }
    end
    private_class_method :prompt_arguments

    def file(path, contents)
      binary = contents.encoding == Encoding::BINARY
      binary ? { "path" => path, "blob" => [contents].pack("m0") } : { "path" => path, "text" => contents }
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
    def initialize(server, handle, on_remove: nil, &rebuild)
      @server = server
      @handle = handle
      @on_remove = on_remove
      @rebuild = rebuild
    end

    # Removes the feature and notifies connected clients.
    def remove
      @server.send(:unregister, @handle)
      @on_remove&.call
      @on_remove = nil
    end

    # Hides the feature: it is not listed, and calls of it fail as if it did not exist.
    def disable = @server.send(:notify, @handle, "enabled" => false)

    # Shows the feature again.
    def enable = @server.send(:notify, @handle, "enabled" => true)

    # Changes the definition or, with a block, the handler of a tool, resource, template or prompt.
    # Options that are not given keep their values; nil removes one.
    #
    # @raise [InvalidArgumentError] if the changed definition is invalid; the feature then stays
    def update(**changes, &block)
      raise InvalidArgumentError, "this feature cannot be updated: remove it, and add another" unless @rebuild

      @handle = @rebuild.call(@handle, changes, block)
      self
    end
  end
end
