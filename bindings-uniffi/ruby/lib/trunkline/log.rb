# frozen_string_literal: true

module Trunkline
  # A record of the log, for a logger that is called with it.
  #
  # @!attribute level
  #   @return [Symbol] `:error`, `:warn`, `:info` or `:debug`
  # @!attribute target
  #   @return [String] the subject, such as `trunkline::server::http`
  # @!attribute message
  #   @return [String] the message with the fields, for people
  # @!attribute event
  #   @return [String] the message without the fields
  # @!attribute fields
  #   @return [Hash{String => Object}] the fields, such as `tool`, `method`, `server` and `error`
  LogRecord = Struct.new(:level, :target, :message, :event, :fields, keyword_init: true)

  class << self
    # Receives log records: a `Logger`, anything with its methods, or a function that gets each
    # {LogRecord} with its fields. Without one, they are written to standard error.
    # @return [Logger, Proc, nil]
    attr_accessor :logger

    # @api private
    def log(level, message, target = "trunkline", event: message, fields: {})
      logger = self.logger
      if logger.respond_to?(:call)
        logger.call(LogRecord.new(level: level.to_sym, target: target, message: message, event: event, fields: fields))
      elsif logger
        logger.public_send(level, "#{target}: #{message}")
      else
        Native.write_stderr("#{level.to_s.upcase} #{target}: #{message}\n")
      end
    rescue Exception => e # rubocop:disable Lint/RescueException
      Native.write_stderr("ERROR trunkline: the logger failed: #{e.message}\n")
    end

    # Logs an error of a function of the program.
    # @api private
    def log_error(message, error, event: message, fields: {})
      reason = described(error)
      log(:error, "#{message}: #{reason}", event: event, fields: { **fields, "error" => reason })
    end

    private

    def described(error)
      Text.of(error.full_message(highlight: false, order: :top))
    rescue StandardError => e
      "#{error.class}, which cannot be described: #{e.class}"
    end
  end
end
