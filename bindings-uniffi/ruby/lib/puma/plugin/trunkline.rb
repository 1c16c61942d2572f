# frozen_string_literal: true

require "puma/plugin"

# Closes the servers that puma serves when it stops: `plugin :trunkline` in `config/puma.rb`. Streams,
# which puma would wait for, end at once, and calls in flight may complete within the `drain_deadline`.
# A second signal ends the process.
Puma::Plugin.create do
  def start(launcher)
    closing = nil
    launcher.events.register(:state) do |state|
      case state
      when :stop, :halt, :restart
        Trunkline::Foreground.forget_signals
        # Meanwhile, puma closes its socket.
        closing = Thread.new { Trunkline::RackApp.close_all } if defined?(Trunkline)
      when :done then closing&.join
      end
    end
  end
end
