"""A server: a name, its tools, and the ways to serve them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from . import _native
from .errors import BlockingCallError, InvalidArgument, reraise
from .listener import Listener
from .options import camel_case, milliseconds
from .port import Port
from .signature import Signature, describe
from .tool import RegisteredTool

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from .asgi import ASGIApp
    from .background import BackgroundLoop
    from .types import Icon, ToolAnnotations

F = TypeVar("F", bound=Callable[..., Any])
Transport: TypeAlias = Literal["stdio", "http"]


class Server:
    """Tools under a name, served on every revision of the protocol at once.

    Making a server and adding tools starts nothing; `run`, `serve` and in-memory clients do. Times are in seconds.

    Args:
        name: what clients see as the server's name.
        version: the version of the server.
        title: the name for people.
        description: what the server is for.
        website_url: where to read more.
        icons: icons for user interfaces.
        instructions: how a model should use the server.
        debug: show what went wrong inside a handler to the caller; otherwise it is only logged.
        page_size: tools per page of a list.
        max_running: calls of one session that run at once.
        max_waiting: calls of one session that wait for their turn.
        max_message_bytes: the largest message.
        max_nesting: the deepest JSON.
        max_sessions: sessions over HTTP.
        session_idle: after so long without a message a session over HTTP ends.
        drain_deadline: how long calls in flight may take when the server stops.
        keep_alive: how often a quiet HTTP stream gets a comment.
        max_threads: threads for `def` handlers (default: processors + 4, at most 32).
    """

    def __init__(
        self,
        name: str,
        *,
        version: str,
        title: str | None = None,
        description: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
        instructions: str | None = None,
        debug: bool | None = None,
        page_size: int | None = None,
        max_running: int | None = None,
        max_waiting: int | None = None,
        max_message_bytes: int | None = None,
        max_nesting: int | None = None,
        max_sessions: int | None = None,
        session_idle: float | None = None,
        drain_deadline: float | None = None,
        keep_alive: float | None = None,
        max_threads: int | None = None,
    ) -> None:
        info = camel_case(
            name=name, version=version, title=title, description=description, website_url=website_url, icons=icons
        )
        options = camel_case(
            debug=debug,
            page_size=page_size,
            max_running=max_running,
            max_waiting=max_waiting,
            max_message_bytes=max_message_bytes,
            max_nesting=max_nesting,
            max_sessions=max_sessions,
            session_idle_ms=milliseconds(session_idle),
            drain_deadline_ms=milliseconds(drain_deadline),
            keep_alive_ms=milliseconds(keep_alive),
        )
        self.name = name
        self.version = version
        self._json = camel_case(info=info, instructions=instructions, options=options)
        self._drain_deadline = 5.0 if drain_deadline is None else drain_deadline
        self._max_threads = max_threads
        self._tools: dict[str, RegisteredTool] = {}
        self._handles: dict[str, int] = {}
        self._lock = threading.RLock()
        self._port: Port | None = None
        self._handle = 0
        # Who uses the port: the loops of listeners and clients, and None for each blocking client.
        self._users: list[AbstractEventLoop | None] = []
        self._background: BackgroundLoop | None = None
        self._bind()

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, **options: Any) -> Any:
        """Registers the decorated function as a tool, and leaves it as it is. Options: see `add_tool`."""

        def decorate(decorated: F) -> F:
            self.add_tool(decorated, **options)
            return decorated

        if isinstance(function, str):
            raise InvalidArgument(f"the name of a tool goes by keyword: @server.tool(name={function!r})")
        return decorate if function is None else decorate(function)

    def add_tool(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        annotations: ToolAnnotations | None = None,
        icons: Sequence[Icon] | None = None,
        meta: Mapping[str, Any] | None = None,
        requires: Mapping[str, Any] | None = None,
    ) -> None:
        """Adds a tool; clients that are connected are told.

        Args:
            function: `async def` runs on the event loop, `def` on a thread of the pool.
            name: the name of the tool (default: the function's).
            title: the name for people.
            description: what the tool does (default: the docstring).
            input_schema: replaces the schema made from the parameters; arguments are then passed as JSON has them.
            output_schema: replaces the schema made from the return annotation.
            annotations: hints for clients.
            icons: icons for user interfaces.
            meta: the `_meta` of the tool.
            requires: client capabilities without which a call is refused, such as `{"sampling": {}}`.

        Raises:
            InvalidArgument: if an annotation has no JSON Schema, a schema is wrong, or the name is taken.
        """
        name = name or getattr(function, "__name__", None)
        if not name or name == "<lambda>":
            raise InvalidArgument(f"{function!r} has no name of its own: pass name=")
        signature = Signature(function, input_schema=input_schema, output_schema=output_schema)
        tool = camel_case(
            name=name,
            title=title,
            description=describe(function) if description is None else description,
            input_schema=signature.input_schema,
            output_schema=signature.returns.schema,
            annotations=annotations,
            icons=icons,
        )
        if meta is not None:
            tool["_meta"] = meta
        registration = camel_case(
            lane="queue" if signature.is_async else "pool",
            tool=tool,
            wrap_output=signature.returns.wrap or None,
            requires=requires,
        )
        registered = RegisteredTool(name, function, signature, registration)
        with self._lock:
            port = self._bind()
            if name in self._tools:
                raise InvalidArgument(f"the server has a tool named {name!r} already")
            self._register(port, registered)
            self._tools[name] = registered

    def remove_tool(self, name: str) -> None:
        """Takes a tool away; clients that are connected are told.

        Raises:
            InvalidArgument: if there is no such tool.
        """
        with self._lock:
            port = self._bind()
            if self._tools.pop(name, None) is None:
                raise InvalidArgument(f"the server has no tool named {name!r}")
            try:
                port.unregister(self._handles.pop(name))
            except _native.NativeError as error:
                reraise(error)

    def run(
        self,
        transport: Transport = "stdio",
        *,
        on_ready: Callable[[Listener], object] | None = None,
        **options: Any,
    ) -> None:
        """Serves until the end: of stdin over stdio, by Ctrl-C or SIGTERM on both transports. Then calls in flight get
        until the drain deadline, and `run` returns.

        Args:
            transport: `"stdio"` or `"http"`.
            on_ready: called with the listener once clients can connect.
            options: see `serve`.
        """
        import asyncio

        from .signals import run_until_signal

        if running_loop() is not None:
            raise BlockingCallError(
                "run() blocks, and an event loop runs in this thread: use `await server.serve(...)`"
            )
        asyncio.run(run_until_signal(self.serve(transport, **options), on_ready))

    def serve(
        self,
        transport: Transport = "stdio",
        *,
        host: str | None = None,
        port: int | None = None,
        path: str | None = None,
        stateless: bool | None = None,
        json: bool | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> Listener:
        """Serves on the running event loop.

        `await server.serve(...)` returns when serving has ended. As a context manager it is ready inside the block and
        stops at its end: `async with server.serve("http", port=0) as listener: print(listener.url)`.

        Args:
            transport: `"stdio"` or `"http"`; the other arguments are for HTTP.
            host: the address to listen on (default 127.0.0.1).
            port: the port to listen on; 0 takes a free one (default 8000).
            path: the path of the endpoint (default /mcp).
            stateless: no sessions for revisions that have them.
            json: answer with one JSON document where no stream is needed.
            allowed_hosts: further names in the Host header that are served.
            allowed_origins: further origins that are served.
        """
        chosen = camel_case(
            host=host,
            port=port,
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
        )
        if transport not in ("stdio", "http"):
            raise InvalidArgument(f'transport must be "stdio" or "http", not {transport!r}')
        if transport == "stdio" and chosen:
            raise InvalidArgument(f"stdio has no {', '.join(chosen)}")
        return Listener(self, {"type": transport, **chosen}, self._drain_deadline)

    def asgi(
        self,
        *,
        path: str | None = None,
        stateless: bool | None = None,
        json: bool | None = None,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
    ) -> ASGIApp:
        """The server as an ASGI application, to be mounted in a web framework or run by an ASGI server as it is.

        Nothing starts before the first request; no lifespan hook is needed.

        Args:
            path: the only path that is served, below the mount and with or without a slash at its end (default: every
                path, for the framework has chosen it already).
            stateless: no sessions for revisions that have them. Needed where several processes share the requests.
            json: answer with one JSON document where no stream is needed.
            allowed_hosts: names in the Host header that are served beside those of this machine; `"*"` allows all.
            allowed_origins: origins whose pages are served beside those of this machine.
        """
        from .asgi import ASGIApp

        chosen = camel_case(
            path=path,
            stateless=stateless,
            json=json,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
        )
        return ASGIApp(self, chosen, self._drain_deadline)

    def __repr__(self) -> str:
        return f"Server({self.name!r}, version={self.version!r}, tools={[*self._tools]!r})"

    def _acquire(self, loop: AbstractEventLoop | None) -> tuple[Port, int]:
        """The port and the handle for one more user. If no other loop handles the events, `loop` does; for a blocking
        client, which has none, a loop in the background.
        """
        with self._lock:
            port = self._bind()
            if loop is not None:
                port.attach(loop)
            else:
                self._keep_served(port)
            self._users.append(loop)
            return port, self._handle

    async def _release(self, port: Port, loop: AbstractEventLoop, deadline: float) -> None:
        """Takes back one `_acquire` with that loop; with the last one everything that was started ends."""
        import asyncio

        is_last, background = self._leave(port, loop)
        if not is_last:
            return
        serving = port.serving_loop
        if serving is asyncio.get_running_loop():
            await port.stop(deadline)
        elif serving is not None:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(port.stop(deadline), serving))
        else:
            port.end_now()
        if background is not None:
            background.stop()

    def _release_blocking(self, port: Port, deadline: float) -> None:
        """The same for a blocking client."""
        is_last, background = self._leave(port, None)
        if not is_last:
            return
        try:
            if background is not None and background.loop is port.serving_loop:
                from asyncio import run_coroutine_threadsafe

                run_coroutine_threadsafe(port.stop(deadline), background.loop).result()
            else:
                port.end_now()
        finally:
            if background is not None:
                background.stop()

    def _leave(self, port: Port, loop: AbstractEventLoop | None) -> tuple[bool, BackgroundLoop | None]:
        """Takes a user away: whether it was the last one, and what then has to be stopped after the port."""
        with self._lock:
            if port is not self._port:
                return False, None
            if loop in self._users:
                self._users.remove(loop)
            # A loop that was closed took its users with it.
            self._users = [user for user in self._users if user is None or not user.is_closed()]
            if self._users:
                if loop is not None and loop is port.loop and loop not in self._users:
                    # It may end now, and the others go on.
                    port.move(self._background_loop())
                return False, None
            self._port = None
            background, self._background = self._background, None
            return True, background

    def _keep_served(self, port: Port) -> None:
        """Makes sure that some loop handles the events, for a blocking client."""
        with self._lock:
            if port.serving_loop is None and port.pid == os.getpid():
                port.attach(self._background_loop())

    def _background_loop(self) -> AbstractEventLoop:
        if self._background is None:
            from .background import BackgroundLoop

            self._background = BackgroundLoop()
        return self._background.loop

    def _serving_loop(self) -> AbstractEventLoop | None:
        return None if self._port is None else self._port.serving_loop

    def _bind(self) -> Port:
        """The port of this process: made when first needed, after the last use ended, and after a fork."""
        with self._lock:
            if self._port is None or self._port.pid != os.getpid():
                port = Port(self._max_threads)
                try:
                    self._handle = port.native.register("server", self._json)
                except _native.NativeError as error:
                    port.dispose()
                    reraise(error)
                self._users.clear()
                self._background = None  # if there was one, its thread is in the parent process
                self._handles.clear()
                for tool in self._tools.values():
                    self._register(port, tool)
                self._port = port
            return self._port

    def _register(self, port: Port, tool: RegisteredTool) -> None:
        try:
            self._handles[tool.name] = port.register({"server": self._handle, **tool.description}, tool)
        except _native.NativeError as error:
            reraise(error)


def running_loop() -> object | None:
    """The loop of this thread, without importing asyncio for it."""
    import sys

    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()
