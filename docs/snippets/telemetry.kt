// The spans of a call. With OpenTelemetry on the class path, there is nothing to do; here a
// processor notes the names of the spans.
package telemetry

import dev.trunkline.Client
import dev.trunkline.jsonObjectOf
import dev.trunkline.server
import io.opentelemetry.api.GlobalOpenTelemetry
import io.opentelemetry.sdk.OpenTelemetrySdk
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter
import io.opentelemetry.sdk.trace.SdkTracerProvider
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor
import kotlinx.coroutines.delay
import kotlinx.serialization.Serializable

@Serializable
class Guest(val name: String)

suspend fun main() {
    val spans = InMemorySpanExporter.create()
    val provider = SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(spans)).build()
    GlobalOpenTelemetry.set(OpenTelemetrySdk.builder().setTracerProvider(provider).build())

    val greeter = server("greeter", "1.0.0") { tool<Guest>("greet", "Greet someone.") { guest -> "Hello, ${guest.name}!" } }
    Client.connect(greeter).use { client -> client.callTool("greet", jsonObjectOf("name" to "Ada")) }

    while (spans.finishedSpanItems.size < 4) delay(10)
    val names = spans.finishedSpanItems.map { "${it.kind.name.lowercase()} ${it.name}" }
    println(names.sorted().joinToString("\n"))
}
