"""How processes end while calls are in flight: the rows of `tests/exits.json`."""

import asyncio
import contextlib
import functools
import json
import os
import subprocess
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from signal import Signals
from typing import Any

from crowd import open_streams
from peer import META, MODERN, START_TIMEOUT, Endpoint, Language, Message, Pipe, call, endpoint, pipe
from row import LANGUAGES, row

Case = dict[str, Any]

TABLE: list[Case] = json.loads((Path(__file__).parents[1] / "exits.json").read_text(encoding="utf-8"))
LONG_CALL_MS = 600_000  # no call may keep a process alive for so long
MANY_CALLS = 4 * (os.cpu_count() or 1)  # more than a runtime has threads
MAX_TIGHT = 1.5  # seconds
SIGNAL_INTERVAL = 0.3  # seconds: a signal that arrives while the same is pending is lost
# Runs a program as process 1, like the main process of a container.
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--map-root-user"]
# Otherwise, several JVMs that are process 1 complain about their common file of statistics.
CONTAINER += ["env", "JDK_JAVA_OPTIONS=-XX:-UsePerfData"]


def cases(*serves: str) -> list[Case]:
    return [case for case in TABLE if case["serves"] in serves]


def languages(case: Case) -> tuple[str, ...]:
    """The languages that a row applies to."""
    return tuple(name for name in LANGUAGES if name not in case.get("without", {}))


def frameworks_without(case: Case) -> tuple[str, ...]:
    """The languages with a web framework that a row does not apply to."""
    return tuple(name for name in case.get("without", {}) if " " in name)


def bar(case: Case) -> float:
    """The maximum time until the end, in seconds, of any language."""
    times = [case["seen"], *case.get("but", {}).values()]
    return float(max(one["seconds"][1] for one in times if "seconds" in one))


def is_tight(case: Case) -> bool:
    """True if the process has a second or so, or if a drain deadline takes most of its time."""
    return bar(case) <= MAX_TIGHT or bar(case) - float(case["seen"]["seconds"][0]) <= MAX_TIGHT


def checked(case: Case, language: Language, seconds: float, **seen: Any) -> float:
    """The seconds, if everything else is as the row says."""
    wanted = {**case["seen"], **case.get("but", {}).get(language.name, {})}
    assert all(fits(one, wanted[name]) for name, one in seen.items()), (round(seconds, 1), seen, wanted)
    least, most = wanted["seconds"]
    assert seconds >= least, f"it ended after {seconds:.1f} s, and {seen}"
    # Another language may have longer.
    return seconds if seconds <= most else max(seconds, bar(case) + 0.001)


def fits(seen: Any, wanted: Any) -> bool:
    if wanted == "unanswered":
        return "answered" not in seen
    return seen in wanted if isinstance(wanted, list) else seen == wanted


@functools.cache
def has_containers() -> bool:
    try:
        return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def only_child(process: int) -> int:
    return int(Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()[0])


def outcome(text: str) -> str:
    if '"done"' in text:
        return "answered"
    return "interrupted" if '"interrupted"' in text else "lost"


@dataclass
class HttpCall:
    """A call over HTTP, whose response arrives in parts."""

    reader: asyncio.StreamReader
    # Keeps the connection.
    writer: asyncio.StreamWriter
    body: bytes = b""

    @classmethod
    async def start(cls, server: Endpoint, number: int, tool: str, arguments: Message) -> "HttpCall":
        reader, writer = await server.connect()
        body = json.dumps(call(number, tool, arguments, **META, progressToken=number)).encode()
        headers = (f"MCP-Protocol-Version: {MODERN}", "Mcp-Method: tools/call", f"Mcp-Name: {tool}")
        writer.write(server.head(len(body), "Connection: close", *headers) + body)
        return cls(reader, writer)

    async def read(self, until: bytes = b"") -> str:
        """Return the response once it contains these bytes, or at its end."""
        with contextlib.suppress(ConnectionError):
            while not (until and until in self.body) and (chunk := await self.reader.read(1 << 16)):
                self.body += chunk
        return self.body.decode()


@dataclass
class Running:
    """A server with calls in flight."""

    server: Pipe | Endpoint
    # The one that serves. In a container, it is a child of the one that was started.
    process: int
    numbers: range
    calls: list[HttpCall] = field(default_factory=list[HttpCall])
    streams: list[asyncio.StreamReader] = field(default_factory=list[asyncio.StreamReader])
    ended: HttpCall | None = None

    async def begin(self, case: Case) -> None:
        """Starts the calls, and waits until they run."""
        tool, arguments, numbers = case["calls"]["tool"], {"ms": case["calls"].get("ms", LONG_CALL_MS)}, self.numbers
        if isinstance(self.server, Pipe):
            self.server.send(call(0, "echo", {"message": "ready"}))
            await self.server.answer(0)
            self.server.send(*[call(number, tool, arguments, progressToken=number) for number in numbers])
        else:
            # The socket of a web server is open before it serves.
            status, _ = await asyncio.wait_for(self.server.modern(0, "echo", {"message": "ready"}), START_TIMEOUT)
            assert status == 200, status
            self.calls = [await HttpCall.start(self.server, number, tool, arguments) for number in numbers]
        if tool == "block":
            # The tool blocks its server, and reports nothing.
            await asyncio.sleep(SIGNAL_INTERVAL)
        elif isinstance(self.server, Pipe):
            for _ in numbers:
                await self.server.until("method", "notifications/progress")
        else:
            for one in self.calls:
                assert "notifications/progress" in await one.read(b"notifications/progress"), one.body
        if "streams" in case["seen"]:
            assert isinstance(self.server, Endpoint)
            self.streams = [reader for reader, _ in await open_streams(self.server)]

    async def end(self, way: str) -> None:
        if way.startswith("SIG"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process, Signals[way])
        elif isinstance(self.server, Endpoint):
            # The process may end before the response.
            self.ended = await HttpCall.start(self.server, 1000, "end", {"how": way})
        elif way == "end of input":
            self.server.end_input()
        else:
            self.server.send(call(1000, "end", {"how": way}))

    async def repeat(self, way: str) -> None:
        while True:
            await self.end(way)
            await asyncio.sleep(SIGNAL_INTERVAL)

    async def outcomes(self, case: Case) -> Case:
        """Return the outcomes of the calls and streams."""
        if isinstance(self.server, Endpoint):
            texts = await asyncio.gather(*[one.read() for one in self.calls])
        else:
            rest = [*[line.decode() for line in self.server.lines], *await self.server.rest()]
            lines = {json.loads(line).get("id"): line for line in rest}
            texts = [lines.get(number, "") for number in self.numbers]
        found = {outcome(text) for text in texts}
        seen = {"calls": " or ".join(sorted(found))}
        if self.streams:
            await asyncio.gather(*[stream.read() for stream in self.streams])
            seen["streams"] = "ended"
        return seen


@contextlib.asynccontextmanager
async def running(case: Case, language: Language) -> AsyncGenerator[Running]:
    contained = case.get("as") == "process 1" and has_containers()
    if contained:
        language = replace(language, command=[*CONTAINER, *language.command])
    serves = case["serves"]
    way = language.way if serves == "mounted" else serves
    async with pipe(language) if serves == "stdio" else endpoint(replace(language, way=way)) as server:
        process = only_child(server.process.pid) if contained else server.process.pid
        count = case["calls"].get("count", 1)
        found = Running(server, process, range(1, 1 + (MANY_CALLS if count == "many" else count)))
        await found.begin(case)
        yield found


async def ending(case: Case, language: Language) -> float:
    """Seconds from the last step to the end of the process."""
    async with running(case, language) as found:
        *first, last = case["ends"]
        for way in first:
            await found.end(way)
            await asyncio.sleep(SIGNAL_INTERVAL)
        outcomes = asyncio.ensure_future(found.outcomes(case))
        start = time.perf_counter()
        steps = asyncio.ensure_future(found.repeat(last) if first else found.end(last))
        try:
            seen = await outcomes
            status = await found.server.ended()
        finally:
            steps.cancel()
        return checked(case, language, time.perf_counter() - start, **seen, status=status)


async def redeployed(case: Case, language: Language) -> float:
    """Seconds until a process has ended after SIGTERM. Another can listen at its port meanwhile."""
    async with running(case, language) as found:
        assert isinstance(found.server, Endpoint)
        outcomes = asyncio.ensure_future(found.outcomes(case))
        start = time.perf_counter()
        await found.end("SIGTERM")
        successor = None
        while not successor and not outcomes.done():
            with contextlib.suppress(OSError):
                successor = await asyncio.start_server(lambda *_: None, found.server.host, found.server.port)
            await asyncio.sleep(0.01)
        meanwhile = "the port is taken" if outcomes.done() else "the port is free"
        seen = await outcomes
        status = await found.server.ended()
        if successor:
            successor.close()
        return checked(case, language, time.perf_counter() - start, **seen, meanwhile=meanwhile, status=status)


for one in cases("stdio", "http", "listen", "mounted"):
    play = redeployed if one["ends"] == ["redeploy"] else ending
    is_mounted, left_out = one["serves"] == "mounted", frameworks_without(one)
    measured = row(one["name"], bar(one), "s", languages(one), is_mounted, left_out, tight=is_tight(one))
    measured(functools.partial(play, one))
