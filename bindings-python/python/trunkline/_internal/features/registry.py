"""The registry of a server, and the lifetime of its port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, contextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .._generated.methods import CLOSE, OPEN
from ..errors import InvalidArgumentError, TrunklineError
from ..forked_locks import free_in_child
from ..model.base import present
from ..port.lifecycle import run_on
from ..port.lifespan import Lifespan
from ..port.port import Port
from ..port.scope import telemetry_of
from ..signature.dependencies import Dependency, Depends, key_of
from ..signature.parameters import Parameters, Planner, name_of
from .function import FunctionHandler, completer, visibility

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from ..auth import Auth
    from ..context._async.context import Context
    from ..context._sync.context import SyncContext
    from .handler import Handler

    # Called with a handler's exception and the context of its call.
    ErrorHook = Callable[[BaseException, Context | SyncContext], object]
    # A user of the port: the loop of a listener or client, or None for a blocking client; and the
    # mounted servers, which each user uses too.
    User = tuple[AbstractEventLoop | None, list[tuple["Registry", Port]]]
    # Makes the handler for a function and options.
    Make = Callable[[Callable[..., Any], Mapping[str, Any]], FunctionHandler]

E = TypeVar("E", bound="ErrorHook")
# A function that a decorator returns unchanged.
F = TypeVar("F", bound=Callable[..., Any])
EnterLifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]
"""A function of the server that returns an async context manager. It is entered before the first
call and exited after the last; its value is `ctx.lifespan`.
"""
# Kind and key of a registered feature.
Key: TypeAlias = tuple[str, Hashable]


class Registry:
    """The base of the classes that add one kind of feature to a server."""

    def __init__(
        self,
        json: dict[str, Any],
        max_threads: int | None,
        lifespan: EnterLifespan | None,
        dependencies: Sequence[Depends],
        store: Mapping[str, Any],
    ) -> None:
        # The registration message of the server.
        self._json = json
        if max_threads is not None and max_threads < 1:
            raise InvalidArgumentError(f"max_threads must be 1 or more, not {max_threads!r}")
        self._max_threads = max_threads
        self._enter_lifespan = None if lifespan is None else _checked_lifespan(lifespan)
        for mark in dependencies:
            if not isinstance(mark, Depends):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidArgumentError(f"dependencies must be Depends(function), not {mark!r}")
        self._dependencies = dependencies
        # The functions of a custom store.
        self._store = store
        self._overrides: dict[Hashable, Callable[[bool], Dependency]] = {}
        # In order of registration, which is the order of lists, middleware and template matching.
        self._things: dict[Key, Handler] = {}
        self._lock = threading.RLock()
        free_in_child(self, "_lock")
        self._port: Port | None = None
        self._handle = 0
        self._users: list[User] = []
        self._error_hooks: list[ErrorHook] = []
        self._bind()

    def on_error(self, function: E, /) -> E:
        """Register the decorated function, called with `(error, ctx)`, for exceptions of handlers,
        and return it unchanged.

        It is called after the exception was logged, and only for exceptions that the caller doesn't
        see: not for `ToolError` and `ProtocolError`, which are replies. A `def` function runs where
        the handler ran, so it must not block. An `async def` function runs on the event loop,
        possibly after the caller got the reply: it can read `ctx`, but can't send requests to the
        client. Its own exceptions are logged.

        Raises:
            InvalidArgumentError: If it is not a function.
        """
        if not callable(function):
            raise InvalidArgumentError(f"on_error takes a function of (error, ctx), not {function!r}")
        self._error_hooks.append(function)
        return function

    @contextmanager
    def override(self, dependency: Callable[..., Any], replacement: Callable[..., Any]) -> Generator[None]:
        """Replace a dependency while the block runs, for tests: `with server.override(get_db,
        lambda: FakeDb()): ...`.

        Args:
            dependency: The function of a `Depends`.
            replacement: Called in its place. Any function that a `Depends` accepts; it may have
                dependencies of its own.

        Raises:
            InvalidArgumentError: If one of them is not a function.
        """
        for function in (dependency, replacement):
            if not callable(function):
                raise InvalidArgumentError(f"override() takes two functions, not {function!r}")
        key, where = key_of(dependency), f"the override of {name_of(dependency)}"

        @cache
        def planned(is_async: bool) -> Dependency:
            return Planner(is_async, (where,), None).plan(Depends(replacement))

        before = self._overrides.get(key)
        self._overrides[key] = planned
        try:
            yield
        finally:
            if before is None:
                del self._overrides[key]
            else:
                self._overrides[key] = before

    def _add(self, handler: Handler) -> Key:
        """Register a feature, and notify connected clients."""
        key = (handler.kind, handler.key)
        with self._lock:
            port = self._bind()
            old = self._things.get(key)
            if old is not None and handler.kind in ("middleware", "provider"):  # they have no names in the core
                raise InvalidArgumentError(f"the server already has this {handler.kind}")
            self._register(port, handler)
            self._things[key] = handler
            if old is not None and old.handle:
                port.unregister(old.handle)  # the core has replaced it
        return key

    def _added(self, make: Make, function: Callable[..., Any], options: Mapping[str, Any]) -> Registration:
        """Register a feature that can be changed."""
        return Registration(self, self._add(self._made(make, function, options)))

    def _made(self, make: Make, function: Callable[..., Any], options: Mapping[str, Any]) -> FunctionHandler:
        visible, complete = options.get("visible"), options.get("complete")
        beside = {name: option for name, option in options.items() if name not in ("visible", "complete")}
        handler = make(function, beside)
        handler.origin = make, function, options
        handler.require(self._dependencies)
        if visible is not None:
            handler.visible = visibility(visible)
        if complete:
            handler.completers = {name: completer("completer", name, suggest) for name, suggest in complete.items()}
        return handler

    def _found(self, kind: str, key: str) -> Registration:
        if (kind, key) not in self._things:
            raise InvalidArgumentError(f"the server has no {kind} {key!r}")
        return Registration(self, (kind, key))

    def _change(self, key: Key, function: Callable[..., Any] | None, options: Mapping[str, Any]) -> Key:
        """Replace a feature by one made with other options, at the same position."""
        with self._lock:
            port = self._bind()
            old = self._thing(key)
            make, known, given = old.origin
            handler = self._made(make, function or known, {**given, **options})
            handler.is_enabled = old.is_enabled
            changed = (handler.kind, handler.key)
            self._register(port, handler, old.handle)
            self._things = {changed if name == key else name: thing for name, thing in self._things.items()}
            self._things[changed] = handler
        return changed

    def _set_enabled(self, key: Key, *, is_enabled: bool) -> None:
        with self._lock:
            port = self._bind()
            handler = self._thing(key)
            handler.is_enabled = is_enabled
            port.native.notify(handler.handle, {"enabled": is_enabled})

    def _thing(self, key: Key) -> Handler:
        if (handler := self._things.get(key)) is None:
            raise InvalidArgumentError(f"the server has no {key[0]} {key[1]!r}: it was removed")
        return handler

    def _remove(self, kind: str, key: Hashable, what: str) -> None:
        """Remove a feature, and notify connected clients. `what` names it in the error if there is
        none.
        """
        with self._lock:
            port = self._bind()
            if (handler := self._things.pop((kind, key), None)) is None:
                raise InvalidArgumentError(f"the server has no {what}")
            if handler.handle:  # otherwise it was a completion of the removed feature
                port.unregister(handler.handle)

    def _transport(self, port: Port, transport: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
        """Return a transport in the core's form, and the handle of its token verifier, if any,
        which `_forget` releases.
        """
        auth: Auth | None = transport.get("auth")
        if auth is None:
            return transport, None
        verifier = None
        if auth.verifier is not None:
            from .verifier import VerifierHandler

            handler = VerifierHandler(auth.verifier)
            verifier = port.register(handler.kind, {"server": self._handle, **handler.registration}, handler)
        return {**transport, "auth": auth.to_json(verifier)}, verifier

    def _forget(self, port: Port, verifier: int | None) -> None:
        """Release the verifier of a closed listener."""
        if verifier is not None and not port.is_inherited:
            with suppress(TrunklineError):  # released with the port
                port.unregister(verifier)

    def _tell(self, notice: dict[str, Any]) -> None:
        """Notify the clients of the server."""
        with self._lock:
            port, handle = self._bind(), self._handle
        port.native.notify(handle, notice)

    def _acquire(self, loop: AbstractEventLoop | None) -> tuple[Port, int]:
        """Return the port and the server's handle, for one more user. If no other loop handles the
        events, `loop` does; blocking clients have no loop and get one in the background.
        """
        with self._lock:
            port = self._bind()
            if loop is not None:
                port.attach(loop)
            else:
                self._keep_served(port)
            self._users = [*self._open_users(), (loop, self._borrow(port, loop))]
            if port.telemetry is None:
                port.telemetry = telemetry_of(self._json.get("options", {}).get("telemetry"))
                if port.telemetry is not None:
                    port.native.notify(0, {"telemetry": True})
                    port.telemetry.measure_load(port.native)
            return port, self._handle

    def _mountable(self) -> dict[str, int]:
        """Return the location of this server for a server that mounts it."""
        with self._lock:
            port = self._bind()
            return {"mounted": self._handle, "port": port.native.describe(0)["number"]}

    def _borrow(self, port: Port, loop: AbstractEventLoop | None) -> list[tuple[Registry, Port]]:
        """Acquire the mounted servers for one more user. A server whose port has ended gets a new
        port, and is registered again.
        """
        used: list[tuple[Registry, Port]] = []
        for handler in [*self._things.values()]:
            mounted: Registry | None = getattr(handler, "mounted", None)
            if mounted is not None:
                used.append((mounted, mounted._acquire(loop)[0]))
                if handler.prepare():
                    port.unregister(handler.handle)
                    self._register(port, handler)
        return used

    def _lend(self, mounted: Registry) -> None:
        """Acquire a server that was mounted while this one is in use."""
        with self._lock:
            for loop, used in self._users:
                used.append((mounted, mounted._acquire(loop)[0]))

    async def _release(self, port: Port, loop: AbstractEventLoop, deadline: float) -> None:
        """Undo one `_acquire` with that loop. The last one ends everything that was started."""
        used, is_last = self._leave(port, loop)
        async with AsyncExitStack() as mounted:  # releases all of them, even if a lifespan fails
            for server, its_port in used:
                mounted.push_async_callback(server._release, its_port, loop, deadline)
            if is_last:
                if (serving := port.serving_loop) is not None:
                    await run_on(serving, port.stop(deadline))
                else:
                    port.end_now()
                port.end_background()
                if serving is not None:
                    port.raise_failure()

    def _release_blocking(self, port: Port, deadline: float) -> None:
        """Undo one `_acquire` of a blocking client."""
        used, is_last = self._leave(port, None)
        with ExitStack() as mounted:
            for server, its_port in used:
                mounted.callback(server._release_blocking, its_port, deadline)
            if is_last:
                mounted.callback(port.end_background)
                if port.background is not None and port.background.loop is port.serving_loop:
                    from asyncio import run_coroutine_threadsafe

                    run_coroutine_threadsafe(port.stop(deadline), port.background.loop).result()
                    port.raise_failure()
                else:
                    port.end_now()

    def _leave(self, port: Port, loop: AbstractEventLoop | None) -> tuple[list[tuple[Registry, Port]], bool]:
        """Remove a user. Return the mounted servers that it used, and whether it was the last."""
        with self._lock:
            if port is not self._port or port.is_inherited:
                return [], False
            nobody: User = (loop, [])
            leaving = next((user for user in self._users if user[0] is loop), nobody)
            self._users = [user for user in self._open_users() if user is not leaving]
            if not self._users:
                self._port = None
            elif loop is not None and loop is port.loop and all(user is not loop for user, _ in self._users):
                # This loop may end now, but the other users continue.
                port.move(port.background_loop())
            return leaving[1], self._port is None

    def _open_users(self) -> list[User]:
        """Return the users whose loop is not closed."""
        return [user for user in self._users if user[0] is None or not user[0].is_closed()]

    def _keep_served(self, port: Port) -> None:
        """Make sure that some loop handles the events, for a blocking client."""
        with self._lock:
            if port.serving_loop is None and not port.is_inherited:
                port.attach(port.background_loop())

    def _serving_loop(self) -> AbstractEventLoop | None:
        return None if self._port is None else self._port.serving_loop

    def _bind(self) -> Port:
        """Return the port of this process, creating it on first use, after the last user left, and
        after a fork.
        """
        with self._lock:
            if self._port is None or self._port.is_inherited:
                port = Port(self._max_threads)
                port.error_hooks, port.overrides = self._error_hooks, self._overrides
                try:
                    self._handle = port.native.register("server", self._json)
                except TrunklineError:
                    port.dispose()
                    raise
                if self._store:
                    port.hosts[self._handle] = self._store
                if self._enter_lifespan is not None:
                    port.lifespan = Lifespan(partial(self._enter_lifespan, self))
                    handle = port.native.register("lifespan", {"server": self._handle, "lane": "queue"})
                    port.hosts[handle] = dict.fromkeys((OPEN, CLOSE), port.lifespan)
                self._users.clear()
                for handler in self._things.values():
                    try:
                        self._register(port, handler)
                    except InvalidArgumentError:
                        if handler.kind != "completion":
                            raise
                        handler.handle = 0  # the completed feature was removed
                    if not handler.is_enabled:
                        port.native.notify(handler.handle, {"enabled": False})
                self._port = port
            return self._port

    def _register(self, port: Port, handler: Handler, replaces: int | None = None) -> None:
        handler.prepare()
        json = present(server=self._handle, replaces=replaces, **handler.registration)
        hooks: list[int] = []

        def hooked(hook: Handler) -> int:
            hooks.append(port.register(hook.kind, {"server": self._handle, **hook.registration}, hook))
            return hooks[-1]

        try:
            if handler.visible is not None:
                json["visible"] = hooked(handler.visible)
            if handler.completers:
                json["complete"] = {name: hooked(completer) for name, completer in handler.completers.items()}
            with port._lock:  # no call may look for the functions in between
                handler.handle = port.register(handler.kind, json, handler)
                port.hosts[handler.handle] = handler.functions
        finally:
            for hook in hooks:
                port.native.unregister(hook)  # the feature keeps it alive


def _checked_lifespan(function: EnterLifespan) -> EnterLifespan:
    from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

    if not callable(function):
        raise InvalidArgumentError(f"lifespan must be a function that takes the server, not {function!r}")
    if any(is_made(function) for is_made in (isasyncgenfunction, iscoroutinefunction, isgeneratorfunction)):
        raise InvalidArgumentError(
            f"lifespan: {name_of(function)} does not return an async context manager: decorate it with "
            "contextlib.asynccontextmanager and yield exactly once"
        )
    return function


class Removable:
    """A part of a server that can be removed."""

    __slots__ = ("_key", "_registry")

    def __init__(self, registry: Registry, key: Key) -> None:
        self._registry = registry
        self._key = key

    def remove(self) -> None:
        """Remove it, and notify connected clients. Running calls continue.

        Raises:
            InvalidArgumentError: If it was already removed.
        """
        kind, key = self._key
        self._registry._remove(kind, key, f"{kind} {key!r}: it was removed")


class Registration(Removable):
    """A registered tool, resource, resource template or prompt, with methods to change, hide and
    remove it.

    Connected clients are notified. Running calls are unaffected.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Registration({self._key[0]}={self._key[1]!r})"

    def update(self, function: Callable[..., Any] | None = None, **options: Any) -> None:
        """Change the given options, and the function if one is given. Other options keep their
        values; None resets an option.

        Raises:
            InvalidArgumentError: If the feature was removed, or for the same reasons as when adding
                it.
            TypeError: If there is no such option.
        """
        self._key = self._registry._change(self._key, function, options)

    def enable(self) -> None:
        """Show the feature again.

        Raises:
            InvalidArgumentError: If the feature was removed.
        """
        self._registry._set_enabled(self._key, is_enabled=True)

    def disable(self) -> None:
        """Hide the feature: it is not listed, and calls of it fail as if it did not exist.

        Raises:
            InvalidArgumentError: If the feature was removed.
        """
        self._registry._set_enabled(self._key, is_enabled=False)


def decorator(kind: str, add: Callable[[Callable[..., Any]], object], function: Any = None) -> Any:
    """Return a decorator that adds a function and returns it unchanged, or decorate `function`."""

    def decorate(decorated: Callable[..., Any]) -> Callable[..., Any]:
        add(decorated)
        return decorated

    if isinstance(function, str):
        raise InvalidArgumentError(f"pass the name of a {kind} by keyword: @server.{kind}(name={function!r})")
    return decorate if function is None else decorate(function)


def described(
    parameters: Parameters, options: dict[str, Any], registration: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the descriptor of a feature with these options, and those of its registration. Name
    and description default to those of the function.
    """
    beside = {name: options.pop(name) for name in registration if name in options}
    name = options.pop("name", getattr(parameters.function, "__name__", None))
    if name is None or name == "<lambda>":
        raise InvalidArgumentError(f"{parameters.function!r} has no name: pass name=")
    options.setdefault("description", parameters.description or None)
    given = {option: value for option, value in options.items() if option == "_meta" or value not in (None, {})}
    return {"name": name, **given}, beside


def running_loop() -> object | None:
    """Return the running loop of this thread without importing asyncio."""
    import sys

    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None else asyncio._get_running_loop()
