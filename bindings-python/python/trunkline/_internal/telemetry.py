"""OpenTelemetry spans and metrics, used if the application has loaded OpenTelemetry.

The core provides names, attributes and times (docs/bridge.md), which become spans here.
OpenTelemetry is imported only if the application did so, or enables telemetry.
"""

from __future__ import annotations

import sys
import threading
import weakref
from contextlib import suppress
from contextvars import Context as ContextVars
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from . import _native
from .errors import TrunklineError
from .forked_locks import free_in_child
from .schema.jsonable import passed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.metrics import CallbackOptions, Histogram, Observation
    from opentelemetry.trace import Span
    from typing_extensions import Self


# The ports whose servers are measured, and the instruments, which the process shares. The
# references are weak: if nothing collects the measurements, nothing removes closed ports.
_measured: Final[weakref.WeakSet[_native.Port]] = weakref.WeakSet()
_instruments: Final[list[object]] = []
_lock: Final = threading.Lock()
free_in_child(sys.modules[__name__], "_lock")


class Telemetry:
    """The tracer and meter of this package, and the spans of requests being served."""

    def __init__(self) -> None:
        from opentelemetry import context, metrics, propagate, trace

        self._context, self._trace, self._propagate = context, trace, propagate
        self._tracer = trace.get_tracer("trunkline", _native.VERSION)
        self._meter = metrics.get_meter("trunkline", _native.VERSION)
        self._histograms: dict[str, Histogram] = {}
        # By number: the spans of openings, notifications, and requests that have reached a function
        # of the program.
        self._spans: dict[int, Span] = {}
        self._lock = threading.Lock()
        free_in_child(self, "_lock")

    def measure_load(self, native: _native.Port) -> None:
        """Report the load of a port's servers whenever the program collects metrics."""
        if (measured := native.measurements()) is None:
            return
        with _lock:
            _measured.add(native)
            if _instruments:
                return
            for one in measured["measurements"]:
                up_down, rising = self._meter.create_observable_up_down_counter, self._meter.create_observable_counter
                make: Any = rising if one["monotonic"] else up_down
                _instruments.append(make(one["name"], [partial(_load, one["name"])], one["unit"], one["description"]))

    def around_call(self, native: _native.Port, ticket: int, context: ContextVars) -> ContextVars:
        """Return the context variables of a call, with the span of its request."""
        with self._lock:  # so that the request does not end in between
            if (record := native.telemetry(ticket)) is None:
                return context
            span = self._spans.get(record["number"])
            parent = context.run(self._remote, record["context"])
            if span is None:
                span = self._spans[record["number"]] = context.run(self._begin, record, parent)
        # The context is a copy for this call only, so there is nothing to detach.
        context.run(self._context.attach, self._trace.set_span_in_context(span, parent))
        return context

    def record_exception(self, error: BaseException) -> None:
        """Record a handler's exception. Call this in the handler's context variables."""
        self._trace.get_current_span().record_exception(error)

    def sending(self, native: _native.Port, target: int, json: dict[str, Any]) -> SentSpan | None:
        """Return the span of a request that is about to be sent to a server or to the client of a
        call; None if telemetry is off for it.
        """
        if (record := passed(native.telemetry, target, json)) is None:
            return None
        span = self._begin(record, None)
        json["trace"] = self._carried(span)
        return SentSpan(self, native, span)

    def starting(self, native: _native.Port, target: int, json: dict[str, Any]) -> dict[str, Any]:
        """Start the span of an opening connection or of a notification, and return its member of
        the message.
        """
        if (record := passed(native.telemetry, target, json)) is None:
            return {}
        number, span = record["number"], self._begin(record, None)
        with self._lock:
            self._spans[number] = span
        return {"span": {"number": number, "trace": self._carried(span)}}

    def forget(self, json: dict[str, Any]) -> None:
        """Drop the span of a connection whose open failed at once."""
        if (span := json.get("span")) is not None:
            with self._lock:
                self._spans.pop(span["number"], None)

    def receive(self, records: list[dict[str, Any]]) -> None:
        """Process the core's reports: served requests, openings, sent notifications and ended
        sessions.
        """
        for record in records:
            if "name" not in record:
                self._measure(record["metric"], None)
                continue
            with self._lock:
                span = self._spans.pop(record["number"], None)
            if span is None:
                span = self._begin(record, self._remote(record["context"]))
            self.end(span, record)

    def end(self, span: Span, record: dict[str, Any]) -> None:
        """End a span and record its metrics."""
        within = self._trace.set_span_in_context(span)
        for request in record.get("requests", ()):
            self._finish(self._begin({**request, "kind": record["kind"]}, within), request)
        span.update_name(record["name"])
        self._finish(span, record)
        self._measure(record["metric"], span)

    def _finish(self, span: Span, record: dict[str, Any]) -> None:
        span.set_attributes(record["attributes"])
        if (error := record.get("error")) is not None:
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, error or None))
        span.end(record["endUs"] * 1000)

    def _carried(self, span: Span) -> dict[str, str]:
        """Return the trace context of a span. The core takes from it what a message can carry."""
        trace: dict[str, str] = {}
        self._propagate.inject(trace, self._trace.set_span_in_context(span))
        return trace

    def _begin(self, record: dict[str, Any], parent: Any) -> Span:
        is_served = record["kind"] == "server"
        kind = self._trace.SpanKind.SERVER if is_served else self._trace.SpanKind.CLIENT
        around = self._trace.get_current_span().get_span_context()
        remote = self._trace.get_current_span(parent).get_span_context()
        # Link to the surrounding span, such as that of the HTTP request.
        links = [self._trace.Link(around)] if is_served and around.is_valid and around != remote else None
        attributes, start = record["attributes"], record["startUs"] * 1000
        return self._tracer.start_span(
            record["name"], parent, kind=kind, attributes=attributes, links=links, start_time=start
        )

    def _remote(self, carrier: dict[str, str]) -> Any:
        return self._propagate.extract(carrier, self._context.get_current())

    def _measure(self, metric: dict[str, Any], span: Span | None) -> None:
        histogram = self._histograms.get(name := metric["name"])
        if histogram is None:
            histogram = self._histograms[name] = self._meter.create_histogram(
                name, "s", metric["description"], explicit_bucket_boundaries_advisory=metric["boundaries"]
            )
        around = None if span is None else self._trace.set_span_in_context(span)
        histogram.record(metric["value"], metric["attributes"], around)


def _load(name: str, _: CallbackOptions) -> Iterator[Observation]:
    """Yield a measurement of all servers, except for closed ports and those inherited through a
    fork.
    """
    from opentelemetry.metrics import Observation

    total = 0
    with _lock:
        ports = list(_measured)
    for native in ports:
        measured = None
        with suppress(TrunklineError):
            measured = native.measurements()
        if measured is not None:
            total += next(one["value"] for one in measured["measurements"] if one["name"] == name)
            continue
        with _lock:
            _measured.discard(native)
    yield Observation(total)


class SentSpan:
    """A context manager for the span of a request that is sent."""

    __slots__ = ("_native", "_span", "_telemetry", "ticket")

    def __init__(self, telemetry: Telemetry, native: _native.Port, span: Span) -> None:
        self._telemetry = telemetry
        self._native = native
        self._span = span
        # 0: not sent yet.
        self.ticket: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is not None:
            self._span.record_exception(error)
        record = None
        with suppress(TrunklineError):  # belongs to another process
            record = self._native.telemetry(self.ticket) if self.ticket else None
        if record is None:
            self._span.end()
        else:
            self._telemetry.end(self._span, record)
