package dev.trunkline

import io.opentelemetry.api.GlobalOpenTelemetry
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.metrics.DoubleHistogram
import io.opentelemetry.api.metrics.ObservableLongMeasurement
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Scope
import io.opentelemetry.context.propagation.TextMapGetter
import kotlinx.coroutines.ThreadContextElement
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit
import kotlin.coroutines.CoroutineContext
import io.opentelemetry.context.Context as TraceContext

/** Spans and metrics of OpenTelemetry from the records of the core. Loaded only if the API is on the class path. */
internal class Telemetry(private val core: NativePort) {
    /** By number: the spans of openings, notifications, and requests that have reached a handler. */
    private val spans = ConcurrentHashMap<Long, Span>()
    private val histograms = ConcurrentHashMap<String, DoubleHistogram>()
    private val measured = ConcurrentHashMap<String, AutoCloseable>()

    /** Makes the span of a call current in its coroutine; null if the call is not observed. */
    fun ofCall(ticket: ULong): CoroutineContext.Element? {
        val record = record(core.telemetry(ticket, null)) ?: return null
        val parent = parentOf(record)
        return Current(parent.with(spans.computeIfAbsent(record.number) { begin(record, parent) }))
    }

    /** Starts the span of a request that is about to be sent; null if it is not observed. */
    fun sending(target: ULong, message: JsonObject): Sending? {
        val record = record(core.telemetry(target, message.toString())) ?: return null
        val span = begin(record, TraceContext.current())
        return Sending(span, record.number, traceOf(span))
    }

    /** Starts the span of an opening connection or a notification, and returns its member of the message. */
    fun starting(target: ULong, message: JsonObject): JsonObject? {
        val sending = sending(target, message) ?: return null
        spans[sending.number] = sending.span
        return objectOf("number" to sending.number, "trace" to sending.trace)
    }

    /** Ends the span of a request that was sent. */
    fun ended(ticket: ULong, sending: Sending) {
        val record = record(core.telemetry(ticket, null))
        if (record == null) sending.span.end() else end(sending.span, record)
    }

    /** Processes reports: served requests, openings, sent notifications, and ended sessions. */
    fun receive(text: String): Unit = json.decodeFromString<List<Record>>(text).forEach { callBack("telemetry") { receive(it) } }

    private fun receive(record: Record) {
        if (record.name == null) {
            measure(record, TraceContext.root())
        } else {
            end(spans.remove(record.number) ?: begin(record, parentOf(record)), record)
        }
    }

    /** Reports the load of the servers whenever the program collects metrics. */
    fun measureLoad() {
        val meter = GlobalOpenTelemetry.getMeter(NAME)
        for (one in measurements()) {
            measured.computeIfAbsent(one.name) {
                val report = { load: ObservableLongMeasurement ->
                    load.record(measurements().firstOrNull { it.name == one.name }?.value ?: 0L)
                }
                if (one.monotonic) {
                    meter.counterBuilder(one.name).setDescription(one.description).setUnit(one.unit).buildWithCallback(report)
                } else {
                    meter.upDownCounterBuilder(one.name).setDescription(one.description).setUnit(one.unit).buildWithCallback(report)
                }
            }
        }
    }

    /** Reports the load no longer. */
    fun close(): Unit = measured.values.forEach { it.close() }

    private fun measurements(): List<Measurement> =
        core.measurements()?.let { json.decodeFromString<Map<String, List<Measurement>>>(it)["measurements"] }.orEmpty()

    private fun record(text: String?): Record? = text?.let { json.decodeFromString(Record.serializer(), it) }

    /** The trace context that was received with the request. */
    private fun parentOf(record: Record): TraceContext =
        GlobalOpenTelemetry.getPropagators().textMapPropagator.extract(TraceContext.root(), record.context, FromJson)

    private fun begin(record: Record, parent: TraceContext, kind: String = record.kind): Span = try {
        val span = GlobalOpenTelemetry.getTracer(NAME).spanBuilder(record.name.orEmpty()).setParent(parent)
        span.setSpanKind(if (kind == "server") SpanKind.SERVER else SpanKind.CLIENT)
        span.setAllAttributes(attributesOf(record.attributes)).setStartTimestamp(record.startUs, TimeUnit.MICROSECONDS)
        span.startSpan()
    } catch (error: Exception) {
        // Thrown by the program's sampler or span processor. The request continues without a span.
        logError("a span could not start", error)
        Span.getInvalid()
    }

    private fun end(span: Span, record: Record) {
        val within = TraceContext.root().with(span)
        for (one in record.requests) end(begin(one, within, record.kind), one)
        record.name?.let(span::updateName)
        span.setAllAttributes(attributesOf(record.attributes))
        record.error?.let { span.setStatus(StatusCode.ERROR, it) }
        span.end(record.endUs, TimeUnit.MICROSECONDS)
        measure(record, within)
    }

    private fun measure(record: Record, context: TraceContext) {
        val metric = record.metric ?: return
        val histogram =
            histograms.computeIfAbsent(metric.name) {
                val builder = GlobalOpenTelemetry.getMeter(NAME).histogramBuilder(metric.name).setDescription(metric.description)
                builder.setUnit("s").setExplicitBucketBoundariesAdvice(metric.boundaries).build()
            }
        histogram.record(metric.value, attributesOf(metric.attributes), context)
    }

    private fun traceOf(span: Span): JsonObject {
        val trace = mutableMapOf<String, JsonPrimitive>()
        GlobalOpenTelemetry.getPropagators().textMapPropagator.inject(TraceContext.current().with(span), trace) { _, name, value ->
            trace[name] = JsonPrimitive(value)
        }
        return JsonObject(trace)
    }

    private fun attributesOf(given: JsonObject): Attributes {
        val attributes = Attributes.builder()
        for ((name, value) in given) {
            val plain = value.jsonPrimitive
            if (plain.isString) attributes.put(name, plain.content) else attributes.put(name, plain.long)
        }
        return attributes.build()
    }

    /** A request that was sent, with its trace context for the message. */
    class Sending(val span: Span, val number: Long, val trace: JsonObject)

    /** Makes a trace context current wherever the coroutine runs. */
    private class Current(private val context: TraceContext) : ThreadContextElement<Scope> {
        override val key: CoroutineContext.Key<*> get() = Key

        override fun updateThreadContext(context: CoroutineContext): Scope = this.context.makeCurrent()

        override fun restoreThreadContext(context: CoroutineContext, oldState: Scope) = oldState.close()

        companion object Key : CoroutineContext.Key<Current>
    }

    private object FromJson : TextMapGetter<JsonObject> {
        @Deprecated("OpenTelemetry has deprecated it.")
        override fun keys(carrier: JsonObject): Iterable<String> = carrier.keys

        override fun get(carrier: JsonObject?, key: String): String? = carrier?.string(key)
    }

    /** A record, or one of its requests, which has no kind of its own. */
    @Serializable
    private class Record(
        val number: Long = 0,
        val kind: String = "",
        val name: String? = null,
        val attributes: JsonObject = NOTHING,
        val context: JsonObject = NOTHING,
        val startUs: Long = 0,
        val endUs: Long = 0,
        val error: String? = null,
        val metric: Metric? = null,
        val requests: List<Record> = emptyList(),
    )

    @Serializable
    private class Metric(
        val name: String,
        val description: String,
        val value: Double,
        val attributes: JsonObject,
        val boundaries: List<Double>,
    )

    @Serializable
    private class Measurement(val name: String, val description: String, val unit: String, val monotonic: Boolean, val value: Long)
}

private const val NAME = "trunkline"

/** Returns whether to report requests: by default, if the program has set up OpenTelemetry. */
internal fun isTelemetryWanted(option: Boolean?): Boolean {
    if (option == false) return false
    val isThere = runCatching { Class.forName("io.opentelemetry.api.GlobalOpenTelemetry") }.isSuccess
    if (option == true && !isThere) throw InvalidArgumentException("telemetry: io.opentelemetry:opentelemetry-api is not on the class path")
    return isThere && (option == true || isSetUp())
}

/** False with an API before 1.57, which cannot tell without setting itself up. */
private fun isSetUp(): Boolean = runCatching { GlobalOpenTelemetry.isSet() }.getOrDefault(false)
