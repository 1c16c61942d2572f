package dev.trunkline

import io.opentelemetry.api.GlobalOpenTelemetry
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator
import io.opentelemetry.context.Context
import io.opentelemetry.context.propagation.ContextPropagators
import io.opentelemetry.sdk.OpenTelemetrySdk
import io.opentelemetry.sdk.metrics.SdkMeterProvider
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter
import io.opentelemetry.sdk.trace.SdkTracerProvider
import io.opentelemetry.sdk.trace.data.LinkData
import io.opentelemetry.sdk.trace.data.SpanData
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor
import io.opentelemetry.sdk.trace.samplers.Sampler
import io.opentelemetry.sdk.trace.samplers.SamplingResult
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertTrue
import kotlin.time.Duration.Companion.seconds

class TelemetryTest {
    private object Moody : Sampler {
        override fun shouldSample(
            parent: Context,
            traceId: String,
            name: String,
            kind: SpanKind,
            attributes: Attributes,
            links: List<LinkData>,
        ): SamplingResult = if ("unsampled" in name) error("not this one") else SamplingResult.recordAndSample()

        override fun getDescription(): String = "moody"
    }

    @Test
    fun `calls have spans of both sides in one trace`() = runBlocking {
        val spans = InMemorySpanExporter.create()
        val metrics = InMemoryMetricReader.create()
        val tracers = SdkTracerProvider.builder().setSampler(Moody).addSpanProcessor(SimpleSpanProcessor.create(spans)).build()
        val sdk =
            OpenTelemetrySdk
                .builder()
                .setTracerProvider(tracers)
                .setMeterProvider(SdkMeterProvider.builder().registerMetricReader(metrics).build())
                .setPropagators(ContextPropagators.create(W3CTraceContextPropagator.getInstance()))
                .build()
        GlobalOpenTelemetry.resetForTest()
        GlobalOpenTelemetry.set(sdk)
        val server =
            server("traced", "1", options = { telemetry = true }) {
                tool("trace") {
                    delay(1)
                    Span.current().spanContext.traceId
                }
                tool("unsampled") { "done" }
            }
        val inHandler =
            Client.connect(server, { telemetry = true }).use {
                // A sampler that throws fails no call.
                assertEquals("done", withTimeout(20.seconds) { it.callTool<String>("unsampled") })
                it.callTool<String>("trace")
            }
        server.close()

        fun calls(kind: SpanKind): List<SpanData> = spans.finishedSpanItems.filter { it.name == "tools/call trace" && it.kind == kind }

        withTimeout(20.seconds) { while (calls(SpanKind.SERVER).isEmpty() || calls(SpanKind.CLIENT).isEmpty()) delay(10) }
        assertEquals(inHandler, calls(SpanKind.SERVER).single().traceId)
        assertEquals(inHandler, calls(SpanKind.CLIENT).single().traceId)
        val names = metrics.collectAllMetrics().map { it.name }
        assertTrue("mcp.server.operation.duration" in names, names.toString())
    }
}
