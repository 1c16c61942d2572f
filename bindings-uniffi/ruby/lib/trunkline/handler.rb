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
    end

    attr_reader :required, :optional

    # Whether arguments of any name are accepted.
    def rest? = @rest

    def call(context, arguments)
      arguments = arguments.transform_keys(&:to_sym)
      arguments = arguments.slice(*@required, *@optional) unless @rest
      @takes_context ? @block.call(context, **arguments) : @block.call(**arguments)
    end

    # Calls a function with as many of the arguments as it takes.
    def self.positional(function, *arguments)
      kinds = parameters(function).map(&:first)
      function.call(*(kinds.include?(:rest) ? arguments : arguments.first(kinds.count { |kind| %i[req opt].include?(kind) })))
    end

    def self.parameters(function) = (function.is_a?(Proc) || function.is_a?(Method) ? function : function.method(:call)).parameters
  end
end
