# frozen_string_literal: true

require "puma/plugin"

# Closes the servers that puma serves when it stops: `plugin :trunkline` in `config/puma.rb`. Streams,
# which puma would wait for, end at once, and calls in flight may complete within the `drain_deadline`.
# A second signal ends the process, except a worker of a cluster, to which puma repeats the signal.
Puma::Plugin.create do
  def start(launcher)
    parent = Process.pid
    closing = nil
    launcher.events.register(:state) do |state|
      case state
      when :stop, :halt, :restart
        next unless defined?(Trunkline)

        Trunkline::Foreground.forget_signals if Process.pid == parent
        # Meanwhile, puma closes its socket.
        closing = Thread.new { Trunkline::RackApp.close_all }
      when :done then closing&.join
      end
    end
  end
end
