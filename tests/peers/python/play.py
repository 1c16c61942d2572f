"""Operations as data (../../vectors/README.md, "Vectors for clients"), done by the clients of the
Python SDKs.
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

from inbox import Inbox
from pydantic import BaseModel

Line = dict[str, Any]
TIMEOUTS = (408, -32001)  # the error codes of the SDK lines for a missing response


class Peer(Protocol):
    """The parts of a client that differ between the two lines of the SDK."""

    async def call(self, name: str, arguments: Line, timeout: float | None, on_progress: Any) -> BaseModel: ...
    async def page(self, method: str, cursor: str | None) -> BaseModel: ...
    async def read(self, uri: str) -> BaseModel: ...
    async def complete(self, ref: Line, argument: Line, known: Line | None) -> BaseModel: ...
    async def request(self, method: str, params: Line) -> Any: ...
    async def notify(self, method: str, params: Line) -> None: ...
    async def subscribe(self, wanted: Line, change: Callable[[], Awaitable[Any]], inbox: Inbox) -> Line: ...


Connect = Callable[[Line, Inbox], AbstractAsyncContextManager[tuple[Any, str]]]


def play(file: str, connect: Connect, wrap: Callable[[Any], Peer]) -> None:
    """`connect` opens a connection as described by a part of the file. Returns the SDK's client and
    the negotiated revision. Notifications go to the inbox.
    """
    asyncio.run(play_all(json.loads(Path(file).read_text(encoding="utf-8"))["plays"], connect, wrap))


async def play_all(plays: list[Line], connect: Connect, wrap: Callable[[Any], Peer]) -> None:
    for part in plays:
        start = time.perf_counter()
        connected = False
        inbox = Inbox()
        try:
            async with connect(part, inbox) as (session, revision):
                connected = True
                show(start, {"connected": revision})
                for operation in part["do"]:
                    start = time.perf_counter()
                    show(start, await perform(session, wrap(session), inbox, operation))
        except Exception as error:  # noqa: BLE001 - every failure is a line
            if connected:  # a connection that fails to close has printed its lines already
                continue
            show(start, failed(error))


def show(start: float, line: Line) -> None:
    print(json.dumps({"ms": round((time.perf_counter() - start) * 1000, 1), **line}), flush=True)


def failed(error: BaseException) -> Line:
    while group := getattr(error, "exceptions", ()):
        error = group[0]
    code = getattr(getattr(error, "error", None), "code", None)
    kind = type(error).__name__ if code is None else "timeout" if code in TIMEOUTS else "protocol"
    return {"error": kind, "message": str(error)}


async def perform(session: Any, peer: Any, inbox: Inbox, operation: Line) -> Line:
    try:
        return await answer(session, peer, inbox, operation)
    except Exception as error:  # noqa: BLE001 - every failure is a line
        return failed(error)


async def answer(session: Any, peer: Any, inbox: Inbox, operation: Line) -> Line:
    match operation:
        case {"callTool": call}:
            return await call_tool(peer, call)
        case {"listTools": {"page": True}}:
            page = wire(await peer.page("list_tools", None))
            return {"tools": [tool["name"] for tool in page["tools"]], "more": "nextCursor" in page}
        case {"listTools": _}:
            return await gather(peer, "list_tools", "tools", "name")
        case {"listResources": _}:
            return await gather(peer, "list_resources", "resources", "uri")
        case {"listResourceTemplates": _}:
            return await gather(peer, "list_resource_templates", "resourceTemplates", "uriTemplate")
        case {"listPrompts": _}:
            return await gather(peer, "list_prompts", "prompts", "name")
        case {"readResource": {"uri": uri}}:
            contents = wire(await peer.read(uri))["contents"]
            return {"contents": [part["text"] if "text" in part else part["blob"] for part in contents]}
        case {"getPrompt": {"name": name, **named}}:
            messages = wire(await session.get_prompt(name, named.get("arguments")))["messages"]
            return {"messages": [message["content"].get("text") for message in messages]}
        case {"complete": {"ref": ref, "argument": argument, **known}}:
            completed = wire(await peer.complete(ref, argument, known.get("context", {}).get("arguments")))
            return {"values": completed["completion"]["values"]}
        case {"request": {"method": method, "params": params}}:
            return {"result": await peer.request(method, params)}
        case {"notify": {"method": method, "params": params}}:
            await peer.notify(method, params)
            return {"notified": True}
        case {"subscribe": {"to": wanted, "call": name}}:
            inbox.clear()
            return await peer.subscribe(wanted, lambda: peer.call(name, {}, None, None), inbox)
        case {"log": {"call": name}}:
            inbox.clear()
            await peer.call(name, {}, None, None)
            return await inbox.logged()
        case {"callInRounds": details} if hasattr(peer, "call_in_rounds"):
            answers = {item["key"]: item["response"] for item in details["answers"]}
            return await peer.call_in_rounds(details["name"], details["arguments"], answers)
        case {"callAsTask": {"name": name, "arguments": arguments}} if hasattr(peer, "call_as_task"):
            return await peer.call_as_task(name, arguments)
        case {"ping": _}:
            await session.send_ping()
            return {"ping": True}
    raise LookupError(f"this peer has no operation {', '.join(operation)}")


async def call_tool(peer: Peer, call: Line) -> Line:
    latest: list[float] = []

    async def on_progress(progress: float, _total: float | None, _message: str | None) -> None:
        latest.append(progress)

    timeout = call["timeoutMs"] / 1000 if "timeoutMs" in call else None
    calling = peer.call(call["name"], call["arguments"], timeout, on_progress if call.get("progress") else None)
    if "cancelMs" in call:
        return await cancelled(calling, call["cancelMs"] / 1000)
    result = wire(await calling)
    return {
        "text": result["content"][0].get("text") if result["content"] else None,
        "isError": result.get("isError", False),
        "progress": latest[-1] if latest else None,
        "content": result["content"],
        "structured": result.get("structuredContent"),
    }


async def cancelled(calling: Awaitable[BaseModel], seconds: float) -> Line:
    task = asyncio.ensure_future(calling)
    await asyncio.sleep(seconds)
    task.cancel()
    try:
        return {"text": wire(await task)["content"]}
    except asyncio.CancelledError:
        return {"error": "cancelled"}


async def gather(peer: Peer, method: str, member: str, part: str) -> Line:
    items: list[Any] = []
    cursor: str | None = None
    while True:
        page = wire(await peer.page(method, cursor))
        items += [item[part] for item in page[member]]
        cursor = page.get("nextCursor")
        if cursor is None:
            return {member: items}


def wire(model: BaseModel) -> Line:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
