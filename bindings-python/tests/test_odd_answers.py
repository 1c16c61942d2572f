"""Responses that are odd but clear, which every language reads alike: `tests/odd-answers.json`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support import run
from trunkline import Client

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "tests" / "odd-answers.json").read_text(encoding="utf-8")
)
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "odd", "version": "1"}}


class Odd:
    """The transport to a server that answers `initialize`, and anything else with one result."""

    def __init__(self, result: str) -> None:
        self._result = result
        self._answers: asyncio.Queue[str] = asyncio.Queue()

    async def connect(self) -> None:
        self._answers = asyncio.Queue()

    async def send(self, message: str) -> None:
        request = json.loads(message)
        if "id" in request:
            result = json.dumps(HELLO) if request["method"] == "initialize" else self._result
            self._answers.put_nowait(f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{result}}}')

    async def receive(self) -> str:
        return await self._answers.get()

    async def close(self) -> None:
        pass


async def called(client: Client) -> dict[str, Any]:
    result = await client.call_tool("t")
    return {"text": result.text, "isError": result.is_error}


async def got(client: Client) -> dict[str, Any]:
    messages: list[Any] = list((await client.get_prompt("p")).messages)
    return {"texts": [message.content.text for message in messages]}


async def read(client: Client) -> dict[str, Any]:
    return {
        "texts": [one.text if one.blob is None else one.blob for one in (await client.read_resource("a:b")).contents]
    }


async def completed(client: Client) -> dict[str, Any]:
    result = await client.complete({"type": "ref/prompt", "name": "p"}, {"name": "a", "value": "x"})
    return {"values": result.completion.values}


def listed(list_all: Callable[[Client], Awaitable[list[Any]]]) -> Callable[[Client], Awaitable[dict[str, Any]]]:
    async def names(client: Client) -> dict[str, Any]:
        return {"names": [one.name for one in await list_all(client)]}

    return names


READERS: dict[str, Callable[[Client], Awaitable[dict[str, Any]]]] = {
    "tools/call": called,
    "tools/list": listed(Client.list_tools),
    "resources/list": listed(Client.list_resources),
    "resources/templates/list": listed(Client.list_resource_templates),
    "prompts/list": listed(Client.list_prompts),
    "prompts/get": got,
    "resources/read": read,
    "completion/complete": completed,
}


@pytest.mark.parametrize("row", TABLE, ids=[f"{row['method']}: {row['what']}" for row in TABLE])
def test_an_odd_but_clear_response_is_read(row: dict[str, Any]) -> None:
    async def check() -> None:
        async with Client(Odd(row["result"]), revision="2025-11-25") as client:
            assert await READERS[row["method"]](client) == row["reads"]

    run(check())
