package dev.trunkline

import io.opentelemetry.api.GlobalOpenTelemetry
import io.opentelemetry.api.common.AttributeKey
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.metrics.DoubleHistogram
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Scope
import io.opentelemetry.context.propagation.TextMapGetter
import kotlinx.coroutines.ThreadContextElement
import kotlinx.serialization.Serializable
import kotlinx.serialization.builtins.ListSerializer
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull
import kotlinx.serialization.json.doubleOrNull
import kotlinx.serialization.json.longOrNull
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.TimeUnit
import kotlin.coroutines.CoroutineContext
import dev.trunkline.internal.Port as NativePort
import io.opentelemetry.context.Context as TraceContext

/** Spans and metrics of OpenTelemetry from the records of the core. Loaded only if the API is on the class path. */
internal class Telemetry(private val core: NativePort) {
    /** By number: the spans of openings, notifications, and requests that have reached a handler. */
    private val spans = ConcurrentHashMap<Long, Span>()
    private val histograms = ConcurrentHashMap<String, DoubleHistogram>()
    private val measured = ConcurrentHashMap.newKeySet<String>()

    /** Makes the span of a call current in its coroutine; null if the call is not observed. */
    fun ofCall(ticket: ULong): CoroutineContext.Element? {
        val record = record(core.telemetry(ticket, null)) ?: return null
        val parent = GlobalOpenTelemetry.getPropagators().textMapPropagator.extract(TraceContext.root(), record.context, FromJson)
        val span = spans.computeIfAbsent(record.number) { begin(record, parent) }
        return Current(parent.with(span))
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
        return objectOf("number" to JsonPrimitive(sending.number), "trace" to sending.trace)
    }

    /** Ends the span of a request that was sent. */
    fun ended(ticket: ULong, sending: Sending) {
        val record = record(core.telemetry(ticket, null))
        if (record == null) sending.span.end() else end(sending.span, record)
    }

    /** Processes reports: served requests, openings, sent notifications, and ended sessions. */
    fun receive(text: String) {
        for (record in json.decodeFromString(ListSerializer(Record.serializer()), text)) {
            if (record.name == null) {
                measure(record, TraceContext.root())
            } else {
                val parent = GlobalOpenTelemetry.getPropagators().textMapPropagator.extract(TraceContext.root(), record.context, FromJson)
                end(spans.remove(record.number) ?: begin(record, parent), record)
            }
        }
    }

    /** Reports the load of the servers whenever the program collects metrics. */
    fun measureLoad() {
        for (instrument in measurements()) {
            if (!measured.add(instrument.name)) continue
            val value = { measurements().firstOrNull { it.name == instrument.name }?.value ?: 0L }
            val meter = GlobalOpenTelemetry.getMeter(NAME)
            if (instrument.monotonic) {
                val counter = meter.counterBuilder(instrument.name).setDescription(instrument.description).setUnit(instrument.unit)
                counter.buildWithCallback { it.record(value()) }
            } else {
                val counter = meter.upDownCounterBuilder(instrument.name).setDescription(instrument.description).setUnit(instrument.unit)
                counter.buildWithCallback { it.record(value()) }
            }
        }
    }

    private fun measurements(): List<Measurement> =
        core.measurements()?.let { json.decodeFromString(Measurements.serializer(), it).measurements }.orEmpty()

    private fun record(text: String?): Record? = text?.let { json.decodeFromString(Record.serializer(), it) }

    private fun begin(record: Record, parent: TraceContext): Span =
        begin(record.name.orEmpty(), record.kind, record.attributes, record.startUs, parent)

    private fun begin(name: String, kind: String, attributes: JsonObject, startUs: Long, parent: TraceContext): Span {
        val span = GlobalOpenTelemetry.getTracer(NAME).spanBuilder(name).setParent(parent)
        span.setSpanKind(if (kind == "server") SpanKind.SERVER else SpanKind.CLIENT)
        span.setAllAttributes(attributesOf(attributes)).setStartTimestamp(startUs, TimeUnit.MICROSECONDS)
        return span.startSpan()
    }

    private fun end(span: Span, record: Record) {
        val within = TraceContext.root().with(span)
        for (one in record.requests) {
            finish(
                begin(one.name.orEmpty(), record.kind, one.attributes, one.startUs, within),
                one.attributes,
                one.error,
                one.endUs,
            )
        }
        record.name?.let(span::updateName)
        finish(span, record.attributes, record.error, record.endUs)
        measure(record, within)
    }

    private fun finish(span: Span, attributes: JsonObject, error: String?, endUs: Long) {
        span.setAllAttributes(attributesOf(attributes))
        if (error != null) span.setStatus(StatusCode.ERROR, error)
        span.end(endUs, TimeUnit.MICROSECONDS)
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
        GlobalOpenTelemetry.getPropagators().textMapPropagator.inject(TraceContext.current().with(span), trace) { carrier, name, value ->
            carrier?.put(name, JsonPrimitive(value))
        }
        return JsonObject(trace)
    }

    private fun attributesOf(given: JsonObject): Attributes {
        val attributes = Attributes.builder()
        for ((name, value) in given) {
            val plain = value as? JsonPrimitive ?: continue
            when {
                plain.isString -> attributes.put(name, plain.content)
                plain.booleanOrNull != null -> attributes.put(name, plain.content.toBoolean())
                plain.longOrNull != null -> attributes.put(AttributeKey.longKey(name), plain.content.toLong())
                else -> plain.doubleOrNull?.let { attributes.put(name, it) }
            }
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

    @Serializable
    private class Record(
        val number: Long = 0,
        val kind: String,
        val name: String? = null,
        val attributes: JsonObject = NOTHING,
        val context: JsonObject = NOTHING,
        val startUs: Long = 0,
        val endUs: Long = 0,
        val error: String? = null,
        val metric: Metric? = null,
        val requests: List<Part> = emptyList(),
    )

    @Serializable
    private class Part(
        val name: String? = null,
        val attributes: JsonObject = NOTHING,
        val startUs: Long,
        val endUs: Long,
        val error: String? = null,
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
    private class Measurements(val measurements: List<Measurement> = emptyList())

    @Serializable
    private class Measurement(val name: String, val description: String, val unit: String, val monotonic: Boolean, val value: Long)

    companion object {
        private const val NAME = "trunkline"
    }
}

/** Whether to report requests: by default, if the program has set up OpenTelemetry. */
internal fun isTelemetryWanted(option: Boolean?): Boolean {
    if (option == false) return false
    val isThere =
        try {
            Class.forName("io.opentelemetry.api.GlobalOpenTelemetry")
            true
        } catch (_: ClassNotFoundException) {
            false
        }
    if (option == true && !isThere) throw InvalidArgumentException("telemetry: io.opentelemetry:opentelemetry-api is not on the class path")
    return isThere && (option == true || isSetUp())
}

private fun isSetUp(): Boolean = try {
    GlobalOpenTelemetry.isSet()
} catch (_: NoSuchMethodError) {
    // An API before 1.57 cannot tell without setting itself up.
    false
}
