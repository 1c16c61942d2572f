"""The facts of a call, and what its handler says without waiting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import reraise
from .requests import request_json
from .schema.jsonable import jsonable

if TYPE_CHECKING:
    from .client_requests import InputRequest
    from .model.types import LogLevel
    from .port.port import Port


class Call:
    """What both contexts share. Facts cross from the core only when someone asks for them."""

    __slots__ = ("_facts", "_port", "_ticket")

    def __init__(self, port: Port, ticket: int) -> None:
        self._port = port
        self._ticket = ticket
        self._facts: dict[str, Any] | None = None

    @property
    def method(self) -> str:
        """The method of the request, such as `tools/call`."""
        return self._fact("method")

    @property
    def name(self) -> str:
        """What is called: the name of the tool or prompt, or the URI of the resource; otherwise the method."""
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
    def auth(self) -> Mapping[str, Any] | None:
        """Who calls, if the caller was verified: an object with at least `subject`."""
        return self._fact("auth")

    @property
    def wants_progress(self) -> bool:
        """Whether the caller asked for progress; otherwise nothing is sent."""
        return bool(self._fact("progress"))

    @property
    def input_responses(self) -> Mapping[str, Any]:
        """The client's answers to the questions of the `InputRequired` that this handler returned before, by key."""
        return self._fact("inputResponses") or {}

    @property
    def state(self) -> Any:
        """The state of the `InputRequired` that this handler returned before."""
        return self._fact("state")

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

    def _notify(self, json: dict[str, Any]) -> None:
        try:
            self._port.native.notify(self._ticket, json)
        except _native.NativeError as error:
            reraise(error)

    def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        update: dict[str, Any] = {"progress": progress}
        if total is not None:
            update["total"] = total
        if message is not None:
            update["message"] = message
        self._notify(update)

    def _log(self, level: LogLevel, data: Any, logger: str | None) -> None:
        said: dict[str, Any] = {"level": level, "data": jsonable(data)}
        self._notify({"log": said if logger is None else {**said, "logger": logger}})

    def _kept(self, name: str) -> tuple[bool, Any]:
        """Whether something was kept under that name, and what."""
        kept: dict[str, Any] = self._fact("once") or {}
        return name in kept, kept.get(name)

    def _keep(self, name: str, value: Any) -> None:
        self._notify({"once": {"name": name, "value": value}})
        if self._facts is not None:
            self._facts.setdefault("once", {})[name] = value

    def _question(self, request: InputRequest[Any], key: str | None, timeout: float | None) -> dict[str, Any]:
        json = request_json(request.method, request.params, timeout)
        return json if key is None else {**json, "key": key}
