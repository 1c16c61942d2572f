# frozen_string_literal: true

module Trunkline
  class << self
    # Turns requests into spans: an object with three methods. `start(record, carrier)` returns a span;
    # `carrier`, a hash to fill in, takes the trace context of a message that is about to be sent, and is
    # nil for a request that is served. `within(span) { … }` runs a handler within it.
    # `finish(span, record)` ends it; the span is nil if none was started. Records are hashes: `kind`
    # (`server` or `client`), `name`, `attributes`, `startUs`, and at the end `endUs`, `error` and
    # `metric`; `{}` if the message was not sent. If `start` or `finish` raises, this is logged.
    #
    # Set it before servers and clients are created. By default, spans and metrics are those of
    # OpenTelemetry, if the program has loaded it; false turns them off.
    attr_writer :telemetry

    def telemetry
      return @telemetry || nil if defined?(@telemetry)

      @open_telemetry ||= OpenTelemetrySpans.new if defined?(::OpenTelemetry::Trace)
    end

    # The load of this process's servers, whose option `telemetry` is on: hashes with `name`, `unit`,
    # `description`, `monotonic` and `value`.
    # @return [Array<Hash>]
    def measurements
      json = Port.current.native.measurements
      json ? JSON.parse(json)["measurements"] : []
    end
  end

  # The spans of a port.
  # @api private
  class Spans
    def initialize(native)
      @native = native
      @lock = Mutex.new
      # By number: those of openings, notifications, and requests that have reached a handler.
      @spans = {}
    end

    # Runs a handler within the span of its request.
    def serve(ticket, &block)
      recorder = Trunkline.telemetry or return yield
      span = @lock.synchronize do # so that the request does not end in between
        found = record_of(ticket)
        found && (@spans[found["number"]] ||= observed { recorder.start(found, nil) })
      end
      span ? recorder.within(span, &block) : yield
    end

    # Sends a request within its span. The block gets the request, and a function to call with its
    # ticket.
    def send(target, request)
      recorder = Trunkline.telemetry
      record = recorder && record_of(target, request)
      return yield request, ->(_) {} unless record

      carrier = {}
      span = observed { recorder.start(record, carrier) }
      ticket = nil
      begin
        yield({ **request, "trace" => carrier }, ->(sent) { ticket = sent })
      ensure
        observed { recorder.finish(span, (ticket && record_of(ticket)) || {}) }
      end
    end

    # The member of the message that opens a connection or sends a notification, whose span ends with
    # an event. The block sends the message.
    def numbered(target, message)
      recorder = Trunkline.telemetry
      record = recorder && record_of(target, message)
      return yield({}) unless record

      carrier = {}
      number = record["number"]
      @lock.synchronize { @spans[number] = observed { recorder.start(record, carrier) } }
      begin
        yield({ "span" => { "number" => number, "trace" => carrier } })
      rescue Exception # rubocop:disable Lint/RescueException
        span = @lock.synchronize { @spans.delete(number) }
        observed { recorder.finish(span, {}) } if span
        raise
      end
    end

    # Ends the spans that the core reports.
    def receive(records)
      recorder = Trunkline.telemetry or return
      records.each { |record| observed { recorder.finish(@lock.synchronize { @spans.delete(record["number"]) }, record) } }
    end

    private

    # Calls the recorder, whose failures must not be those of what it observes.
    def observed
      yield
    rescue StandardError => e
      Trunkline.log_error("the recorder of telemetry failed", e)
      nil
    end

    def record_of(target, request = nil)
      json = @native.telemetry(target, request && Requests.json(request))
      json && Requests.parse(json)
    rescue Error
      nil # The target belongs to another process, or is over.
    end
  end

  # Spans and metrics of OpenTelemetry.
  # @api private
  class OpenTelemetrySpans
    def initialize
      @tracer = ::OpenTelemetry.tracer_provider.tracer("trunkline", VERSION)
      @meter = ::OpenTelemetry.meter_provider.meter("trunkline", version: VERSION) if ::OpenTelemetry.respond_to?(:meter_provider)
      @lock = Mutex.new
      @histograms = {}
    end

    # A span, as the context that contains it.
    def start(record, carrier)
      current = ::OpenTelemetry::Context.current
      parent = carrier ? current : ::OpenTelemetry.propagation.extract(record["context"] || {}, context: current)
      started = begun(record, parent, links: carrier ? nil : links(current, parent))
      ::OpenTelemetry.propagation.inject(carrier, context: started) if carrier
      started
    end

    def within(context)
      ::OpenTelemetry::Context.with_current(context) { yield }
    rescue Suspended
      raise
    rescue Exception => e # rubocop:disable Lint/RescueException
      span(context).record_exception(e)
      raise
    end

    def finish(context, record)
      context ||= start(record, nil) if record["name"]
      record.fetch("requests", []).each { |request| ended(begun({ **request, "kind" => record["kind"] }, context), request) }
      ended(context, record) if context
      return unless record["metric"] && @meter

      @lock.synchronize { @load ||= observe_load }
      measure(record["metric"])
    end

    private

    def span(context) = ::OpenTelemetry::Trace.current_span(context)

    # The surrounding span, such as that of the HTTP request.
    def links(current, parent)
      around = span(current).context
      around.valid? && around != span(parent).context ? [::OpenTelemetry::Trace::Link.new(around)] : nil
    end

    def begun(record, parent, links: nil)
      kind = record["kind"] == "server" ? :server : :client
      started = @tracer.start_span(record["name"], with_parent: parent, kind: kind, links: links, attributes: record["attributes"], start_timestamp: time(record["startUs"]))
      ::OpenTelemetry::Trace.context_with_span(started, parent_context: parent)
    end

    def ended(context, record)
      span = span(context)
      span.name = record["name"] if record["name"]
      span.add_attributes(record["attributes"]) if record["attributes"]
      span.status = ::OpenTelemetry::Trace::Status.error(record["error"]) if record["error"]
      span.finish(end_timestamp: time(record["endUs"]))
    end

    # The instruments of the servers' load, once there are servers.
    def observe_load
      Trunkline.measurements.map do |one|
        make = one["monotonic"] ? :create_observable_counter : :create_observable_up_down_counter
        value = -> { Trunkline.measurements.find { |now| now["name"] == one["name"] }&.fetch("value") || 0 }
        @meter.public_send(make, one["name"], unit: one["unit"], description: one["description"], callback: value)
      end.then { |made| made unless made.empty? }
    end

    def measure(metric)
      histogram = @lock.synchronize do
        @histograms[metric["name"]] ||= @meter.create_histogram(metric["name"], unit: "s", description: metric["description"])
      end
      histogram.record(metric["value"], attributes: metric["attributes"])
    end

    def time(micros) = micros && Time.at(micros / 1_000_000, micros % 1_000_000, :usec)
  end
end
