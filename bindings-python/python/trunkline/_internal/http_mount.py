"""A server as an ASGI application, for any web framework and server."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from ._generated.waist import HTTP_CHUNK, HTTP_HEAD
from .errors import ClosedError
from .failures import detail
from .features.registry import Registry
from .port.events import start_task
from .port.lifecycle import close_deadline, current_loop
from .port.signals import SignalHandler, announce_signals

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Task

    from .port.port import Port

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_DISCONNECTED_REASON: Final = "the client has disconnected"
_WRITE_TIMEOUT_REASON: Final = "the client has read nothing for the write timeout"
# The default of the option, in seconds.
_WRITE_TIMEOUT: Final = 60.0
# The functions around that of the web server are looked into.
_MAX_WRAPPERS: Final = 32


class ASGIApp:
    """The ASGI 3 application returned by `Server.asgi`.

    Nothing starts before the first request, so it needs no lifespan hook, and you can create it
    before a web server forks. As the root application, it starts and closes with the web server's
    ASGI lifespan. Mounted in another application, `close` is optional. A signal that the web server
    handles also closes it: streams end at once, and calls in flight get the drain deadline. uvicorn
    waits until it has closed; other web servers wait only for open responses, so a server with
    tasks or a lifespan needs `close` in the lifespan of the application.
    """

    def __init__(self, server: Registry, transport: dict[str, Any]) -> None:
        self._server = server
        self._transport = transport
        milliseconds: int | None = transport.get("writeTimeoutMs")
        self._write_timeout = _WRITE_TIMEOUT if milliseconds is None else milliseconds / 1000
        self._context = copy_context()
        self._port: Port | None = None
        self._listener = 0
        self._verifier: int | None = None
        # The loops of requests. There are several only if they run one after another, or side by
        # side.
        self._loops: set[AbstractEventLoop] = set()
        # The shutdown started by a signal.
        self._ending: Task[None] | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "http":
            await self._answer(scope, receive, send)
        elif kind == "lifespan":
            await self._live(receive, send)
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": "this endpoint serves MCP over HTTP only"})
        else:
            raise ValueError(f"an MCP endpoint does not support the ASGI scope {kind!r}")

    async def close(self, deadline: float | None = None) -> None:
        """End sessions and streams. Calls in flight get until the deadline (in seconds; default:
        the server's). A later request reopens the application. If a signal has already started
        the shutdown, wait for it; requests that arrive meanwhile get status 503.
        """
        from asyncio import current_task, get_running_loop, wait

        ending = self._ending
        if ending is not None and ending is not current_task() and ending.get_loop() is get_running_loop():
            await wait({ending})
        with self._server._lock:
            port, self._port = self._port, None
            loops, self._loops = self._loops, set()
            # A request that arrives meanwhile mounts the server again, with others.
            listener, verifier = self._listener, self._verifier
        if port is None or port.is_inherited:
            return
        deadline = close_deadline(port.native, self._server._handle, deadline)
        await port.close_mounted(listener, deadline)
        self._server._forget(port, verifier)
        for loop in loops:
            await self._server._release(port, loop, deadline)

    def signalled(self, handler: SignalHandler) -> None:
        """Close on a signal. The web server would wait for streams, which clients keep open."""
        for loop in self._loops:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._begin_end, loop, handler)

    def _begin_end(self, loop: AbstractEventLoop, handler: SignalHandler) -> None:
        if self._port is not None:
            self._ending = loop.create_task(self.close())
            _hold(handler, self._ending)

    def __repr__(self) -> str:
        return f"<ASGI application of {self._server!r}>"

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    if self._server._enter_lifespan is not None:
                        await self._open_lifespan()
                except Exception as error:  # noqa: BLE001 - the web server reports it and exits
                    await send({"type": "lifespan.startup.failed", "message": detail(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _open_lifespan(self) -> None:
        """Open the lifespan before the first request, by a listener that this one then outlives."""
        port, _ = self._open(current_loop())
        transport = {"type": "http", "mounted": True}
        opening = port.open({"server": self._server._handle, "transport": transport, "openLifespan": True})
        await port.opened(opening)
        await port.close(opening, 0)

    def _open(self, loop: AbstractEventLoop) -> tuple[Port, int]:
        """Return the port and the listener for a request on `loop`."""
        port = self._port
        if port is not None and loop in self._loops and not port.is_inherited:
            return port, self._listener
        with self._server._lock:
            if self._server._bind() is not self._port:  # the first request, or the first in a forked process
                self._mount()
            # Work outside of requests must not run in the context variables of the first request.
            port, _ = self._context.copy().run(self._server._acquire, loop)
            self._loops = {known for known in self._loops if not known.is_closed()} | {loop}
            announce_signals(self)
            return port, self._listener

    def _mount(self) -> None:
        """Open the listener. This needs no loop: if it fails, the server has no user."""
        port = self._server._bind()
        transport, self._verifier = self._server._transport(port, self._transport)
        try:
            self._listener = port.native.open({"server": self._server._handle, "transport": transport})
        except BaseException:
            self._server._forget(port, self._verifier)
            raise
        self._port, self._loops = port, set()

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        from asyncio import wait

        if self._ending is not None and not self._ending.done():
            # Reopening now would keep the lifespan open until the process ends.
            await _send_whole(_for_version(send, scope), 503, b"The MCP server is shutting down")
            return
        loop = current_loop()
        port, listener = self._open(loop)
        exchange = Exchange(loop)
        ticket = port.http_request(listener, _head(scope), exchange)
        feeding = start_task(loop, _feed(port, ticket, receive))

        def give_up() -> None:
            if not exchange.ended:
                port.cancel(ticket, _WRITE_TIMEOUT_REASON)
            _disconnect(receive)

        async def send_in_time(message: Message) -> None:
            # Web servers wait forever for a client that reads nothing.
            deadline = loop.call_later(self._write_timeout, give_up)
            try:
                await send(message)
            finally:
                deadline.cancel()

        try:
            await _respond(port, ticket, exchange, _for_version(send_in_time, scope))
        finally:
            if not exchange.ended:
                port.cancel(ticket, _DISCONNECTED_REASON)
            if not feeding.done():
                feeding.cancel()
                await wait({feeding})


def _hold(handler: SignalHandler, ending: Task[None]) -> None:
    """Keep uvicorn running until `ending` is done. On its own it waits only for open responses, and
    there may be none while a task runs or the lifespan closes.
    """
    state = getattr(getattr(handler, "__self__", None), "server_state", None)
    if isinstance(tasks := getattr(state, "tasks", None), set):
        awaited = cast("set[Task[None]]", tasks)
        awaited.add(ending)
        ending.add_done_callback(awaited.discard)


class Exchange:
    """The part of a response that was received but not yet sent. Bounded, because chunks need
    credit.
    """

    def __init__(self, loop: AbstractEventLoop) -> None:
        from asyncio import Queue

        self.loop = loop
        # True once the core is done with the exchange.
        self.ended = False
        # True if that was its regular end.
        self.is_complete = False
        self.events: Queue[tuple[int, bool, Any]] = Queue()

    def receive(self, kind: int, ok: bool, body: Any) -> None:
        """Receive an event of the core, on the request's loop."""
        self.ended = kind not in (HTTP_HEAD, HTTP_CHUNK)
        self.is_complete = self.ended and ok
        self.events.put_nowait((kind, ok, body))


def _disconnect(receive: Receive) -> None:
    """Disconnect the client. ASGI has no message for that, and its servers would flush first, so
    this looks for the transport where uvicorn and gunicorn have it, inside what middleware has
    wrapped around their function.
    """
    functions: list[Any] = [receive]
    for function in functions:
        request = getattr(function, "__self__", None)
        transport = getattr(getattr(request, "protocol", request), "transport", None)
        if callable(abort := getattr(transport, "abort", None)):
            abort()
            return
        if len(functions) < _MAX_WRAPPERS:
            functions += _wrapped_by(function)


def _wrapped_by(receive: Any) -> Generator[object]:
    names = getattr(getattr(receive, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(receive, "__closure__", None) or (), strict=False):
        if "receive" in name:
            with contextlib.suppress(ValueError):  # of a variable that is not assigned yet
                yield cell.cell_contents
    # Starlette keeps the function that a `Request` wraps.
    if inner := getattr(getattr(receive, "__self__", None), "_receive", None):
        yield inner


def _for_version(send: Send, scope: MutableMapping[str, Any]) -> Send:
    """Return `send` without the header that HTTP/2 and later forbid."""
    if scope.get("http_version", "1.1").startswith("1"):
        return send

    async def send_without(message: Message) -> None:
        if "headers" in message:
            message["headers"] = [pair for pair in message["headers"] if pair[0] != b"connection"]
        await send(message)

    return send_without


async def _feed(port: Port, ticket: int, receive: Receive) -> None:
    """Pass the request body to the core, then wait until the client disconnects."""
    wanted = True
    while True:
        try:
            message: Message = await receive()
        except Exception:  # noqa: BLE001 - frameworks raise their own errors for a client that has disconnected
            message = {"type": "http.disconnect"}
        if message["type"] == "http.disconnect":
            port.cancel(ticket, _DISCONNECTED_REASON)
            return
        if wanted:
            more: bool = message.get("more_body", False)
            wanted = port.native.http_body(ticket, bytes(message.get("body", b"")), not more) and more


async def _respond(port: Port, ticket: int, exchange: Exchange, send: Send) -> None:
    kind, _, body = await exchange.events.get()
    if kind != HTTP_HEAD:
        # Middleware expects a response, even if nobody reads it.
        await _send_whole(send, 499 if body["kind"] == "cancelled" else 503, b"The MCP server was closed")
        return
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in body["headers"]]
    await send({"type": "http.response.start", "status": body["status"], "headers": headers})
    while True:
        kind, ok, body = await exchange.events.get()
        if kind == HTTP_CHUNK:
            # True if only a successful end remains.
            last = exchange.is_complete and exchange.events.qsize() == 1
            await send({"type": "http.response.body", "body": body, "more_body": not last})
            if last:
                return
            port.native.http_credit(ticket, len(body))
        elif ok or not any(name == b"content-length" for name, _ in headers):
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        elif body["kind"] == "cancelled":
            return
        else:
            # The web server drops the connection, so that the client notices the truncation.
            raise ClosedError(body["message"])


async def _send_whole(send: Send, status: int, text: bytes) -> None:
    headers = {
        b"content-type": b"text/plain; charset=utf-8",
        b"content-length": b"%d" % len(text),
        b"connection": b"close",
    }
    await send({"type": "http.response.start", "status": status, "headers": [*headers.items()]})
    await send({"type": "http.response.body", "body": text, "more_body": False})


def _head(scope: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return the head of a request in the core's form. Its path is relative to the mount."""
    from urllib.parse import quote

    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    if root and path.startswith(root) and path[len(root) : len(root) + 1] in ("", "/"):
        path = path[len(root) :]
    client = scope.get("client")
    return {
        **({"remoteAddress": client[0]} if client else {}),
        "method": scope["method"],
        # Both paths are decoded, unlike `raw_path`.
        "path": quote(path, "/:@!$&'()*+,;=") or "/",
        "query": scope.get("query_string", b"").decode("latin-1"),
        "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
    }
