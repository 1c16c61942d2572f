"""Peers that vanish silently: their connections still look open."""

import asyncio
import contextlib
import shutil
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from clients import driver
from crowd import bystander
from peer import WAIT_TIMEOUT, Language, endpoint
from processes import printed
from row import row

# Commands that create a network namespace; the first that the system allows is used.
NETWORKS = (["unshare", "--net", "--map-root-user"], ["sudo", "-n", "-E", "unshare", "--net"])
CALL_TIMEOUT = 1.0  # seconds, of each call of the client


async def own_network() -> list[str]:
    """The prefix of a command that runs in its own network namespace. Empty where that is not
    possible: there, peers fall silent instead of vanishing.
    """
    for words in NETWORKS if shutil.which("ip") else ():
        with contextlib.suppress(OSError):
            none = asyncio.subprocess.DEVNULL
            tried = await asyncio.create_subprocess_exec(*words, "true", stdout=none, stderr=none)
            if await tried.wait() == 0:
                return words
    return []


@row("clients vanish, idle, within heads, calls and streams: until their descriptors are free", 10, "s")
async def clients_vanish(language: Language) -> float:
    network = await own_network()
    program = [sys.executable, str(Path(__file__).with_name("vanishing.py"))]
    # A JVM loads and compiles code for longer.
    warm_up = "4" if language.name in ("kotlin", "java") else "1"
    return await printed(*network, *program, "vanish" if network else "fall-silent", warm_up, *language.command)


@dataclass
class Relay:
    """Forwards connections to a server until the open ones fall silent."""

    port: int
    target: tuple[str, int]
    _open: list[asyncio.Task[None]] = field(default_factory=list["asyncio.Task[None]"])
    # Keeps their sockets open.
    _silent: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])
    _writers: list[asyncio.StreamWriter] = field(default_factory=list[asyncio.StreamWriter])

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self.target)
        self._writers += [writer, far_writer]
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            self._open.append(asyncio.ensure_future(self._pass(source, sink)))

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65536):
                sink.write(piece)
                await sink.drain()
            sink.close()

    async def fall_silent(self) -> None:
        """Stops forwarding open connections without closing them. New ones are forwarded."""
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        self._silent += self._writers
        self._open, self._writers = [], []

    def abort(self) -> None:
        for task in self._open:
            task.cancel()
        for writer in [*self._writers, *self._silent]:
            writer.transport.abort()


@contextlib.asynccontextmanager
async def relay(host: str, port: int) -> AsyncGenerator[Relay]:
    one = Relay(0, (host, port))
    listening = await asyncio.start_server(one.accept, "127.0.0.1", 0)
    one.port = listening.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        listening.close()
        one.abort()


@row("a server vanishes: its calls fail in their time, and the next one is answered", 10, "s")
async def server_vanishes(language: Language) -> float:
    async with endpoint(language) as server, relay(server.host, server.port) as way:
        variables = {"TIMEOUT_MS": str(int(CALL_TIMEOUT * 1000))}
        async with driver(language, f"http://127.0.0.1:{way.port}/mcp", **variables) as client:
            client.send("call 1 60000", "call 2 60000", "call 3 1")
            assert (await asyncio.wait_for(client.outcomes(1), WAIT_TIMEOUT)) == {"3": "ok"}
            await way.fall_silent()
            start = time.perf_counter()
            failed = await asyncio.wait_for(client.outcomes(2), WAIT_TIMEOUT)
            assert set(failed) == {"1", "2"}, failed
            assert {kind.lower().removeprefix("trunkline_") for kind in failed.values()} == {"timeout"}, failed
            for number in range(4, 9):
                client.send(f"call {number} 1")
                outcome = (await asyncio.wait_for(client.outcomes(1), WAIT_TIMEOUT))[str(number)]
                # A connection that was idle when its server vanished delays one more call.
                if outcome == "ok":
                    # Other programs may delay one of them; a server that is held up delays all.
                    assert min([await bystander(server) for _ in range(3)]) < 1
                    return time.perf_counter() - start
            raise AssertionError("no call was answered after it")
