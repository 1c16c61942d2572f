# frozen_string_literal: true

require "json"

module Trunkline
  # A value of the protocol: a view of its JSON object, whose members it converts when they are read.
  # Members that this version does not know are kept. Values are equal if their JSON is, and can be
  # matched by patterns: `in { name: "add" }`.
  class Model
    # Members of content with bytes.
    BYTES = %w[data blob].freeze
    NOT_BASE64 = %r{[^A-Za-z0-9+/=\r\n]}
    private_constant :BYTES, :NOT_BASE64

    class << self
      # The members, and their names in JSON.
      # @return [Hash{Symbol => String}]
      def fields = @fields ||= {}

      # Reads a JSON object.
      # @raise [TransportError] if it is none
      def from_json(json)
        raise TransportError, "invalid response: a #{name} is not an object" unless json.is_a?(Hash)

        allocate.tap { |model| model.send(:read, json) }
      end

      # The JSON of a member. Hashes whose keys are symbols are written as the members of its model.
      # @api private
      def json_of(name, value)
        json = fields[name]
        return base64(name, value) if BYTES.include?(json) && value.is_a?(String) && include?(HasBytes)

        Model.plain(built(value, reads[name]))
      end

      # @see JsonForm
      # @api private
      def plain(value) = JsonForm.of(value)

      # @api private
      attr_reader :type

      private

      # Bytes are a binary string; any other has them in Base64.
      def base64(name, value)
        return [value].pack("m0") if value.encoding == Encoding::BINARY
        raise ArgumentError, "#{name} must be bytes, as a binary string such as that of File.binread, or their Base64" if !value.ascii_only? || value.match?(NOT_BASE64)

        value
      end

      def reads = @reads ||= {}

      def built(value, model)
        model = model.first if model.is_a?(Array)
        return value.map { |one| built(one, model) } if value.is_a?(Array)

        is_written = value.is_a?(Hash) && model.is_a?(Class) && value.keys.all?(Symbol)
        is_written ? model.new(**value) : value
      end

      def tag(type)
        @type = type
      end

      def required = @required ||= []

      # Declares a member. `reads` converts its value: a class, or an array with that of its items.
      def field(name, json, reads = nil, default: nil, required: false)
        fields[name] = json
        self.reads[name] = reads
        self.required << name if required
        define_method(name) do
          value = @json[json]
          value.nil? ? default : Model.convert(value, reads, json)
        end
      end
    end

    # @api private
    def self.convert(value, reads, name)
      return value unless reads
      return reads.from_json(value) unless value.is_a?(Array) || reads.is_a?(Array)
      raise TransportError, "invalid response: #{name} is not an array" unless value.is_a?(Array)

      one = reads.is_a?(Array) ? reads.first : reads
      value.map { |item| one.from_json(item) }
    end

    def initialize(**members)
      fields = self.class.fields
      members = members.transform_keys { |name| fields.key?(name) ? name : fields.key(name.to_s) || name }
      missing = self.class.send(:required) - members.keys
      raise ArgumentError, "missing keyword: #{missing.map(&:inspect).join(", ")}" if missing.any?

      type = self.class.type
      @json = type ? { "type" => type } : {}
      members.each do |name, value|
        json = fields.fetch(name) { raise ArgumentError, "unknown keyword: #{name.inspect}" }
        @json[json] = self.class.json_of(name, value) unless value.nil?
      end
    end

    # @return [Hash{String => Object}] the JSON object
    def to_h = @json

    # @return [String]
    def to_json(*state) = @json.to_json(*state)

    # The form that Rails renders as JSON.
    # @return [Hash{String => Object}]
    def as_json(*) = @json

    # @return [Object] a member by its name in JSON
    def [](name) = @json[name.to_s]

    def ==(other) = other.class == self.class && other.to_h == @json
    alias eql? ==

    def hash = [self.class, @json].hash

    # @api private
    def deconstruct_keys(keys) = (keys || self.class.fields.keys).to_h { |name| [name, respond_to?(name) ? public_send(name) : nil] }

    # @return [String]
    def inspect = "#<#{self.class.name} #{@json.inspect}>"

    private

    def read(json)
      @json = json
    end
  end

  # One of several models, which a member tells apart.
  # @api private
  class Union
    # @return [Hash{String => Class}]
    attr_reader :variants

    def initialize(tag, variants)
      @tag = tag
      @variants = variants.freeze
    end

    def from_json(json) = (@variants[json.is_a?(Hash) && json[@tag]] || OtherContent).from_json(json)

    # True for models, so that a `case` can tell content from other values.
    def ===(value) = OtherContent === value || @variants.each_value.any? { |variant| variant === value }
  end

  # Content of a type that this version does not know; `to_h` is its JSON.
  class OtherContent < Model
    field :type, "type"
  end
end
