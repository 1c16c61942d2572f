# frozen_string_literal: true

module Trunkline
  # A server that is listening, for HTTP or on descriptors.
  class Listener
    # @api private
    def initialize(port, handle)
      @port = port
      @handle = handle
    end

    # @return [String, nil] the URL of the endpoint
    def url = address["url"]

    # @return [String, nil] the address that it listens on
    def host = address["host"]

    # @return [Integer, nil] the port that it listens on
    def port = address["port"]

    def open? = @handle.open?

    # Stops listening. Calls in flight get `deadline` seconds, by default those of the server's
    # `drain_deadline`, and are then cancelled.
    def close(deadline: nil) = @handle.close(deadline)

    # Waits until it has closed.
    def wait = @handle.wait

    # Serves in the foreground, until SIGINT or SIGTERM, unless the program handles them itself.
    # Calls in flight may complete; a second signal ends the process at once.
    def run
      Foreground.until_signal(-> { @handle.begin_close }) do |signals|
        @port.native.notify(@handle.handle, '{"foreground":true}') if signals
        wait
      end
    end

    private

    def address = @handle.opened || {}
  end
end
