// OpenTelemetry spans and metrics, used if the application has set up OpenTelemetry. The core
// provides names, attributes and times (docs/bridge.md), which become spans here.
import type * as Api from "@opentelemetry/api";

import { invalid } from "./errors.js";
import type { HostSpan } from "./generated/messages.js";
import { stringify } from "./json.js";
import { installations } from "./native/installations.js";
import type { NativePort } from "./native/native.js";
import { isPromise } from "./schema/validate.js";

/** One of several requests of an operation. */
interface RequestRecord {
  name?: string;
  attributes: Api.Attributes;
  startUs: number;
  endUs: number;
  error?: string;
}

/** A `TelemetryRecord` of the core. */
interface TelemetryRecord extends RequestRecord {
  number: number;
  kind: "server" | "client";
  context: object;
  requests?: RequestRecord[];
  metric: { name: string; description: string; value: number; attributes: Api.Attributes; boundaries: number[] };
}

/** One of the `TelemetryMeasurements` of the core. */
type Measurement = Record<"name" | "description" | "unit", string> & { monotonic: boolean; value: number };

let api: typeof Api | undefined;

/**
 * Returns the API if telemetry is enabled and available. By default it is enabled if the
 * application has set up OpenTelemetry. Throws if it is enabled explicitly and
 * `@opentelemetry/api` is not installed.
 */
export function telemetryApi(wanted: boolean | undefined): typeof Api | undefined {
  if (wanted === false || (wanted === undefined && !(Symbol.for("opentelemetry.js.api.1") in globalThis))) return undefined;
  api ??= installations("@opentelemetry/api").next().value as typeof Api | undefined;
  if (!api && wanted) throw invalid("telemetry: the package @opentelemetry/api is not installed");
  return api;
}

/** The spans of the requests of one port. */
export class Telemetry {
  readonly #histograms = new Map<string, Api.Histogram>();
  /**
   * By number: the spans of openings, notifications, and requests that have reached a function of
   * the program.
   */
  readonly #spans = new Map<number, Api.Span>();
  #isMeasured = false;

  constructor(
    private readonly core: NativePort,
    private readonly api: typeof Api,
  ) {}

  /** Reports the load of the port's servers whenever the program collects metrics. */
  measureLoad(): void {
    const measurements = this.#measurements();
    if (this.#isMeasured || measurements.length === 0) return;
    this.#isMeasured = true;
    const meter = this.api.metrics.getMeter("trunkline");
    for (const { name, description, unit, monotonic } of measurements) {
      const instrument = monotonic ? meter.createObservableCounter(name, { description, unit }) : meter.createObservableUpDownCounter(name, { description, unit });
      instrument.addCallback((result) => result.observe(this.#measurements().find((one) => one.name === name)?.value ?? 0));
    }
  }

  #measurements(): Measurement[] {
    const json = this.core.measurements();
    return json === "" ? [] : (JSON.parse(json) as { measurements: Measurement[] }).measurements;
  }

  /** Runs the function of a call within the span of its request. */
  aroundCall<A extends unknown[]>(ticket: number, run: (...args: A) => unknown, ...args: A): unknown {
    const json = this.core.telemetry(ticket);
    if (json === "") return run(...args);
    const record = JSON.parse(json) as TelemetryRecord;
    const parent = this.#remote(record);
    let span = this.#spans.get(record.number);
    if (!span) this.#spans.set(record.number, (span = this.#begin(record, parent)));
    return recorded(span, () => this.api.context.with(this.api.trace.setSpan(parent, span), run, undefined, ...args));
  }

  /** Sends a request within its own span; `send` gets the trace context for its messages. */
  sent<T extends { ticket: number; result: Promise<unknown> }>(target: number, json: string, send: (trace: object | undefined) => T): T {
    const begun = this.core.telemetry(target, json);
    if (begun === "") return send(undefined);
    const { span, trace } = this.#sending(JSON.parse(begun) as TelemetryRecord);
    try {
      const started = recorded(span, () => send(trace));
      const result = started.result.finally(() => {
        const ended = this.core.telemetry(started.ticket);
        if (ended === "") span.end();
        else this.#end(span, JSON.parse(ended) as TelemetryRecord);
      });
      void recorded(span, () => started.result);
      return { ...started, result };
    } catch (error) {
      span.end();
      throw error;
    }
  }

  /** Drops the span of a connection whose open failed at once. */
  forget(number: number): void {
    this.#spans.delete(number);
  }

  /**
   * Starts the span of an opening connection or of a notification, and returns its member of the
   * message.
   */
  starting(target: number, message: { method: string; params?: unknown; notification?: boolean }): { span?: HostSpan } {
    const begun = this.core.telemetry(target, stringify(message, "the notification"));
    if (begun === "") return {};
    const record = JSON.parse(begun) as TelemetryRecord;
    const { span, trace } = this.#sending(record);
    this.#spans.set(record.number, span);
    return { span: { number: record.number, trace } };
  }

  /** Starts the span of a message that is about to be sent, and returns its trace context. */
  #sending(record: TelemetryRecord): { span: Api.Span; trace: object } {
    const active = this.api.context.active();
    const span = this.#begin(record, active);
    // The core takes from it what a message can carry.
    const trace = {};
    this.api.propagation.inject(this.api.trace.setSpan(active, span), trace);
    return { span, trace };
  }

  /**
   * Processes the core's reports: served requests, openings, sent notifications and ended sessions.
   */
  receive(records: object[]): void {
    for (const record of records as TelemetryRecord[]) {
      if (record.name === undefined) {
        this.#measure(record);
        continue;
      }
      const span = this.#spans.get(record.number) ?? this.#begin(record, this.#remote(record));
      this.#spans.delete(record.number);
      this.#end(span, record);
    }
  }

  #begin({ name = "", kind, attributes, startUs }: Pick<TelemetryRecord, "name" | "kind" | "attributes" | "startUs">, parent: Api.Context): Api.Span {
    const { trace, context, SpanKind } = this.api;
    const [around, remote] = [trace.getSpanContext(context.active()), trace.getSpanContext(parent)];
    // Links to the surrounding span, such as that of the HTTP request.
    const links = kind === "server" && around && around.spanId !== remote?.spanId ? [{ context: around }] : [];
    const options = { kind: kind === "server" ? SpanKind.SERVER : SpanKind.CLIENT, attributes, links, startTime: startUs / 1000 };
    return trace.getTracer("trunkline").startSpan(name, options, parent);
  }

  #end(span: Api.Span, record: TelemetryRecord): void {
    const within = this.api.trace.setSpan(this.api.context.active(), span);
    for (const request of record.requests ?? []) this.#finish(this.#begin({ ...request, kind: record.kind }, within), request);
    if (record.name !== undefined) span.updateName(record.name);
    this.#finish(span, record);
    this.#measure(record, within);
  }

  #finish(span: Api.Span, { attributes, error, endUs }: RequestRecord): void {
    span.setAttributes(attributes);
    if (error !== undefined) span.setStatus({ code: this.api.SpanStatusCode.ERROR, ...(error !== "" && { message: error }) });
    span.end(endUs / 1000);
  }

  #measure({ metric: { name, description, value, attributes, boundaries } }: TelemetryRecord, context?: Api.Context): void {
    let histogram = this.#histograms.get(name);
    if (!histogram) {
      const options = { description, unit: "s", advice: { explicitBucketBoundaries: boundaries } };
      this.#histograms.set(name, (histogram = this.api.metrics.getMeter("trunkline").createHistogram(name, options)));
    }
    histogram.record(value, attributes, context);
  }

  #remote({ context }: TelemetryRecord): Api.Context {
    return this.api.propagation.extract(this.api.context.active(), context);
  }
}

/** Records in a span what a function throws or rejects with. */
function recorded<T>(span: Api.Span, run: () => T): T {
  try {
    const returned = run();
    if (isPromise(returned)) returned.then(undefined, (error: unknown) => span.recordException(error as never));
    return returned;
  } catch (error) {
    span.recordException(error as never);
    throw error;
  }
}
