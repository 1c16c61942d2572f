# frozen_string_literal: true

module Trunkline
  # A block that handles calls: it gets the arguments as keywords and, if it has a positional
  # parameter, the {Context}.
  # @api private
  class Handler
    # @raise [InvalidArgumentError] if there is no block
    def initialize(block, of)
      raise InvalidArgumentError, "#{of} needs a block" unless block.respond_to?(:call)

      @block = block
      kinds = self.class.parameters(block).group_by(&:first).transform_values { |group| group.map(&:last) }
      raise InvalidArgumentError, "#{of}: the block gets the context, and the arguments as keywords: |ctx, name:|" if kinds.values_at(:req, :opt).compact.sum(&:length) > 1

      @takes_context = kinds.keys.intersect?(%i[req opt rest])
      @required = kinds.fetch(:keyreq, [])
      @optional = kinds.fetch(:key, [])
      @rest = kinds.key?(:keyrest)
      @names = (@required + @optional).to_h { |name| [name.name, name] }
    end

    attr_reader :block, :required, :optional

    # True if arguments of any name are accepted.
    def rest? = @rest

    # @raise [InvalidArguments] if one is missing that the block requires, but not the schema
    def call(context, arguments)
      arguments = @rest ? arguments.transform_keys(&:to_sym) : taken(arguments)
      missing = @required.find { |name| !arguments.key?(name) }
      raise InvalidArguments, "the argument `#{missing}` is missing" if missing

      @takes_context ? @block.call(context, **arguments) : @block.call(**arguments)
    end

    # Calls a function with as many of the arguments as it takes.
    def self.positional(function, *arguments)
      kinds = parameters(function).map(&:first)
      function.call(*(kinds.include?(:rest) ? arguments : arguments.first(kinds.count { |kind| %i[req opt].include?(kind) })))
    end

    def self.parameters(function) = callable(function).parameters

    # The file and line of a function, if it is one of Ruby.
    # @return [String, nil]
    def self.location(function) = function && callable(function).source_location&.join(":")

    def self.callable(function) = function.is_a?(Proc) || function.is_a?(Method) ? function : function.method(:call)
    private_class_method :callable

    private

    # The arguments that the block takes. The names of others, of which a caller may send many, never
    # become symbols.
    def taken(arguments)
      @names.each_with_object({}) { |(text, name), taken| taken[name] = arguments[text] if arguments.key?(text) }
    end
  end
end
