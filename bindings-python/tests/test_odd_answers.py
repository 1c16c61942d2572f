"""Odd responses, read alike in every language, alone and in a group: `odd-answers.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support import Scripted, run, until
from trunkline import Client, ClientGroup, TransportError

AnyClient: TypeAlias = "Client | ClientGroup"
Reader: TypeAlias = Callable[[AnyClient, str], Awaitable[dict[str, Any]]]

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


async def called(client: AnyClient, prefix: str) -> dict[str, Any]:
    result = await client.call_tool(f"{prefix}t")
    return {"text": result.text, "isError": result.is_error, "blocks": len(result.content)}


async def got(client: AnyClient, prefix: str) -> dict[str, Any]:
    messages: list[Any] = list((await client.get_prompt(f"{prefix}p")).messages)
    return {"texts": [getattr(message.content, "text", None) for message in messages]}


async def read(client: AnyClient, prefix: str) -> dict[str, Any]:
    contents = (await client.read_resource("odd+a:b" if prefix else "a:b")).contents
    return {"texts": [one.text if one.blob is None else one.blob for one in contents]}


async def completed(client: AnyClient, prefix: str) -> dict[str, Any]:
    result = await client.complete({"type": "ref/prompt", "name": f"{prefix}p"}, {"name": "a", "value": "x"})
    return {"values": result.completion.values}


def listed(list_all: Callable[[AnyClient], Awaitable[list[Any]]]) -> Reader:
    async def names(client: AnyClient, prefix: str) -> dict[str, Any]:
        return {"names": [one.name.removeprefix(prefix) for one in await list_all(client)]}

    return names


READERS: dict[str, Reader] = {
    "tools/call": called,
    "tools/list": listed(lambda client: client.list_tools()),
    "resources/list": listed(lambda client: client.list_resources()),
    "resources/templates/list": listed(lambda client: client.list_resource_templates()),
    "prompts/list": listed(lambda client: client.list_prompts()),
    "prompts/get": got,
    "resources/read": read,
    "completion/complete": completed,
}


@pytest.mark.parametrize("row", TABLE, ids=[f"{row['method']}: {row['what']}" for row in TABLE])
def test_every_odd_response_has_one_verdict(row: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    async def check() -> None:
        # A client with a given revision needs no discovery.
        revision = None if row["method"] == "server/discover" else "2025-11-25"
        async with Client(scripted(row), revision=revision) as client:
            if row["method"] not in READERS:
                delivered(row, await connected(client))
                await warned(row, caplog)
                return
            await judge(row, client, caplog)
            async with ClientGroup({"odd": client}) as group:
                await judge(row, group, caplog, prefix="odd__")

    if "refused" not in row or row["method"] in READERS:
        run(check())
        return
    with pytest.raises(TransportError, match=re.escape(row["refused"])):
        run(check())


async def judge(row: dict[str, Any], client: AnyClient, caplog: pytest.LogCaptureFixture, *, prefix: str = "") -> None:
    """Reads the response with a client, and checks what it makes of it."""
    caplog.clear()
    refused = row.get("refused")
    try:
        if "tools" in row:
            await client.list_tools()
        found = await READERS[row["method"]](client, prefix)
    except TransportError as error:
        assert refused is not None, error
        assert refused in str(error)
        return
    if refused is None:
        delivered({**row, "reads": row.get("inGroup", row["reads"])} if prefix else row, found)
        await warned(row, caplog)
        return
    # Without its list, a server is missing from that of a group.
    assert prefix
    assert found == {"names": []}
    await logged([refused], caplog)


def delivered(row: dict[str, Any], found: dict[str, Any]) -> None:
    assert {name: found[name] for name in row["reads"]} == row["reads"]


async def warned(row: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    if "warns" not in row:
        assert not caplog.messages
        return
    await logged(row["warns"], caplog)
    if record := row.get("record"):
        [found] = [found for found in caplog.records if found.getMessage().startswith(record["event"])]
        level = {"warn": "WARNING"}[record["level"]]
        assert (found.levelname, found.name) == (level, record["target"].replace("::", "."))
        assert record["fields"].items() <= vars(found).items()


async def logged(parts: list[str], caplog: pytest.LogCaptureFixture) -> None:
    await until(lambda: any(all(part in text for part in parts) for text in caplog.messages), str(parts))
