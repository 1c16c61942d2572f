"""Clients that end, and servers that end under them."""

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from exits import LONG_CALL
from peer import START, Endpoint, Language
from row import LONG_FORM, row

RUNS = 50 if LONG_FORM else 5
AT_ONCE = 5
FAMILY = 'sleep 600 >/dev/null 2>&1 & echo $$ $! >"$0"; exec "$@"'


@dataclass
class Driver:
    """A client as a process, which takes a command a line."""

    process: asyncio.subprocess.Process

    @classmethod
    async def start(cls, language: Language, *target: str, **variables: str) -> "Driver":
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *language.client,
            *target,
            stdin=pipe,
            stdout=pipe,
            stderr=asyncio.subprocess.DEVNULL,
            env={**os.environ, **variables},
        )
        started = cls(process)
        assert await asyncio.wait_for(started.line(), START) == "ready"
        return started

    def send(self, *lines: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())

    async def line(self) -> str:
        assert self.process.stdout
        return (await self.process.stdout.readline()).decode().strip()

    async def outcomes(self, count: int) -> dict[str, str]:
        """The outcomes of calls by their numbers."""
        lines = [(await self.line()).split() for _ in range(count)]
        return {line[0]: line[1] for line in lines}


@contextlib.asynccontextmanager
async def driver(language: Language, *target: str, **variables: str) -> AsyncGenerator[Driver]:
    """A client, in a process with these variables."""
    started = await Driver.start(language, *target, **variables)
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.process.kill()
        await started.process.wait()


def lives(process: int) -> bool:
    """A process that is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def end_of_family(language: Language, ending: str) -> float:
    """Seconds until the server and its child are gone, after the end of their client."""
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "family")
        server = ["/bin/sh", "-c", FAMILY, str(noted), *language.command, "stdio"]
        async with driver(language, *server) as client:
            family = [int(word) for word in noted.read_text(encoding="ascii").split()]
            try:
                client.send(f"call 1 {LONG_CALL}", "call 2 1")
                assert (await client.outcomes(1)) == {"2": "ok"}
                start = time.perf_counter()
                if ending == "kill":
                    client.process.kill()
                else:
                    client.send(ending)
                status = await client.process.wait()
                assert status == (-signal.SIGKILL if ending == "kill" else 0), f"the client ended with {status}"
                while any(lives(one) for one in family):
                    await asyncio.sleep(0.02)
                return time.perf_counter() - start
            finally:
                for one in family:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)


async def slowest_end(language: Language, ending: str) -> float:
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one() -> float:
        async with at_once:
            return await end_of_family(language, ending)

    return max(await asyncio.gather(*[one() for _ in range(RUNS)]))


@row("a client is closed with work in flight: its server's family is gone", 5, "s")
async def client_closed(language: Language) -> float:
    return await slowest_end(language, "close")


@row("a client's program exits with work in flight: its server's family is gone", 5, "s")
async def client_exits(language: Language) -> float:
    return await slowest_end(language, "exit")


@row("a client is killed with work in flight: its server's family is gone", 5, "s")
async def client_killed(language: Language) -> float:
    return await slowest_end(language, "kill")


@row("a server is killed: its calls fail, and the next client's are answered", 1, "s")
async def server_killed(language: Language) -> float:
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "family")
        async with driver(language, "/bin/sh", "-c", FAMILY, str(noted), *language.command, "stdio") as client:
            client.send("call 0 1")
            assert (await client.outcomes(1)) == {"0": "ok"}
            client.send("call 1 60000", "call 2 60000", "call 3 60000", "call 4 1")
            assert (await client.outcomes(1)) == {"4": "ok"}
            start = time.perf_counter()
            os.kill(int(noted.read_text(encoding="ascii").split()[0]), signal.SIGKILL)
            failed = await client.outcomes(3)
            seconds = time.perf_counter() - start
            assert set(failed) == {"1", "2", "3"} and len(set(failed.values())) == 1, failed
            assert failed["1"].lower().endswith("transport"), failed
            client.send("reconnect", "call 5 1")
            assert await client.line() == "ready"
            assert (await client.outcomes(1)) == {"5": "ok"}
            return seconds


@row("a server over HTTP is killed and started again: calls after it", 5, "s")
async def server_restarted(language: Language) -> float:
    server = await Endpoint.start(language)
    try:
        async with driver(language, f"http://{server.host}:{server.port}/mcp") as client:
            client.send("call 1 60000", "call 2 60000", "call 3 1")
            assert (await client.outcomes(1)) == {"3": "ok"}
            server.kill()
            await server.ended()
            failed = await client.outcomes(2)
            assert set(failed) == {"1", "2"} and len(set(failed.values())) == 1, failed
            assert failed["1"].lower().endswith("transport"), failed
            start = time.perf_counter()
            server = await Endpoint.start(language, env={**os.environ, "PORT": str(server.port)})
            client.send("call 4 1")
            assert (await client.outcomes(1)) == {"4": "ok"}
            return time.perf_counter() - start
    finally:
        server.kill()
        await server.ended()
