# frozen_string_literal: true

module Trunkline
  # Text as UTF-8. Ruby labels what it reads from files, sockets and commands by the locale, or as
  # bytes: without `LANG`, as in the child of most hosts, UTF-8 text is labeled US-ASCII.
  # @api private
  module Text
    # The advice for a string that is not text.
    REMEDY = "call `force_encoding` with the encoding of its text, or send bytes as content, such as Trunkline::ImageContent"
    private_constant :REMEDY

    module_function

    # Bytes that are valid UTF-8 are UTF-8, unless the label is another encoding in which they are
    # valid, too. Of other text, what is invalid becomes U+FFFD.
    # @return [String]
    def of(text)
      return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?

      # A binary string is always valid.
      transcoded = text.valid_encoding? && text.encoding != Encoding::BINARY && transcoded(text)
      return transcoded if transcoded

      bytes = utf8(text)
      bytes.valid_encoding? ? bytes : transcoded(text, invalid: :replace, undef: :replace)&.scrub || bytes.scrub
    end

    # Like {.of}, but bytes that are labeled as such are refused instead of altered.
    # @raise [InvalidArgumentError] if these are not text
    def written(text)
      return of(text) unless text.encoding == Encoding::BINARY

      bytes = utf8(text)
      bytes.valid_encoding? ? bytes : raise(InvalidArgumentError, "a binary string whose bytes are not UTF-8 is not text: #{REMEDY}")
    end

    def utf8(text) = String.new(text, encoding: Encoding::UTF_8)
    private_class_method :utf8

    def transcoded(text, **options)
      return if text.encoding == Encoding::BINARY

      text.encode(Encoding::UTF_8, **options)
    rescue EncodingError
      nil # Such as UTF-7, for which Ruby has no converter.
    end
    private_class_method :transcoded
  end
end
