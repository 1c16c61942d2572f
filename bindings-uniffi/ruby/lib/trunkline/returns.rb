# frozen_string_literal: true

module Trunkline
  # Converts return values of handlers to shapes and bytes for the core.
  # @api private
  module Returns
    # How the results of a kind of feature are built: the class of a complete result, and a function
    # that returns the part which a value represents, or nothing.
    Parts = Struct.new(:result, :part)

    TOOL = Parts.new(CallToolResult, ->(value) { value.to_h if ContentBlock === value })
    PROMPT = Parts.new(GetPromptResult, lambda do |value|
      String === value ? value : (value.to_h if PromptMessage === value || ContentBlock === value)
    end)
    RESOURCE = Parts.new(ReadResourceResult, lambda do |value|
      next { "blob" => [value].pack("m0") } if String === value && value.encoding == Encoding::BINARY

      value.to_h if ResourceContents === value
    end)

    # A handler has returned a value of another class than its kind of feature allows.
    class WrongType < TypeError
    end

    module_function

    # @return [Array(Integer, String)] the shape and the bytes
    def answer(value, parts, wrapped: false)
      return [Waist::SHAPE_INPUT, Requests.json(value.to_h)] if InputRequired === value
      return [Waist::SHAPE_RESULT, Requests.json(value.to_h)] if parts.result === value

      single = parts.part.call(value)
      return [Waist::SHAPE_TEXT, Text.written(value)] if String === value && (single.nil? || single.is_a?(String))
      return [Waist::SHAPE_CONTENT, Requests.json(single)] if single

      list = Array === value && (value.any? || parts == PROMPT) ? mixed(value, parts) : nil
      return [Waist::SHAPE_CONTENT, Requests.json(list)] if list

      value = Model.plain(value)
      [Hash === value && !wrapped ? Waist::SHAPE_OBJECT : Waist::SHAPE_VALUE, Requests.json(value)]
    end

    # Any JSON value.
    def value(value) = [Waist::SHAPE_VALUE, Requests.json(Model.plain(value))]

    # A complete result.
    def result(value) = [Waist::SHAPE_RESULT, Requests.json(Model.plain(value || {}))]

    # The parts of an array, if some are parts and all others are strings.
    def mixed(values, parts)
      found = values.map { |value| parts.part.call(value) }
      return if found.none? && !values.empty?

      found = values.zip(found).map { |value, part| part || (String === value ? TextContent.new(text: value).to_h : nil) }
      found unless found.include?(nil)
    end
    private_class_method :mixed
  end
end
