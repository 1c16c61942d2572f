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
    # The names of types in a schema.
    NAMES = %w[array boolean integer null number object string].freeze
    # Members of a schema whose values may be objects.
    NESTED = %w[
      $defs $vocabulary additionalItems additionalProperties const contains contentSchema default definitions dependencies dependentRequired
      dependentSchemas else if items not patternProperties properties propertyNames then unevaluatedItems unevaluatedProperties
    ].freeze
    private_constant :KEYWORDS, :NAMES, :NESTED

    module_function

    # The schema of an object: a JSON Schema as it is, or its properties by name. `optional` names
    # those that may be absent.
    #
    # @example
    #   Trunkline::Schema.object({ city: String, days: { type: "integer", minimum: 1 }, tags: [String] }, optional: [:days])
    # @return [Hash{String => Object}]
    def object(given, optional: [])
      return json_schema(given) if schema?(given)

      properties = given.to_h { |name, type| [name.to_s, of(type)] }
      required = properties.keys - optional.map(&:to_s)
      schema = required.empty? ? { "type" => "object", "properties" => properties } : { "type" => "object", "properties" => properties, "required" => required }
      Typed[schema].tap { |typed| typed.numbers = numbers(given) }
    end

    # A schema that was made of classes, and the numbers that {.numbers} finds in them: a JSON Schema
    # does not tell Numeric from Float.
    class Typed < Hash
      attr_accessor :numbers
    end
    private_constant :Typed

    # The schema of arguments. Without `**` the block takes no others, so a misspelled argument is
    # refused, unless the schema is a JSON Schema.
    # @api private
    def arguments(given, handler)
      schema = object(given, optional: handler.optional)
      names = schema?(given) ? known_names(schema) : given.keys.map { |name| name.to_s.to_sym }
      missing = names ? handler.required - names : []
      raise InvalidArgumentError, "input lacks #{missing.join(", ")}, which the block requires" if missing.any?
      return schema if schema?(given)

      handler.rest? ? schema : schema.merge("additionalProperties" => false)
    end

    # The names of arguments that a JSON Schema has, if it has no others.
    def known_names(schema)
      return unless schema["properties"].is_a?(Hash) && (schema.keys & OPEN).empty?

      (schema["properties"].keys | Array(schema["required"])).map { |name| name.to_s.to_sym }
    end
    private_class_method :known_names

    # Members of a schema that may have further properties.
    OPEN = %w[$ref $dynamicRef allOf anyOf oneOf if dependentSchemas dependencies patternProperties propertyNames].freeze
    private_constant :OPEN

    # Returns whether a hash is a JSON Schema, for a value of any type, and not properties by name,
    # of which one may be called `type`.
    # @api private
    def of_any_type?(given)
      type = given[:type] || given["type"]
      names = type.is_a?(Array) ? type : [type]
      (names.any? && names.all? { |name| (name.is_a?(String) || name.is_a?(Symbol)) && NAMES.include?(name.to_s) } && given.values.none? { |one| ruby?(one) }) || schema?(given)
    end

    # Returns whether a value is a type of Ruby, which no JSON Schema has.
    def ruby?(type) = type.is_a?(Module) || type.is_a?(Range) || (type.is_a?(Array) && type.any? { |one| ruby?(one) })
    private_class_method :ruby?

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
    # @param numbers [Hash]
    # @api private
    def with_numbers(arguments, numbers)
      numbers.each do |name, type|
        value = arguments[name]
        converted = number(value, type)
        arguments[name] = converted unless converted.equal?(value)
      end
      arguments
    end

    # The classes of numbers, by the names of arguments that have some: `Integer` or `Float`, an array of
    # one that its items have, or a hash of those of its members.
    # @api private
    def numbers(given)
      return {} if given.nil?

      found = schema?(given) ? in_schema(given) : given.to_h { |name, type| [name.to_s, class_of(type)] }.compact
      found.is_a?(Hash) ? found : {}
    end

    def class_of(type)
      case type
      when Range then integers?(type) ? Integer : Float
      when Hash then in_schema(type)
      when Array
        return class_of(type.first)&.then { |one| [one] } if type.length == 1

        only(type) { |one| one == Numeric ? Numeric : class_of(one) }
      else type if [Integer, Float].include?(type)
      end
    end
    private_class_method :class_of

    # The same for a JSON Schema. References are not followed.
    def in_schema(schema)
      return schema.numbers if schema.is_a?(Typed) && schema.numbers
      return unless schema.is_a?(Hash)

      schema = schema.transform_keys(&:to_s)
      types = Array(schema["type"]).map(&:to_s)
      alternatives = schema["anyOf"] || schema["oneOf"]
      return only(alternatives) { |one| in_schema(one) } if types.empty? && alternatives.is_a?(Array)

      found = []
      found << Float if types.include?("number")
      found << Integer if types.include?("integer") && !types.include?("number")
      found << in_schema(schema["items"])&.then { |one| [one] } if types.include?("array")
      found << in_members(schema["properties"]) if types.include?("object")
      found.compact.then { |all| all.first if all.length == 1 }
    end
    private_class_method :in_schema

    def in_members(properties)
      return unless properties.is_a?(Hash)

      properties.to_h { |name, one| [name.to_s, in_schema(one)] }.compact.then { |found| found unless found.empty? }
    end
    private_class_method :in_members

    # The classes that all alternatives with numbers share, if any.
    def only(alternatives, &find) = alternatives.filter_map(&find).uniq.then { |found| found.first if found.length == 1 }
    private_class_method :only

    def number(value, type)
      case value
      # Beyond 2^53, few integers have a Float.
      when Integer then type == Float && (float = value.to_f).finite? && float.to_i == value ? float : value
      when Float then type == Integer && (value % 1).zero? ? value.to_i : value
      when Array then type.is_a?(Array) ? value.map { |one| number(one, type.first) } : value
      when Hash then type.is_a?(Hash) ? with_numbers(value, type) : value
      else value
      end
    end
    private_class_method :number

    # The properties of an object are no schema, although they would compile to one that accepts
    # anything.
    def json_schema(given)
      raise InvalidArgumentError if typed?(given)

      json = Model.plain(given)
      is_nested = json.any? && json.all? { |name, value| value.is_a?(Hash) && !NESTED.include?(name) && !name.start_with?("x-") }
      is_nested ? raise(InvalidArgumentError) : json
    rescue InvalidArgumentError
      raise InvalidArgumentError, "#{given.inspect} is not a JSON Schema: for an object within another, use Trunkline::Schema.object"
    end
    private_class_method :json_schema

    # ActiveSupport would convert ranges and classes to strings.
    def typed?(given)
      case given
      when Hash then given.each_value.any? { |one| typed?(one) }
      when Array then given.any? { |one| typed?(one) }
      else given.is_a?(Module) || given.is_a?(Range)
      end
    end
    private_class_method :typed?

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
