# frozen_string_literal: true

require "set"
require "time"
require "uri"

module Trunkline
  # The JSON form of values: hashes, arrays, UTF-8 strings, numbers, booleans and nil.
  # @api private
  module JsonForm
    # The core refuses deeper values as well.
    MAX_DEPTH = 200
    TOO_DEEP = "the value cannot be represented in JSON: it is nested too deeply, or contains itself"
    # Works for objects that define a `method` of their own, and for those that delegate everything.
    METHOD = Kernel.instance_method(:method)
    CLASS = Kernel.instance_method(:class)
    private_constant :MAX_DEPTH, :METHOD, :CLASS

    # A value has no JSON form. Its path is completed on the way up.
    class Unfit < StandardError
      attr_accessor :path
    end
    private_constant :Unfit

    module_function

    # @raise [InvalidArgumentError] if it has none; the message has the path of the first part
    def of(value)
      converted(value, 0)
    rescue Unfit => e
      raise InvalidArgumentError, "#{"$#{e.path}: " if e.path}#{e.message}", cause: nil
    end

    def converted(value, depth)
      raise InvalidArgumentError, TOO_DEEP if depth > MAX_DEPTH

      case value
      when String then value.ascii_only? || (value.encoding == Encoding::UTF_8 && value.valid_encoding?) ? value : text(value)
      when Integer, true, false, nil then value
      when Float then value.finite? ? value : raise(Unfit, "#{value} not allowed in JSON: use nil, or a string")
      when Hash then members(value, depth)
      when Array then items(value, depth)
      when Symbol then key(value)
      when Model then value.to_h
      else of_object(value, depth)
      end
    end
    private_class_method :converted

    def text(value)
      Text.written(value)
    rescue InvalidArgumentError => e
      raise Unfit, e.message
    end
    private_class_method :text

    def members(value, depth)
      value.to_h do |name, one|
        [key(name), converted(one, depth + 1)]
      rescue Unfit => e
        raise within(e, ".#{key(name)}")
      end
    end
    private_class_method :members

    def key(name)
      text = name.is_a?(Symbol) ? name.name : name.to_s
      text.ascii_only? ? text : Text.of(text)
    end
    private_class_method :key

    def items(value, depth)
      value.map do |one|
        converted(one, depth + 1)
      rescue Unfit => e
        raise within(e, "[#{value.index { |found| found.equal?(one) }}]")
      end
    end
    private_class_method :items

    def within(error, part) = error.tap { error.path = "#{part}#{error.path}" }
    private_class_method :within

    # The class's own method comes first: `as_json` is how Rails renders objects, `to_json` how the
    # json gem does.
    def of_object(value, depth)
      as_json = own(value, :as_json)
      to_json = own(value, :to_json)
      if as_json && !(to_json && to_json.owner < as_json.owner)
        # Rails always passes options.
        form = as_json.arity.between?(-1, 0) ? as_json.call : as_json.call({})
        return converted(form, depth + 1) unless form.equal?(value)
      end
      to_json ? value : converted(builtin(value), depth + 1)
    end
    private_class_method :of_object

    # A method, unless it is the one that all objects have: that of the json gem writes `to_s`, that of
    # ActiveSupport the instance variables.
    def own(value, name)
      return if Module === value || !CLASS.bind_call(value).method_defined?(:respond_to?) || !value.respond_to?(name)

      found = METHOD.bind_call(value, name)
      found unless Object.method_defined?(name) && Object.instance_method(name).owner == found.owner
    end
    private_class_method :own

    # The form of a class of Ruby that has an obvious one, the same as in Rails.
    def builtin(value)
      case value
      when Struct then value.to_h
      when Set then value.to_a
      when Time then value.xmlschema(3)
      when URI::Generic then value.to_s
      else
        return value.to_h if defined?(::Data) && ::Data === value
        return value.is_a?(DateTime) ? value.xmlschema(3) : value.iso8601 if defined?(::Date) && ::Date === value
        return value.to_s("F") if defined?(::BigDecimal) && ::BigDecimal === value && value.finite?

        raise Unfit, "a value of type #{CLASS.bind_call(value)} cannot be represented in JSON: " \
                     "convert it, for example with `to_h`, `to_a` or `to_s`, or define `as_json` in its class"
      end
    end
    private_class_method :builtin
  end
end
