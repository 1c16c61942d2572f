"""Odd responses, of which every language makes the same: `tests/odd-answers.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from support import Scripted, run, until
from trunkline import Client, TransportError

TABLE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "tests" / "odd-answers.json").read_text(encoding="utf-8")
)
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}, "prompts": {}, "completions": {}}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": {"name": "odd", "version": "1"}}


def scripted(row: dict[str, Any]) -> Scripted:
    """A server that answers as the row says."""
    return Scripted({"initialize": json.dumps(HELLO), "tools/list": row.get("tools"), row["method"]: row["result"]})


async def connected(client: Client) -> dict[str, Any]:
    return {"server": client.server_info.name if client.server_info else None, "revision": client.revision}


async def called(client: Client) -> dict[str, Any]:
    result = await client.call_tool("t")
    return {"text": result.text, "isError": result.is_error, "blocks": len(result.content)}


async def got(client: Client) -> dict[str, Any]:
    messages: list[Any] = list((await client.get_prompt("p")).messages)
    return {"texts": [getattr(message.content, "text", None) for message in messages]}


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
    "initialize": connected,
    "server/discover": connected,
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
def test_every_odd_response_has_one_verdict(row: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    method = row["method"]
    # A client with a given revision needs no discovery.
    revision = None if method == "server/discover" else "2025-11-25"

    async def check() -> None:
        async with Client(scripted(row), revision=revision) as client:
            if "tools" in row:
                await client.list_tools()
            found = await READERS[method](client)
            assert {name: found[name] for name in row.get("reads", {})} == row.get("reads")
            if "warns" in row:
                await until(lambda: any(holds(text, row["warns"]) for text in caplog.messages), str(row["warns"]))
            else:
                assert not caplog.messages

    if "refused" not in row:
        run(check())
        return
    with pytest.raises(TransportError, match=re.escape(row["refused"])):
        run(check())


def holds(text: str, parts: list[str]) -> bool:
    return all(part in text for part in parts)
