# frozen_string_literal: true

module Trunkline
  # Converts options to the core's JSON.
  module Options
    module_function

    # @api private
    # @param others [Array<Symbol>] further names that are valid here, but taken elsewhere
    # @param hint [String, nil] what the program may have meant with a name that is unknown
    # @return [Hash{String => Object}] the given options under their JSON names
    # @raise [InvalidArgumentError] if the table lacks one: the core also has others for itself
    def encode(table, options, others: [], hint: nil)
      options.each_with_object({}) do |(name, value), json|
        key = table.fetch(name.to_sym) { unknown("option", name, table.keys + others, hint) }
        next if value.nil?

        json[key] = key.end_with?("Ms") ? milliseconds(name, value) : in_json(value, bytes: BYTES.include?(key))
      end
    end

    # @api private
    # @raise [InvalidArgumentError] that lists the valid names
    def unknown(noun, name, valid, hint = nil)
      near = Native.nearest(name.to_s, valid.map(&:to_s))
      raise InvalidArgumentError, "unknown #{noun} `#{name}`: #{"did you mean `#{near}`? " if near}#{"#{hint}; " if hint}valid #{noun}s are `#{valid.uniq.join("`, `")}`"
    end

    # @api private
    # @return [Integer] a time in seconds as whole milliseconds
    def milliseconds(name, seconds)
      valid = seconds.is_a?(Numeric) && seconds.real? && seconds >= 0 && !(seconds.is_a?(Float) && seconds.infinite?)
      raise InvalidArgumentError, "#{name} must be a number of seconds, 0 or more, not #{seconds.inspect}" unless valid

      # Less than half a millisecond is not 0, which disables some options.
      (seconds * 1000).round.clamp(seconds.positive? ? 1 : 0, MAX_DURATION_MS)
    end

    # @api private
    def camel(name) = name.to_s.gsub(/_([a-z])/) { Regexp.last_match(1).upcase }

    # @api private
    def in_json(value, bytes: false)
      case value
      when String then bytes && value.encoding == Encoding::BINARY ? [value].pack("m0") : Text.written(value)
      when Hash then value.to_h { |name, one| [name.to_s, in_json(one)] }
      when Array then value.map { |one| in_json(one, bytes: bytes) }
      else value.respond_to?(:to_path) ? value.to_path : Model.plain(value)
      end
    end

    # Options whose binary strings are encoded.
    BYTES = %w[stateKeys dpopNonce].freeze
    # A year.
    MAX_DURATION_MS = 365 * 24 * 60 * 60 * 1000
    private_constant :BYTES, :MAX_DURATION_MS
  end
end
