# frozen_string_literal: true

module Trunkline
  # JSON Schema from Ruby's types.
  module Schema
    TYPES = {
      String => "string", Symbol => "string", Integer => "integer", Float => "number", Numeric => "number",
      TrueClass => "boolean", FalseClass => "boolean", :boolean => "boolean",
      Hash => "object", Array => "array", NilClass => "null"
    }.freeze
    private_constant :TYPES

    # Members by which a hash is recognized as a schema, and not as properties by name.
    KEYWORDS = %w[$ref $schema allOf anyOf oneOf].freeze
    private_constant :KEYWORDS

    module_function

    # The schema of an object: a JSON Schema as it is, or its properties by name. `optional` names
    # those that may be absent.
    #
    # @example
    #   Schema.object(city: String, days: { type: "integer", minimum: 1 }, tags: [String])
    # @return [Hash{String => Object}]
    def object(given, optional: [])
      return Model.plain(given) if schema?(given)

      properties = given.to_h { |name, type| [name.to_s, of(type)] }
      required = properties.keys - optional.map(&:to_s)
      required.empty? ? { "type" => "object", "properties" => properties } : { "type" => "object", "properties" => properties, "required" => required }
    end

    # The schema of arguments. Without `**` the block takes no others, so a misspelled argument is
    # refused, unless the schema is a JSON Schema.
    # @api private
    def arguments(given, handler)
      schema = object(given, optional: handler.optional)
      schema?(given) || handler.rest? ? schema : schema.merge("additionalProperties" => false)
    end

    def schema?(given)
      plain = Model.plain(given)
      plain["type"] == "object" || KEYWORDS.any? { |keyword| plain.key?(keyword) }
    end
    private_class_method :schema?

    # The schema of a type: a class, an array with the type of its items, a range of numbers, or a
    # JSON Schema.
    #
    # @return [Hash{String => Object}]
    # @raise [InvalidArgumentError] if it is none of them
    def of(type)
      case type
      when Hash then Model.plain(type)
      when Range then { "type" => [type.begin, type.end].compact.all?(Integer) ? "integer" : "number", "minimum" => type.begin, "maximum" => type.end }.compact
      when Array then array(type)
      else { "type" => TYPES.fetch(type) { raise InvalidArgumentError, "#{type.inspect} is not a type: use a class such as String, or a JSON Schema" } }
      end
    end

    # `[String]` is an array of strings, `%w[a b]` one of these strings.
    def array(type)
      return { "type" => "string", "enum" => type.map(&:to_s) } if type.all? { |one| one.is_a?(String) } && type.any?
      return { "type" => "array", "items" => of(type.first) } if type.length == 1

      { "anyOf" => type.map { |one| of(one) } }
    end
    private_class_method :array
  end
end
