"""Servers of the scars as processes, and the messages to them."""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
START_TIMEOUT = 30  # seconds, for a process
WAIT_TIMEOUT = 30  # seconds, for any wait of a test
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "scars", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

Message = dict[str, Any]


@dataclass
class Language:
    """A language and the command of its server."""

    name: str
    command: list[str]
    client: list[str]
    # Serving over HTTP: standalone or inside a web framework.
    way: str = "http"


def call(number: int, tool: str, arguments: Message, **meta: Any) -> Message:
    params: Message = {"name": tool, "arguments": arguments}
    if meta:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@dataclass
class Pipe:
    """A server on standard input and output, with a session."""

    process: asyncio.subprocess.Process
    lines: list[bytes] = field(default_factory=list[bytes])

    @classmethod
    async def start(cls, language: Language, stderr: int = asyncio.subprocess.DEVNULL) -> "Pipe":
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *language.command, "stdio", stdin=pipe, stdout=pipe, stderr=stderr
        )
        started = cls(process)
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "scars", "version": "1"}}
        started.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        await asyncio.wait_for(started.answer(0), START_TIMEOUT)
        started.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return started

    def send(self, *messages: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def answer(self, number: int) -> Message:
        """The response to a request; all lines before it are recorded."""
        return await self.until("id", number)

    async def until(self, member: str, value: Any) -> Message:
        """The next message with this member; all lines before it are recorded."""
        assert self.process.stdout
        while line := await self.process.stdout.readline():
            self.lines.append(line)
            message: Message = json.loads(line)
            if message.get(member) == value:
                return message
        raise EOFError(f"no message whose {member} is {value}")

    async def rest(self) -> list[str]:
        """The lines until the end of the output."""
        assert self.process.stdout
        return [line.decode() async for line in self.process.stdout]

    def end_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        return await self.process.wait()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


@dataclass
class Place:
    """The address of a server over HTTP."""

    host: str
    port: int

    async def connect(self, *, as_address: str | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        bound = (as_address, 0) if as_address else None
        return await asyncio.open_connection(self.host, self.port, local_addr=bound)

    def head(self, length: int, *more: str) -> bytes:
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"Content-Length: {length}",
            *more,
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    async def post(self, message: Message, *headers: str) -> tuple[int, bytes]:
        """Status and body of the response to one message, over a new connection."""
        return await self.post_bytes(json.dumps(message).encode(), *headers)

    async def post_bytes(self, body: bytes, *headers: str) -> tuple[int, bytes]:
        reader, writer = await self.connect()
        try:
            writer.write(self.head(len(body), "Connection: close", *headers) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            return int(head.split(b" ", 2)[1]), await reader.read()
        finally:
            writer.close()

    async def modern(self, number: int, tool: str, arguments: Message, **meta: Any) -> tuple[int, bytes]:
        """Calls a tool on 2026-07-28, where every request is self-contained."""
        headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {tool}")
        return await self.post(call(number, tool, arguments, **META, **meta), *headers)


@dataclass
class Endpoint(Place):
    """A server over HTTP, as a process."""

    process: asyncio.subprocess.Process

    @classmethod
    async def start(cls, language: Language, **more: Any) -> "Endpoint":
        process = await asyncio.create_subprocess_exec(
            *language.command,
            language.way,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            **more,
        )
        assert process.stdout
        line = (await asyncio.wait_for(process.stdout.readline(), START_TIMEOUT)).decode()
        host, port = line.split("/")[2].rsplit(":", 1)
        return cls(host, int(port), process)

    def memory(self) -> int:
        """Current resident memory of the process, in bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def peak(self) -> int:
        """Peak resident memory of the process, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1024

    def processor_time(self) -> float:
        """CPU time of the process, in seconds."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self) -> int:
        """The open descriptors of the process."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        return await self.process.wait()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()


@contextlib.asynccontextmanager
async def pipe(language: Language, stderr: int = asyncio.subprocess.DEVNULL) -> AsyncGenerator[Pipe]:
    server = await Pipe.start(language, stderr)
    try:
        yield server
    finally:
        server.kill()
        await server.ended()


@contextlib.asynccontextmanager
async def endpoint(language: Language, **more: Any) -> AsyncGenerator[Endpoint]:
    server = await Endpoint.start(language, **more)
    try:
        yield server
    finally:
        server.kill()
        await server.ended()
