"""What a handler knows about its call, and how it reports progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _native
from .errors import RequestCancelled, reraise


class _Call:
    """The facts of a call; they cross from the core only when someone asks for them."""

    __slots__ = ("_facts", "_native", "_ticket")

    def __init__(self, native: _native.Port, ticket: int) -> None:
        self._native = native
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
    def session_id(self) -> str | None:
        """The id of the session, where the transport has sessions."""
        return self._fact("session")

    @property
    def wants_progress(self) -> bool:
        """Whether the caller asked for progress; otherwise nothing is sent."""
        return bool(self._fact("progress"))

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more."""
        try:
            return self._native.cancelled(self._ticket)
        except _native.NativeError as error:
            reraise(error)

    def _fact(self, name: str) -> Any:
        if self._facts is None:
            try:
                self._facts = self._native.describe(self._ticket)
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
            self._native.notify(self._ticket, update)
        except _native.NativeError as error:
            reraise(error)


class Context(_Call):
    """The context of an `async def` handler: a parameter annotated with it receives it."""

    __slots__ = ()

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the caller how far the work is. Values must rise; nothing is sent if the caller did not ask."""
        self._progress(progress, total, message)


class SyncContext(_Call):
    """The context of a `def` handler, which runs on a thread of its own."""

    __slots__ = ()

    def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells the caller how far the work is. Values must rise; nothing is sent if the caller did not ask."""
        self._progress(progress, total, message)

    def raise_if_cancelled(self) -> None:
        """Ends the handler when nobody waits for the result any more.

        Raises:
            RequestCancelled: if so.
        """
        if self.cancelled:
            raise RequestCancelled("the caller cancelled the request")
