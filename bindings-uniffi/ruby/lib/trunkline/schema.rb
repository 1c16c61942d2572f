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
    # Members of a schema whose values may be objects.
    NESTED = %w[
      $defs $vocabulary additionalItems additionalProperties const contains contentSchema default definitions dependencies dependentRequired
      dependentSchemas else if items not patternProperties properties propertyNames then unevaluatedItems unevaluatedProperties
    ].freeze
    private_constant :KEYWORDS, :NESTED

    module_function

    # The schema of an object: a JSON Schema as it is, or its properties by name. `optional` names
    # those that may be absent.
    #
    # @example
    #   Schema.object(city: String, days: { type: "integer", minimum: 1 }, tags: [String])
    # @return [Hash{String => Object}]
    def object(given, optional: [])
      return json_schema(given) if schema?(given)

      properties = given.to_h { |name, type| [name.to_s, of(type)] }
      required = properties.keys - optional.map(&:to_s)
      required.empty? ? { "type" => "object", "properties" => properties } : { "type" => "object", "properties" => properties, "required" => required }
    end

    # The schema of arguments. Without `**` the block takes no others, so a misspelled argument is
    # refused, unless the schema is a JSON Schema.
    # @api private
    def arguments(given, handler)
      schema = object(given, optional: handler.optional)
      return schema if schema?(given)

      missing = handler.required - given.keys.map(&:to_sym)
      raise InvalidArgumentError, "input lacks #{missing.join(", ")}, which the block requires" if missing.any?

      handler.rest? ? schema : schema.merge("additionalProperties" => false)
    end

    def schema?(given)
      raise InvalidArgumentError, "#{given.inspect} must be a Hash of types by name, or a JSON Schema" unless given.is_a?(Hash)

      given = given.transform_keys(&:to_s)
      ["object", :object].include?(given["type"]) || KEYWORDS.any? { |keyword| given.key?(keyword) }
    end
    private_class_method :schema?

    # The schema of a type: a class, an array with the type of its items, a range of numbers, or a
    # JSON Schema.
    #
    # @return [Hash{String => Object}]
    # @raise [InvalidArgumentError] if it is none of them
    def of(type)
      case type
      when Hash then json_schema(type)
      when Range then range(type)
      when Array then array(type)
      else { "type" => TYPES.fetch(type) { no_type(type) } }
      end
    end

    # Converts the numbers among arguments, in place, to the classes that {.numbers} has, because JSON
    # does not distinguish 2 from 2.0.
    # @api private
    def with_numbers(arguments, numbers)
      numbers.each do |name, type|
        value = arguments[name]
        converted = number(value, type)
        arguments[name] = converted unless converted.equal?(value)
      end
      arguments
    end

    # The classes of numbers, by the names of arguments that have some: `Integer`, `Float`, or an array
    # of one of them.
    # @api private
    def numbers(given) = given.nil? || schema?(given) ? {} : given.to_h { |name, type| [name.to_s, class_of(type)] }.compact

    def class_of(type)
      case type
      when Range then integers?(type) ? Integer : Float
      when Hash then Integer if (type[:type] || type["type"]) == "integer"
      when Array
        return class_of(type.first)&.then { |one| [one] } if type.length == 1

        # Only if it is clear.
        found = type.filter_map { |one| one == Numeric ? Numeric : class_of(one) }.uniq
        found.first if found.length == 1
      else type if [Integer, Float].include?(type)
      end
    end
    private_class_method :class_of

    def number(value, type)
      case value
      when Integer then type == Float ? value.to_f : value
      when Float then type == Integer && (value % 1).zero? ? value.to_i : value
      when Array then type.is_a?(Array) ? value.map { |one| number(one, type.first) } : value
      else value
      end
    end
    private_class_method :number

    # The properties of an object are no schema, although they would compile to one that accepts
    # anything.
    def json_schema(given)
      json = Model.plain(given)
      is_nested = json.any? && json.all? { |name, value| value.is_a?(Hash) && !NESTED.include?(name) && !name.start_with?("x-") }
      is_nested ? raise(InvalidArgumentError) : json
    rescue InvalidArgumentError
      raise InvalidArgumentError, "#{given.inspect} is not a JSON Schema: for an object within another, use Trunkline::Schema.object"
    end
    private_class_method :json_schema

    def range(type)
      bounds = [type.begin, type.end].compact
      no_type(type) unless bounds.any? && bounds.all? { |bound| bound.is_a?(Integer) || bound.is_a?(Float) }
      return { "type" => "integer", "minimum" => type.begin, "maximum" => type.end && (type.exclude_end? ? type.end - 1 : type.end) }.compact if integers?(type)

      { "type" => "number", "minimum" => type.begin, (type.exclude_end? ? "exclusiveMaximum" : "maximum") => type.end }.compact
    end
    private_class_method :range

    def integers?(range) = [range.begin, range.end].compact.all?(Integer)
    private_class_method :integers?

    def no_type(type) = raise(InvalidArgumentError, "#{type.inspect} is not a type: use a class such as String, or a JSON Schema")
    private_class_method :no_type

    # `[String]` is an array of strings, `%w[a b]` one of these strings.
    def array(type)
      return { "type" => "string", "enum" => type.map(&:to_s) } if type.all? { |one| one.is_a?(String) } && type.any?
      return { "type" => "array", "items" => of(type.first) } if type.length == 1

      { "anyOf" => type.map { |one| of(one) } }
    end
    private_class_method :array
  end
end
