"""Methods that no specification names: a client sends them as they are, and servers answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support import run
from trunkline import Client, ProtocolError, Server, SyncClient, TrunklineError

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
    """The transport to a server with a method of its own, which gives its params back."""

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
def test_ext_10_a_method_of_a_vendor_reaches_its_server(revision: str) -> None:
    async def check() -> None:
        async with Client(Vendor(revision), revision=revision) as client:
            params = {"deep": [1, {"b": None, "a": "\u00e9"}], "text": "x"}
            answer = await client.request("com.acme/echo", params)
            assert answer["given"] == params and [*answer["given"]["deep"][1]] == ["b", "a"]
            with pytest.raises(ProtocolError, match=r"no com\.acme/other here") as caught:
                await client.request("com.acme/other")
            assert (caught.value.code, caught.value.data) == (-32601, {"known": ["com.acme/echo"]})
            assert (await client.request("com.acme/echo", {}))["given"] == {}, "the connection goes on"

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
