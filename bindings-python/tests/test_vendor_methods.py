"""Methods that no specification names: a client sends them as they are, and servers answer."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from support import run
from trunkline import (
    Client,
    Context,
    Depends,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    ToolError,
    TrunklineError,
)

REVISIONS = ["2025-06-18", "2025-11-25", "2026-07-28"]
OPENED: dict[str, dict[str, Any]] = {
    "initialize": {"capabilities": {}, "serverInfo": {"name": "vendor", "version": "1"}},
    "server/discover": {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {},
        "ttlMs": 0,
        "cacheScope": "private",
    },
}


class Vendor:
    """The transport to a server with a custom method, which returns its params."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.answers: asyncio.Queue[str] = asyncio.Queue()

    async def connect(self) -> None:
        self.answers = asyncio.Queue()

    async def send(self, message: str) -> None:
        request = json.loads(message)
        if "id" not in request:
            return
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        match request["method"]:
            case "com.acme/echo":
                given = {name: value for name, value in request["params"].items() if name != "_meta"}
                answer["result"] = {"resultType": "complete", "given": given}
            case "initialize":
                answer["result"] = {"protocolVersion": self.revision, **OPENED["initialize"]}
            case "server/discover":
                answer["result"] = OPENED["server/discover"]
            case other:
                answer["error"] = {"code": -32601, "message": f"no {other} here", "data": {"known": ["com.acme/echo"]}}
        self.answers.put_nowait(json.dumps(answer))

    async def receive(self) -> str:
        return await self.answers.get()

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("revision", REVISIONS)
def test_ext_10_a_vendor_method_reaches_its_server(revision: str) -> None:
    async def check() -> None:
        async with Client(Vendor(revision), revision=revision) as client:
            params = {"deep": [1, {"b": None, "a": "\u00e9"}], "text": "x"}
            answer = await client.request("com.acme/echo", params)
            assert answer["given"] == params and [*answer["given"]["deep"][1]] == ["b", "a"]
            with pytest.raises(ProtocolError, match=r"no com\.acme/other here") as caught:
                await client.request("com.acme/other")
            assert (caught.value.code, caught.value.data) == (-32601, {"known": ["com.acme/echo"]})
            assert (await client.request("com.acme/echo", {}))["given"] == {}, "the connection stays open"

    run(check())


@pytest.mark.parametrize("revision", REVISIONS)
def test_ext_03_a_server_refuses_methods_that_it_does_not_know(revision: str) -> None:
    server = Server("plain", version="1")

    async def check() -> None:
        async with Client(server, revision=revision) as client:
            with pytest.raises(ProtocolError) as caught:
                await client.request("com.acme/echo", {"a": 1})
            assert caught.value.code == -32601

    run(check())
    with SyncClient(server, revision=revision) as client:
        with pytest.raises(ProtocolError) as caught:
            client.request("com.acme/echo")
        assert caught.value.code == -32601


def test_a_method_of_another_revision_is_not_sent() -> None:
    with SyncClient(Server("plain", version="1"), revision="2025-11-25") as client:
        with pytest.raises(TrunklineError, match="server/discover"):
            client.request("server/discover")


@dataclass
class Sum:
    sum: int


@pytest.mark.parametrize("revision", REVISIONS)
def test_ext_10_a_request_outside_the_protocol_has_a_handler(revision: str) -> None:
    server = Server("sums", version="1")
    noted: list[tuple[float, str | None]] = []

    @server.request_handler("com.acme/sum")
    async def total(terms: list[int], ctx: Context, times: int = 1) -> Sum:
        await ctx.progress(1, 2)
        assert ctx.client_info is not None
        return Sum(times * sum(terms))

    @server.request_handler("com.acme/blocking")
    def blocking(ctx: SyncContext, **given: Any) -> dict[str, Any]:
        return {"given": given, "revision": ctx.revision}

    @server.middleware("com.acme/sum")
    async def twice(request: Any, proceed: Any, ctx: Context) -> Any:
        result = await proceed()
        return {**result, "twice": 2 * result["sum"]}

    def progress(value: float, total: float | None, message: str | None) -> None:
        noted.append((value, message))

    async def check() -> None:
        async with Client(server, revision=revision) as client:
            result = await client.request("com.acme/sum", {"terms": [1, 20]}, on_progress=progress)
            assert (result["sum"], result["twice"]) == (21, 42) and noted == [(1, None)]
            for wrong in ({"terms": ["x"]}, {}, {"terms": [1], "more": 1}):
                with pytest.raises(ProtocolError, match=r"com\.acme/sum") as caught:
                    await client.request("com.acme/sum", wrong)
                assert caught.value.code == -32602
            answer = await client.request("com.acme/blocking", {"a": {"b": None}})
            assert answer["given"] == {"a": {"b": None}} and answer["revision"] == revision
            server.remove_request_handler("com.acme/blocking")
            with pytest.raises(ProtocolError) as caught:
                await client.request("com.acme/blocking")
            assert caught.value.code == -32601

    run(check())
    with SyncClient(server, revision=revision) as client:
        assert client.request("com.acme/sum", {"terms": [1], "times": 3})["sum"] == 3


def test_a_request_handler_fails_with_a_json_rpc_error(caplog: pytest.LogCaptureFixture) -> None:
    server = Server("broken", version="1", dependencies=[Depends(lambda: None)])

    @server.request_handler("com.acme/told")
    def told() -> None:
        raise ToolError("out of paper")

    @server.request_handler("com.acme/number")
    def number() -> int:
        return 7

    @server.request_handler("com.acme/nothing", timeout=60, scopes=["none.are.verified"])
    def nothing() -> None:
        return None

    @server.request_handler("com.acme/slow", timeout=0.01)
    async def slow() -> None:
        await asyncio.Event().wait()

    with SyncClient(server) as client:
        with pytest.raises(ProtocolError, match="out of paper"):
            client.request("com.acme/told")
        with pytest.raises(ProtocolError, match="Internal error"):
            client.request("com.acme/number")
        assert "a result must be an object, such as {'value': ...}, not int" in caplog.text
        result = client.request("com.acme/nothing")
        assert {name for name in result if name not in ("_meta", "resultType")} == set()
        with pytest.raises(ProtocolError, match="timed out"):
            client.request("com.acme/slow")


def test_names_of_the_protocol_are_refused() -> None:
    server = Server("sums", version="1")

    def nothing() -> None:
        return None

    for method, says in [
        ("tools/call", "is a method of the protocol"),
        ("tools/sum", 'the prefix "tools" is reserved by the protocol'),
        ("sum", "needs a prefix"),
    ]:
        with pytest.raises(InvalidArgumentError, match=re.escape(says)):
            server.request_handler(method)(nothing)
    server.add_request_handler("com.acme/sum", nothing)
    with pytest.raises(InvalidArgumentError, match=r"A handler of com\.acme/sum is already registered"):
        server.add_request_handler("com.acme/sum", nothing)
    with pytest.raises(InvalidArgumentError, match=r"no handler of 'com\.acme/other'"):
        server.remove_request_handler("com.acme/other")
