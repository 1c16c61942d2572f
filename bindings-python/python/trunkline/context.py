"""What a handler knows about its call, and how it reports progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from . import _native
from .connection import request_json
from .errors import RequestCancelled, from_object, reraise

if TYPE_CHECKING:
    from .port import Port

# Every request has a timeout in the core: this is only how long one look lasts.
_WAIT_MS: Final = 60_000


class _Call:
    """The facts of a call; they cross from the core only when someone asks for them."""

    __slots__ = ("_facts", "_port", "_ticket")

    def __init__(self, port: Port, ticket: int) -> None:
        self._port = port
        self._ticket = ticket
        self._facts: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of the tool, as it was called."""
        return self._fact("name")

    @property
    def revision(self) -> str:
        """The protocol revision that the caller speaks."""
        return self._fact("revision")

    @property
    def client_info(self) -> Mapping[str, Any] | None:
        """Name, version and the like of the client, if it told."""
        return self._fact("clientInfo")

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client can do."""
        return self._fact("clientCapabilities") or {}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the call."""
        return self._fact("meta") or {}

    @property
    def wants_progress(self) -> bool:
        """Whether the caller asked for progress; otherwise nothing is sent."""
        return bool(self._fact("progress"))

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        try:
            return self._port.native.cancelled(self._ticket)
        except _native.NativeError as error:
            reraise(error)

    def _fact(self, name: str) -> Any:
        if self._facts is None:
            try:
                self._facts = self._port.native.describe(self._ticket)
            except _native.NativeError as error:
                reraise(error)
        return self._facts.get(name) if self._facts else None

    def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        update: dict[str, Any] = {"progress": progress}
        if total is not None:
            update["total"] = total
        if message is not None:
            update["message"] = message
        try:
            self._port.native.notify(self._ticket, update)
        except _native.NativeError as error:
            reraise(error)


class Context(_Call):
    """The context of an `async def` handler: a parameter annotated with it receives it."""

    __slots__ = ()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the caller how far the work is. Values must rise; nothing is sent if the caller did not ask."""
        self._progress(progress, total, message)

    async def ping(self, *, timeout: float | None = None) -> None:
        """Returns when the client has answered. Only revisions up to 2025-11-25 let a server ask.

        Args:
            timeout: seconds for the answer (default 60).

        Raises:
            ProtocolError: on other revisions, with the code -32601.
            RequestTimeout: if no answer came in time.
            ConnectionClosed: if the client is gone, or the call is answered already.
        """
        await self._port.answer(self._port.request(self._ticket, request_json("ping", None, timeout)))


class SyncContext(_Call):
    """The context of a `def` handler, which runs on a thread of its own."""

    __slots__ = ()

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the caller how far the work is. Values must rise; nothing is sent if the caller did not ask."""
        self._progress(progress, total, message)

    def ping(self, *, timeout: float | None = None) -> None:
        """Returns when the client has answered. Only revisions up to 2025-11-25 let a server ask.

        Args:
            timeout: seconds for the answer (default 60).

        Raises:
            ProtocolError: on other revisions, with the code -32601.
            RequestTimeout: if no answer came in time.
            ConnectionClosed: if the client is gone, or the call is answered already.
        """
        try:
            ticket = self._port.native.request(self._ticket, request_json("ping", None, timeout, wait=True))
            while (reply := self._port.native.wait(ticket, _WAIT_MS)) is None:
                pass
        except _native.NativeError as error:
            reraise(error)
        ok, body = reply
        if not ok:
            raise from_object(body)

    def raise_if_cancelled(self) -> None:
        """Ends the handler when nobody waits for the result any more.

        Raises:
            RequestCancelled: if so.
        """
        if self.cancelled:
            raise RequestCancelled("the caller cancelled the request")
