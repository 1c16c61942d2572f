"""Workers of one server with one store, as behind a load balancer without sticky sessions."""

import asyncio
import base64
import contextlib
import json
import os
import random
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from peer import LEGACY, META, MODERN, WAIT_TIMEOUT, Endpoint, Language, Message

TASKS = "io.modelcontextprotocol/tasks"
# Capabilities of a client with a user and a model.
ANSWERS: Message = {"elicitation": {}, "sampling": {}}
FINAL = ("completed", "failed", "cancelled")


class Refused(Exception):
    """A response that is not the result of a request."""

    def __init__(self, status: int, error: Message) -> None:
        super().__init__(f"{status} {error}")
        self.status = status
        self.error = error


@dataclass
class Events:
    """A response that is a stream of events."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    # The id of the latest event.
    last: str = ""
    _lines: AsyncIterator[str] = field(init=False)

    def __post_init__(self) -> None:
        self._lines = self._read_lines()

    @classmethod
    async def begin(cls, worker: Endpoint, request: bytes) -> "Events":
        reader, writer = await worker.connect()
        writer.write(request)
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_TIMEOUT)).decode().lower()
        if " 200 " not in head.split("\r\n", 1)[0] or "text/event-stream" not in head:
            writer.close()
            raise Refused(int(head.split(" ", 2)[1]), {})
        assert "transfer-encoding: chunked" in head, head
        return cls(reader, writer)

    async def _read_lines(self) -> AsyncIterator[str]:
        begun = b""
        while size := int(await self.reader.readuntil(b"\r\n"), 16):
            *lines, begun = (begun + (await self.reader.readexactly(size + 2))[:-2]).split(b"\n")
            for line in lines:
                yield line.decode().rstrip("\r")

    async def next(self) -> Message:
        """The next message. Raises EOFError or OSError if there is none."""
        return await asyncio.wait_for(self._next(), WAIT_TIMEOUT)

    async def _next(self) -> Message:
        data = ""
        async for line in self._lines:
            if line.startswith("id:"):
                self.last = line[3:].strip()
            elif line.startswith("data:"):
                data += line[5:].strip()
            elif not line and data:
                return json.loads(data)
        raise EOFError("the stream is over")

    def close(self) -> None:
        self.writer.transport.abort()


class Crew:
    """The live workers. Each request goes to a random one."""

    def __init__(self, workers: list[Endpoint]) -> None:
        self.workers = workers
        self._chance = random.Random(7)
        self._number = 0

    def any(self) -> Endpoint:
        return self._chance.choice(self.workers)

    async def kill(self, worker: Endpoint) -> None:
        """Kills a worker and removes it from the rotation."""
        self.workers = [one for one in self.workers if one is not worker]
        worker.kill()
        await worker.ended()

    def _message(self, method: str, params: Message) -> Message:
        self._number += 1
        return {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}

    async def _ask(self, worker: Endpoint, message: Message, *headers: str) -> Any:
        status, body = await asyncio.wait_for(worker.post(message, *headers), WAIT_TIMEOUT)
        answer = json.loads(body) if body else {}
        if "result" not in answer:
            raise Refused(status, answer.get("error", {}))
        return answer["result"]

    async def modern(self, method: str, params: Message, *, at: Endpoint | None = None) -> Any:
        """The result of a 2026-07-28 request from a client that supports tasks."""
        meta = {**META, "io.modelcontextprotocol/clientCapabilities": {**ANSWERS, "extensions": {TASKS: {}}}}
        name = params.get("taskId") or params.get("name") or params.get("uri")
        headers = [f"MCP-Protocol-Version: {MODERN}", f"Mcp-Method: {method}"]
        message = self._message(method, {**params, "_meta": meta})
        return await self._ask(at or self.any(), message, *headers, *([f"Mcp-Name: {name}"] if name else []))

    async def echo(self, *, at: Endpoint | None = None) -> None:
        """A call of 2026-07-28."""
        result = await self.modern("tools/call", {"name": "echo", "arguments": {"message": "bystander"}}, at=at)
        assert result["content"][0]["text"] == "bystander", result

    async def touch(self, number: int, *, at: Endpoint | None = None) -> None:
        """Updates a resource."""
        await self.modern("tools/call", {"name": "touch", "arguments": {"number": str(number)}}, at=at)

    async def task(self, ms: int, *, tool: str = "slow", at: Endpoint | None = None) -> str:
        """The id of a slow task."""
        result = await self.modern("tools/call", {"name": tool, "arguments": {"ms": ms}}, at=at)
        return result["taskId"]

    async def task_becomes(self, task: str, *statuses: str) -> Message:
        """Waits until the task has one of the statuses or, if none are given, is over."""
        for _ in range(WAIT_TIMEOUT * 10):
            state = await self.modern("tasks/get", {"taskId": task})
            if state["status"] in (statuses or FINAL):
                return state
            await asyncio.sleep(0.1)
        raise AssertionError(f"the task {task} is not over")

    async def session(self, *, at: Endpoint | None = None) -> "Session":
        worker = at or self.any()
        params = {"protocolVersion": LEGACY, "capabilities": ANSWERS, "clientInfo": {"name": "scars", "version": "1"}}
        body = json.dumps(self._message("initialize", params)).encode()
        reader, writer = await worker.connect()
        try:
            writer.write(worker.head(len(body), "Connection: close") + body)
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WAIT_TIMEOUT)).decode()
        finally:
            writer.close()
        if " 200 " not in head.split("\r\n", 1)[0]:
            raise Refused(int(head.split(" ", 2)[1]), {})
        found = [
            line.split(":", 1)[1].strip() for line in head.split("\r\n") if line.lower().startswith("mcp-session-id")
        ]
        session = Session(self, found[0])
        await session.notify("notifications/initialized", at=worker)
        return session

    async def listen(self, *uris: str) -> Events:
        """An acknowledged subscription of 2026-07-28."""
        params = {"notifications": {"resourceSubscriptions": list(uris)}, "_meta": META}
        body = json.dumps(self._message("subscriptions/listen", params)).encode()
        worker = self.any()
        headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: subscriptions/listen")
        events = await Events.begin(worker, worker.head(len(body), *headers) + body)
        assert (await events.next())["method"] == "notifications/subscriptions/acknowledged"
        return events


@dataclass
class Session:
    """A session of the legacy era."""

    crew: Crew
    id: str

    @property
    def headers(self) -> tuple[str, str]:
        return (f"Mcp-Session-Id: {self.id}", f"MCP-Protocol-Version: {LEGACY}")

    async def ask(self, method: str, params: Message, *, at: Endpoint | None = None) -> Any:
        return await self.crew._ask(at or self.crew.any(), self.crew._message(method, params), *self.headers)

    async def notify(self, method: str, params: Message | None = None, *, at: Endpoint | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        status, body = await (at or self.crew.any()).post(message, *self.headers)
        assert status == 202, (status, body)

    async def stream(self, *, at: Endpoint | None = None, last: str = "") -> Events:
        """Its stream of unsolicited messages, or the rest of a stream after an event."""
        worker = at or self.crew.any()
        lines = ["GET /mcp HTTP/1.1", f"Host: {worker.host}:{worker.port}", "Accept: text/event-stream", *self.headers]
        lines += [f"Last-Event-ID: {last}"] if last else []
        return await Events.begin(worker, "\r\n".join([*lines, "", ""]).encode())

    async def call(self, tool: str, arguments: Message, *, at: Endpoint | None = None) -> tuple[int, Events]:
        """Calls a tool that sends something before its result. Returns its id and its events."""
        params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}}
        message, worker = self.crew._message("tools/call", params), at or self.crew.any()
        body = json.dumps(message).encode()
        return message["id"], await Events.begin(worker, worker.head(len(body), *self.headers) + body)

    async def answer(self, request: Message, result: Message) -> None:
        """Answers a server request at any worker."""
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        status, body = await self.crew.any().post(answer, *self.headers)
        assert status == 202, (status, body)


@contextlib.asynccontextmanager
async def crew(language: Language, store: str, count: int, **variables: str) -> AsyncGenerator[Crew]:
    """Processes with the URL of their store and these environment variables."""
    key = base64.b64encode(os.urandom(32)).decode()
    env = {**os.environ, "STORE": store, "STATE_KEY": key, **variables}
    started = await asyncio.gather(*[Endpoint.start(language, env=env) for _ in range(count)], return_exceptions=True)
    workers = [one for one in started if isinstance(one, Endpoint)]
    try:
        failed = [one for one in started if isinstance(one, BaseException)]
        if failed:
            raise failed[0]
        yield Crew(list(workers))
    finally:
        for one in workers:
            one.kill()
        await asyncio.gather(*[one.ended() for one in workers])
