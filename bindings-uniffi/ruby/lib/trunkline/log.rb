# frozen_string_literal: true

module Trunkline
  class << self
    # Receives log records: a `Logger`, or anything with its methods. Without one, they are written
    # to standard error.
    # @return [Logger, nil]
    attr_accessor :logger

    # @api private
    def log(level, message, target = "trunkline")
      logger = self.logger
      if logger
        logger.public_send(level, "#{target}: #{message}")
      else
        Native.write_stderr("#{level.to_s.upcase} #{target}: #{message}\n")
      end
    rescue Exception => e # rubocop:disable Lint/RescueException
      Native.write_stderr("ERROR trunkline: the logger failed: #{e.message}\n")
    end

    # Logs an error of a function of the program.
    # @api private
    def log_error(message, error)
      log(:error, "#{message}: #{Text.of(error.full_message(highlight: false, order: :top))}")
    rescue StandardError => e
      log(:error, "#{message}: #{error.class}, which cannot be described: #{e.class}")
    end
  end
end
