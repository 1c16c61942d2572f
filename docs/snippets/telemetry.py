"""The spans of a call in OpenTelemetry."""

import asyncio

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from trunkline import Client, Server

# Set up as in any OpenTelemetry program, with the exporter of your choice.
spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)

server = Server("greeter", version="1.0.0")


@server.tool
async def greet(name: str) -> str:
    """Greet someone."""
    # The handler runs within the span of its request; spans started here are its children.
    trace.get_current_span().set_attribute("greeter.name", name)
    return f"Hello, {name}!"


async def main() -> None:
    async with Client(server) as client:
        await client.call_tool("greet", {"name": "Ada"})
    while len(spans.get_finished_spans()) < 4:  # that of the server may end after the call
        await asyncio.sleep(0.01)
    for line in sorted(f"{span.kind.name.lower()} {span.name}" for span in spans.get_finished_spans()):
        print(line)


asyncio.run(main())
