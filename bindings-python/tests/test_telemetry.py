"""Spans, measurements and trace contexts, with the SDK of OpenTelemetry."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry import context, metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from typing_extensions import Self

from trunkline import (
    Client,
    Context,
    Next,
    ProtocolError,
    Request,
    Server,
    SyncClient,
    SyncContext,
    ToolError,
    TransportError,
)
from trunkline._internal import _native, telemetry


@dataclass
class _Sure:
    sure: bool


_EXPORTER = InMemorySpanExporter()
_READER = InMemoryMetricReader()


@pytest.fixture(scope="module", autouse=True)
def _providers() -> None:
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(_EXPORTER))
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(MeterProvider([_READER]))


@pytest.fixture(autouse=True)
def _fresh() -> None:
    _EXPORTER.clear()


def _server(name: str = "spans", **options: Any) -> Server:
    server, tracer = Server(name, version="1", **options), trace.get_tracer("test")

    @server.tool
    async def work() -> str:
        """Works."""
        await asyncio.sleep(0)
        with tracer.start_as_current_span("inside"):
            return "done"

    @server.tool
    def work_in_thread() -> str:
        """Works on a thread."""
        with tracer.start_as_current_span("inside"):
            return "done"

    @server.tool
    def fail() -> str:
        """Fails."""
        raise ToolError("no")

    @server.tool
    async def ask(ctx: Context) -> str:
        """Asks."""
        return (await ctx.elicit("Sure?", _Sure)).action

    @server.tool
    def ask_in_thread(ctx: SyncContext) -> str:
        """Asks on a thread."""
        return ctx.elicit("Sure?", _Sure).action

    return server


class _Trace:
    """A span of a user, and what happened within it."""

    def __init__(self) -> None:
        self.span = trace.get_tracer("test").start_span("user", context.Context())

    def __enter__(self) -> Self:
        self._token = context.attach(trace.set_span_in_context(self.span, context.Context()))
        return self

    def __exit__(self, *_: object) -> None:
        context.detach(self._token)
        self.span.end()

    @property
    def id(self) -> SpanContext:
        return self.span.get_span_context()

    def all(self) -> list[ReadableSpan]:
        return [span for span in _EXPORTER.get_finished_spans() if _id(span).trace_id == self.id.trace_id]

    def one(self, name: str, kind: SpanKind = SpanKind.INTERNAL) -> ReadableSpan:
        """The only span of a name and a kind. Served requests may be reported after their reply."""
        deadline = time.monotonic() + 30
        while True:
            found = [span for span in self.all() if span.name == name and span.kind == kind]
            if found or time.monotonic() > deadline:
                break
            time.sleep(0.005)
        assert len(found) == 1, (name, kind, [(span.name, span.kind) for span in self.all()])
        return found[0]

    async def served(self, name: str) -> ReadableSpan:
        """The span of what is served on this event loop."""
        for _ in range(500):
            if any(span.name == name and span.kind == SpanKind.SERVER for span in self.all()):
                break
            await asyncio.sleep(0.005)
        return self.one(name, SpanKind.SERVER)


def _id(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def _assert_below(span: ReadableSpan, parent: SpanContext) -> None:
    assert span.parent is not None
    assert span.parent.span_id == parent.span_id, span.name


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("over", ["memory", "http"])
@pytest.mark.parametrize("tool", ["work", "work_in_thread"])
def test_rpc_38_a_trace_leads_from_the_user_to_spans_of_the_handler(revision: Any, over: str, tool: str) -> None:
    async def call(client: Client) -> _Trace:
        with _Trace() as user:
            await client.call_tool(tool)
        return user

    async def run() -> None:
        server = _server()
        async with server.serve_http(port=0) as listener:
            target: Any = server if over == "memory" else listener.url
            async with Client(target, revision=revision) as client:
                one, two = await asyncio.gather(call(client), call(client))
                assert one.id.trace_id != two.id.trace_id
                name = f"tools/call {tool}"
                await two.served(name)
                served, sent = await one.served(name), one.one(name, SpanKind.CLIENT)
                _assert_below(sent, one.id)
                _assert_below(served, _id(sent))
                _assert_below(one.one("inside"), _id(served))
                two.one("inside")
                for span in (sent, served):
                    found = _attributes(span)
                    assert found["mcp.method.name"] == "tools/call"
                    assert found["gen_ai.tool.name"] == tool
                    assert found["gen_ai.operation.name"] == "execute_tool"
                    assert found["mcp.protocol.version"] == revision
                    assert found.get("network.transport") == ("tcp" if over == "http" else None)
                    assert found["jsonrpc.request.id"] == _attributes(sent)["jsonrpc.request.id"]
                    assert span.status.status_code == StatusCode.UNSET
                if over == "http":
                    assert _attributes(sent)["server.port"] == listener.port
                    assert _attributes(served)["client.address"] == "127.0.0.1"

    asyncio.run(run())


def test_middleware_is_within_the_span_and_around_that_of_the_handler() -> None:
    server = _server()

    @server.middleware("tools/call")
    async def middleware(_request: Request, proceed: Next, _ctx: Context) -> Any:
        with trace.get_tracer("test").start_as_current_span("middleware"):
            return await proceed()

    async def run() -> None:
        async with Client(server) as client:
            with _Trace() as user:
                await client.call_tool("work")
            served = await user.served("tools/call work")
            _assert_below(user.one("middleware"), _id(served))
            _assert_below(user.one("inside"), _id(user.one("middleware")))

    asyncio.run(run())


def test_failed_spans_record_the_exception_of_the_handler() -> None:
    async def run() -> None:
        async with Client(_server()) as client:
            with _Trace() as failed:
                await client.call_tool("fail", raise_on_error=False)
            with _Trace() as unknown, pytest.raises(Exception, match="nothing"):
                await client.call_tool("nothing")
            with _Trace() as listed:
                await client.list_tools()
            for of, name in ((failed, "tools/call fail"), (unknown, "tools/call nothing"), (listed, "tools/list")):
                await of.served(name)
            for kind in (SpanKind.CLIENT, SpanKind.SERVER):
                span = failed.one("tools/call fail", kind)
                assert _attributes(span)["error.type"] == "tool_error"
                assert span.status.status_code == StatusCode.ERROR
                span = unknown.one("tools/call nothing", kind)
                assert _attributes(span)["error.type"] == _attributes(span)["rpc.response.status_code"] == "-32602"
                assert "nothing" in (span.status.description or "")
                assert listed.one("tools/list", kind).status.status_code == StatusCode.UNSET
            (event,) = failed.one("tools/call fail", SpanKind.SERVER).events
            assert dict(event.attributes or {})["exception.message"] == "no"

    asyncio.run(run())


@pytest.mark.parametrize("tool", ["ask", "ask_in_thread"])
def test_requests_to_the_client_carry_the_trace(tool: str) -> None:
    async def run() -> None:
        client = Client(_server(), revision="2025-11-25")

        @client.on_elicit
        async def answer(_request: Any) -> dict[str, str]:
            await asyncio.sleep(0)
            with trace.get_tracer("test").start_as_current_span("answering"):
                return {"action": "decline"}

        async with client:
            with _Trace() as user:
                await client.call_tool(tool)
            call, answered = await user.served(f"tools/call {tool}"), await user.served("elicitation/create")
            asked = user.one("elicitation/create", SpanKind.CLIENT)
            _assert_below(asked, _id(call))
            _assert_below(answered, _id(asked))
            _assert_below(user.one("answering"), _id(answered))

    asyncio.run(run())


class _Legacy:
    """A transport to a legacy server, which does not know `server/discover` and records what it
    receives.
    """

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    async def connect(self) -> None:
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    async def send(self, message: str) -> None:
        sent = json.loads(message)
        self.sent.append(sent)
        about = {"name": "legacy", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": about}
        answer = {"result": result} if sent["method"] == "initialize" else {"error": {"code": -32601, "message": "?"}}
        if "id" in sent:
            self.answers.put_nowait(json.dumps({"jsonrpc": "2.0", "id": sent["id"], **answer}))

    async def receive(self) -> str:
        return await self.answers.get()

    async def close(self) -> None:
        pass

    def parents_of(self, method: str) -> list[str]:
        """The ids of spans in the trace contexts of the messages of a method."""
        of_method = [sent["params"]["_meta"]["traceparent"] for sent in self.sent if sent["method"] == method]
        return [context.split("-")[2] for context in of_method]


async def _eventually(user: _Trace, name: str) -> ReadableSpan:
    """The child of the user's span, whose end the core may report later."""
    for _ in range(1000):
        of_user = [span for span in user.all() if span.name == name and span.parent is not None]
        found = [span for span in of_user if span.parent and span.parent.span_id == user.id.span_id]
        if found:
            return found[0]
        await asyncio.sleep(0.01)
    raise AssertionError([span.name for span in user.all()])


def _hex(span: ReadableSpan) -> str:
    return f"{_id(span).span_id:016x}"


def test_rpc_38_connecting_and_notifications_have_spans() -> None:
    async def run() -> None:
        server = _Legacy()
        with _Trace() as user:
            client = Client(server)
            await client.connect()
        opening = await _eventually(user, "initialize")
        assert opening.kind == SpanKind.CLIENT
        assert _attributes(opening)["mcp.method.name"] == "initialize"
        assert _attributes(opening)["mcp.protocol.version"] == "2025-11-25"
        assert opening.status.status_code == StatusCode.UNSET
        below = [span for span in user.all() if span.parent and span.parent.span_id == _id(opening).span_id]
        assert [span.name for span in below] == ["server/discover", "initialize"]
        assert _attributes(below[0])["error.type"] == "-32601"
        assert not any(span.links for span in below)
        for method in ("server/discover", "initialize"):
            assert server.parents_of(method) == [_hex(opening)]
        with _Trace() as user:
            client.notify("com.acme/changed", {"to": 7})
        noted = await _eventually(user, "com.acme/changed")
        assert noted.kind == SpanKind.CLIENT
        with pytest.raises(ProtocolError):
            await client.ping()
        assert server.parents_of("com.acme/changed") == [_hex(noted)]
        await client.close()

    asyncio.run(run())


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_span_of_connecting_is_the_parent_of_the_servers_spans(revision: Any) -> None:
    async def run() -> None:
        name = "initialize" if revision == "2025-11-25" else "server/discover"
        server = _server()
        with _Trace() as user:
            client = Client(server, revision=revision)
            await client.connect()
        served, opening = await user.served(name), await _eventually(user, name)
        _assert_below(served, _id(opening))
        await client.close()
        with _Trace() as blocking, SyncClient(server, revision=revision):
            pass
        _assert_below(await blocking.served(name), _id(await _eventually(blocking, name)))
        with _Trace() as failed, pytest.raises(TransportError):
            await Client("http://127.0.0.1:9/mcp").connect()
        assert (await _eventually(failed, "server/discover")).status.status_code == StatusCode.ERROR

    asyncio.run(run())


def test_each_round_of_a_call_is_a_child_of_its_span() -> None:
    async def run() -> None:
        client = Client(_server(), revision="2026-07-28")

        @client.on_elicit
        async def answer(_request: Any) -> dict[str, str]:
            return {"action": "decline"}

        async with client:
            with _Trace() as user:
                await client.call_tool("ask")
            call = await _eventually(user, "tools/call ask")
            below: dict[SpanKind, list[str]] = {SpanKind.CLIENT: [], SpanKind.SERVER: []}
            spans: list[ReadableSpan] = []
            for _ in range(1000):
                spans = [span for span in user.all() if span.parent and span.parent.span_id == _id(call).span_id]
                if len(spans) == 4:
                    break
                await asyncio.sleep(0.01)
            for span in spans:
                assert span.name == "tools/call ask"
                below[span.kind].append(_attributes(span)["jsonrpc.request.id"])
            assert sorted(below[SpanKind.CLIENT]) == sorted(below[SpanKind.SERVER])
            assert len(set(below[SpanKind.CLIENT])) == 2

    asyncio.run(run())


def test_blocking_clients_on_two_threads_have_separate_traces() -> None:
    with SyncClient(_server()) as client:
        users: list[_Trace] = []

        def call() -> None:
            with _Trace() as user:
                client.call_tool("work")
            users.append(user)

        threads = [threading.Thread(target=call) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for user in users:
            sent = user.one("tools/call work", SpanKind.CLIENT)
            _assert_below(sent, user.id)
            _assert_below(user.one("tools/call work", SpanKind.SERVER), _id(sent))
            user.one("inside")
        assert len({user.id.trace_id for user in users}) == 2


def test_a_gateway_continues_the_trace() -> None:
    async def run() -> None:
        async with Client(_server(), telemetry=False) as behind:
            gateway = Server("gateway", version="1")
            gateway.proxy(behind)
            async with Client(gateway) as client:
                with _Trace() as user:
                    await client.call_tool("work")
                sent = user.one("tools/call work", SpanKind.CLIENT)
                inside = user.one("inside")
                served: list[ReadableSpan] = []
                for _ in range(500):
                    served = [span for span in user.all() if span.kind == SpanKind.SERVER]
                    if len(served) == 2:
                        break
                    await asyncio.sleep(0.005)
                assert [span.parent.span_id for span in served if span.parent] == [_id(sent).span_id] * 2
                assert inside.parent is not None
                assert inside.parent.span_id in [_id(span).span_id for span in served]

    asyncio.run(run())


def test_durations_are_measured_in_the_buckets_of_the_conventions() -> None:
    async def run() -> None:
        async with Client(_server("measured"), revision="2025-11-25") as client:
            with _Trace() as user:
                await client.call_tool("work")
            await user.served("tools/call work")

    asyncio.run(run())
    data = _READER.get_metrics_data()
    assert data is not None
    found: dict[str, Any] = {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    for side in ("server", "client"):
        metric = found[f"mcp.{side}.operation.duration"]
        assert metric.unit == "s"
        points = [point for point in metric.data.data_points if point.attributes.get("gen_ai.tool.name") == "work"]
        assert points
        for point in points:
            assert point.explicit_bounds == (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
            assert point.attributes["mcp.method.name"] == "tools/call"
            assert "jsonrpc.request.id" not in point.attributes
        sessions = found[f"mcp.{side}.session.duration"].data.data_points
        assert any(point.attributes["mcp.protocol.version"] == "2025-11-25" for point in sessions)


def _load() -> dict[str, int]:
    """The load of the servers of this process, by the ends of the names."""
    data = _READER.get_metrics_data()
    assert data is not None
    metrics = (
        metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name.startswith("trunkline.server.")
    )
    found: dict[str, int] = {}
    for metric in metrics:
        point = metric.data.data_points[0]
        assert isinstance(point, NumberDataPoint)
        found[metric.name.rpartition(".")[2]] = int(point.value)
    return found


async def _load_when(expected: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """The load, once it is as expected."""
    for _ in range(1000):
        if expected(now := _load()):
            return now
        await asyncio.sleep(0.01)
    raise AssertionError(_load())


def test_the_load_of_all_servers_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    # Ports of other tests may still be ending.
    measured: weakref.WeakSet[_native.Port] = weakref.WeakSet()
    monkeypatch.setattr(telemetry, "_measured", measured)
    running, go = asyncio.Event(), asyncio.Event()
    server = Server("loaded", version="1", max_running=2)

    @server.tool
    async def hold() -> str:
        """Holds its place."""
        running.set()
        await go.wait()
        return "done"

    async def run() -> None:
        async with (
            Client(server, revision="2025-11-25") as one,
            Client(_server("beside"), revision="2025-11-25"),
            Client(server, revision="2026-07-28"),
        ):
            idle = {"sessions": 2, "running_calls": 0, "waiting_calls": 0, "store_errors": 0}
            # Requests that a client sends on its own when it connects may still be running.
            await _load_when(lambda now: now == idle)
            calls = [asyncio.create_task(one.call_tool("hold")) for _ in range(3)]
            await running.wait()
            await _load_when(lambda now: now == {**idle, "running_calls": 2, "waiting_calls": 1})
            go.set()
            await asyncio.gather(*calls)
            await _load_when(lambda now: now == idle)
        await _load_when(lambda now: not any(now.values()))

    asyncio.run(run())


def test_dropped_servers_are_freed_even_if_nothing_collects_metrics() -> None:
    before = set(telemetry._measured)

    async def run() -> None:
        async with Client(_server("gone")) as client:
            await client.list_tools()
            assert set(telemetry._measured) - before

    asyncio.run(run())
    end = time.monotonic() + 30
    while set(telemetry._measured) - before:
        assert time.monotonic() < end
        gc.collect()
        time.sleep(0.01)


def test_without_telemetry_nothing_crosses() -> None:
    server = Server("off", version="1", telemetry=False)

    @server.tool
    def seen(ctx: SyncContext) -> str:
        """Shows."""
        return str(ctx.meta.get("traceparent"))

    async def run() -> None:
        async with Client(server, telemetry=False) as client:
            with _Trace() as user:
                assert (await client.call_tool("seen")).text == "None"
            await asyncio.sleep(0.02)
            assert [span.name for span in user.all()] == ["user"]

    asyncio.run(run())


def test_a_program_without_opentelemetry_does_not_load_it() -> None:
    program = """
import sys
from trunkline import Server, SyncClient, SyncContext
server = Server("a", version="1")

@server.tool
def seen(ctx: SyncContext) -> str:
    return str(ctx.meta.get("traceparent"))

with SyncClient(server) as client:
    print(client.call_tool("seen").text, "opentelemetry" in sys.modules, "trunkline._internal.telemetry" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.split() == ["None", "False", "False"], ran.stderr
