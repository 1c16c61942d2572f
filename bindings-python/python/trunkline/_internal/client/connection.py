"""The part that both clients share."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, cast

import trunkline

from .. import _native
from .._generated import methods
from .._generated.facts import ConnectionDescription
from .._generated.models import Root
from .._generated.option_names import CHILD_OPTIONS, CLIENT_OPTIONS, ENDPOINT_OPTIONS, OAUTH
from ..errors import ClosedError, InvalidArgumentError, TrunklineError
from ..failures import failure_of
from ..features.handler import Handler
from ..model.base import present, shown_url
from ..options import encoded, snake_case
from ..port.scope import CallScope, telemetry_of
from ..requests import OnProgress, Place, read_answer
from ..schema.jsonable import jsonable
from ._generated.server_requests import HostHandlers
from ._generated.transport import FUNCTIONS, Transport
from .group_target import ServersOf
from .server_requests import ServerRequestHandler
from .transport import transport_handlers

if TYPE_CHECKING:
    from ..port.events import Receive
    from ..port.port import Port
    from ._generated.server_requests import Read
    from .connect_options import OnNotification

Target: TypeAlias = Union[
    str, os.PathLike[str], Sequence[str | os.PathLike[str]], Mapping[str, Any], "trunkline.Server", Transport
]
"""The target of a connection: the URL of an endpoint, the command of a server to start, a `Server`
in this process, an entry of `mcpServers`, or a configuration with one server or the path of its
file.
"""

_UNCONNECTED: Final = "the client is not connected: use it in a `with` block, or call connect() first"
_LISTS_CHANGED: Final = (methods.TOOLS_CHANGED, methods.RESOURCES_CHANGED, methods.PROMPTS_CHANGED)


class Connected(HostHandlers, ConnectionDescription):
    """A client: its options, its handlers, and what is known about its server."""

    _port: Any = None
    _handle = 0

    def __init__(self, target: Target, options: trunkline.ConnectOptions, *, blocking: bool) -> None:
        given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        on_notification, on_tools_changed = given.pop("on_notification", None), given.pop("on_tools_changed", None)
        name, version, auth = given.pop("name", None), given.pop("version", None), given.pop("auth", None)
        self._raises = bool(given.pop("raise_exceptions", False))
        for option in given:
            if option.startswith("on_") and hasattr(HostHandlers, option):
                raise TypeError(
                    f"{option} is not an option: decorate the function with @client.{option}, or call "
                    f"client.{option}(function), before you connect"
                )
        if isinstance(auth, str):
            auth = {"token": auth}
        self._auth = {} if auth is None else {"auth": encoded(OAUTH, auth)}
        endpoint = {name: given.pop(name) for name in ENDPOINT_OPTIONS if name in given}
        child = {name: given.pop(name) for name in CHILD_OPTIONS if name in given}
        self._target = target
        # The target, if it is in this process.
        self._server: trunkline.Server | None = None
        self._blocking = blocking
        # For requests of the server, and for calls of a custom transport.
        self._handlers: dict[str, Handler] = {}
        self._transport = self._describe(target, encoded(ENDPOINT_OPTIONS, endpoint), encoded(CHILD_OPTIONS, child))
        if self._raises and self._server is None:
            raise InvalidArgumentError(
                "raise_exceptions needs a Server in this process: exceptions cannot cross process boundaries"
            )
        if (name is None) != (version is None):
            raise InvalidArgumentError("a client needs both a name and a version, or neither")
        self._settings = present(
            info={"name": name or "trunkline-python", "version": version or _native.VERSION},
            revision=given.pop("revision", None),
            options=encoded(
                CLIENT_OPTIONS,
                jsonable(given) if "roots" in given else given,
                others=trunkline.ConnectOptions.__annotations__,
            ),
        )
        self._on_notification: OnNotification | None = on_notification
        # By method: the callback, and the reader of its params.
        self._listeners: dict[str, tuple[Callable[..., Any], Read | None]] = {}
        if on_tools_changed is not None:
            self._listeners[methods.TOOLS_CHANGED] = (on_tools_changed, None)
        # Facts about the server once the connection is open.
        self._info: dict[str, Any] | None = None
        # By ticket.
        self._progress: dict[int, OnProgress] = {}

    @property
    def is_connected(self) -> bool:
        """True from `connect` until the client is closed or loses a server that it cannot reach
        again. You can then call `connect` again.
        """
        return self._info is not None and self._described() is not None

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification without a dedicated method to the server."""
        self._note({"method": method, "params": params or {}})

    def set_roots(self, roots: Sequence[Root | Mapping[str, Any]]) -> None:
        """Change the roots. Servers of older revisions are notified; newer ones request the roots
        when needed.

        Raises:
            InvalidArgumentError: If a URI does not begin with `file://`, or the client connected
                without roots to a server of an older revision.

        .. deprecated:: 2026-07-28
            Use tool arguments, resource URIs or configuration instead.
        """
        self._note({"roots": roots})

    def __repr__(self) -> str:
        revision = f", revision={self._info['revision']!r}" if self._info else ""
        target: Any = self._target
        if isinstance(target, Mapping):  # its entries may contain secrets
            target = ServersOf(cast("Mapping[str, Any]", target))
        shown = shown_url(target) if isinstance(target, str) else repr(target)
        if isinstance(target, Sequence) and not isinstance(target, str):  # so may the arguments of a command
            command = cast("Sequence[Any]", target)
            shown = f"[{', '.join([*map(repr, command[:1]), *(['...'] if len(command) > 1 else [])])}]"
        return f"{type(self).__name__}({shown}{revision})"

    @contextmanager
    def _opening(self, port: Port, place: Mapping[str, int]) -> Generator[dict[str, Any]]:
        """Yield the message that opens the connection, whose span is dropped if that fails at once.
        `place` is that of a server in this process.
        """
        options = self._settings["options"]
        if (telemetry := telemetry_of(options.get("telemetry"))) is not None:
            port.telemetry = telemetry = port.telemetry or telemetry
        transport = {**self._transport, **place}
        if isinstance(self._target, ServersOf):
            transport = {**transport, "servers": self._target.json()}
        options = {**options, "telemetry": telemetry is not None}
        json: dict[str, Any] = {
            # Newer servers only send notifications that the client requests when it connects.
            "client": {**self._settings, "listen": self._listens, "options": options},
            "transport": transport,
            "handlers": self._lanes(),
            **self._auth,
            **({} if telemetry is None else telemetry.starting(port.native, 0, {"method": "open"})),
        }
        try:
            yield json
        except BaseException:
            if telemetry is not None:
                telemetry.forget(json)
            raise

    @property
    def _listens(self) -> bool:
        """True if the client wants list changes."""
        return self._on_notification is not None or any(method in _LISTS_CHANGED for method in self._listeners)

    def _lanes(self) -> dict[str, str]:
        """The server requests that have handlers, each with the handler's lane. A blocking client
        only has pool threads for its transport and for a server in this process.
        """
        pooled = {name for name, handler in self._handlers.items() if handler.in_thread}
        if self._blocking and self._server is None:
            pooled &= FUNCTIONS.keys()
        return {name: "pool" if name in pooled else "queue" for name in self._handlers}

    def _scope(self) -> CallScope | None:
        """Return the scope of the calls that a request causes, if the server is in this process."""
        return None if self._server is None else CallScope()

    def _raise_exception(self, scope: CallScope | None) -> None:
        """Raise the handler's exception, if the client wants it and the caller doesn't see it
        otherwise.
        """
        error = scope.error if self._raises and scope is not None else None
        if error is not None and failure_of(error)["kind"] == "internal":
            raise error

    def _fact(self, name: str) -> Any:
        if (info := self._info) is None:
            raise ClosedError(_UNCONNECTED)
        if name == "pid":  # it changes when the server is restarted
            return (self._described() or {}).get(name)
        if "serverInfo" not in info:
            info.update(self._described() or {})
        return info.get(name)

    def _described(self) -> dict[str, Any] | None:
        """Return what is known about the server now; None if the connection has ended."""
        port = self._port
        try:
            return None if port is None else port.native.describe(self._handle)
        except TrunklineError:
            return None

    def _shared(self) -> dict[str, int]:
        """Return the connection for a group or proxy that shares it."""
        self._fact("revision")  # raises unless the connection is open
        return {"connection": self._handle, "port": self._port.native.describe(0)["number"]}

    def _receiver(self, run: Callable[[Callable[..., Any], tuple[Any, ...]], None]) -> Receive:
        """Return the receiver of the connection's notifications, which doesn't keep the client
        alive. `run` calls a callback of the user.
        """
        listeners, progress, on_notification = self._listeners, self._progress, self._on_notification

        def receive(method: str, params: Any, ticket: int) -> None:
            if ticket and method == methods.PROGRESS:
                if (on_progress := progress.get(ticket)) is not None:
                    run(on_progress, (params.get("progress", 0), params.get("total"), params.get("message")))
                return
            if (listener := listeners.get(method)) is not None:
                function, read = listener
                run(function, () if read is None else (read_answer(method, read, params),))
            if on_notification is not None:
                run(on_notification, (method, params))

        return receive

    def _reached(self, stream: Place | None) -> Place:
        """Return the place of the connection, or of one of its streams.

        Raises:
            ClosedError: If it has ended. A connection that is opened again has none of the streams.
        """
        port = self._connected_port()
        if stream is not None and stream[0] is not port:
            raise ClosedError("the stream has ended with its connection")
        return stream or (port, self._handle)

    def _cancel(self, stream: Place, unread: set[int]) -> None:
        port, ticket = stream
        if port is not None:
            port.cancel(ticket, "")
            for one in unread:
                port._replies.pop(one, None)

    def _note(self, json: dict[str, Any]) -> None:
        port = self._connected_port()
        if port.telemetry is not None and "method" in json:
            sent = {"method": json["method"], "params": json.get("params"), "notification": True}
            json.update(port.telemetry.starting(port.native, self._handle, sent))
        port.notify(self._handle, json)

    def _connected_port(self) -> Any:
        if self._port is None:
            raise ClosedError(_UNCONNECTED)
        return self._port

    def _answer(self, operation: str, function: Callable[..., Any], read: Read) -> None:
        handler = ServerRequestHandler(operation, function, read)
        if self._blocking and not handler.in_thread:
            raise InvalidArgumentError("handlers of a SyncClient must be ordinary functions, not async ones")
        before = {**self._handlers}
        self._handlers[operation] = handler
        if self._info is not None:
            try:
                self._note({"handlers": self._lanes()})
            except BaseException:
                del self._handlers[operation]
                self._handlers.update(before)
                raise

    def _listen(self, method: str, function: Callable[..., Any], read: Read | None) -> None:
        if self._info is not None and method in _LISTS_CHANGED and not self._listens:
            raise InvalidArgumentError(
                "register handlers for list changes before connecting: newer servers notify only clients that "
                "subscribed when they connected"
            )
        self._listeners[method] = (function, read)

    def _describe(self, target: Target, http: dict[str, Any], child: dict[str, Any]) -> dict[str, Any]:
        from ..server.server import Server

        if isinstance(target, Server):
            self._server = target
            return _only({"type": "memory"}, {}, http, child)
        if isinstance(target, Transport):
            self._handlers = transport_handlers(target, blocking=self._blocking)
            return _only({"type": "channel"}, {}, http, child)
        if isinstance(target, ServersOf):
            return {"type": "group", "defaults": {**http, **child}}
        if isinstance(target, (str, os.PathLike)) and os.fspath(target).endswith(".json"):
            return {"type": "config", "server": os.fspath(target), "defaults": {**http, **child}}
        if isinstance(target, Mapping):
            return {"type": "config", "server": dict(target), "defaults": {**http, **child}}
        if isinstance(target, str) and (
            target.startswith("unix:") or target.lower().startswith(("http://", "https://"))
        ):
            return _only({"type": "http", "url": target}, http, child)
        if isinstance(target, (str, os.PathLike)):
            command = target.split() if isinstance(target, str) else [os.fspath(target)]
            raise InvalidArgumentError(
                f"{target!r} is neither an http URL nor a .json file; "
                f"to start a server, pass its command as a list: {command}"
            )
        parts = cast("Sequence[Any]", target) if isinstance(target, Sequence) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
        if not parts or not all(isinstance(part, (str, os.PathLike)) for part in parts):
            raise InvalidArgumentError(
                "a client takes a URL, the command of a server as a list of strings, a Server, a transport or a "
                f"configuration, not {target!r}"
            )
        return _only({"type": "child", "command": [os.fspath(part) for part in target]}, child, http)


def _only(transport: dict[str, Any], allowed: dict[str, Any], *others: dict[str, Any]) -> dict[str, Any]:
    for other in filter(None, others):
        names = ", ".join(snake_case(name) for name in other)
        raise InvalidArgumentError(f"{names}: not supported for this kind of target")
    return {**transport, **allowed}
