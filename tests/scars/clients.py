"""Clients that exit, and servers that exit while clients are connected."""

import asyncio
import contextlib
import functools
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from endings import LONG_CALL_MS, Case, bar, cases, checked, languages
from peer import LEGACY, START_TIMEOUT, Endpoint, Language
from row import LONG_FORM, row

RUNS = 50 if LONG_FORM else 5
CONCURRENCY = 5
STALLED_CALLS = 1000
FAMILY = 'sleep 600 >/dev/null 2>&1 & echo $$ $! >"$0"; exec "$@"'


@dataclass
class Driver:
    """A client process, which reads one command per line."""

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
            # A process group, like that of a terminal.
            start_new_session=True,
        )
        started = cls(process)
        assert await asyncio.wait_for(started.line(), START_TIMEOUT) == "ready"
        return started

    def send(self, *lines: str) -> None:
        assert self.process.stdin
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())

    async def line(self) -> str:
        assert self.process.stdout
        return (await self.process.stdout.readline()).decode().strip()

    async def outcomes(self, count: int) -> dict[str, str]:
        """The outcomes of calls, by number."""
        lines = [(await self.line()).split() for _ in range(count)]
        return {line[0]: line[1] for line in lines}


@contextlib.asynccontextmanager
async def driver(language: Language, *target: str, **variables: str) -> AsyncGenerator[Driver]:
    """A client in a process with these environment variables."""
    started = await Driver.start(language, *target, **variables)
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            started.process.kill()
        await started.process.wait()


def lives(process: int) -> bool:
    """Return whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def end_of_family(case: Case, language: Language) -> float:
    """Seconds until the server and its child have exited, after their client has."""
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "family")
        server = ["/bin/sh", "-c", FAMILY, str(noted), *language.command, "stdio"]
        async with driver(language, *server) as client:
            family = [int(word) for word in noted.read_text(encoding="ascii").split()]
            try:
                client.send(f"call 1 {LONG_CALL_MS}", "call 2 1")
                assert (await client.outcomes(1)) == {"2": "ok"}
                start = time.perf_counter()
                way, *to_all = case["ends"]
                if not way.startswith("SIG"):
                    client.send(way)
                elif to_all:
                    os.killpg(client.process.pid, signal.Signals[way])
                else:
                    client.process.send_signal(signal.Signals[way])
                status = await client.process.wait()
                while any(lives(one) for one in family):
                    await asyncio.sleep(0.02)
                return checked(case, language, time.perf_counter() - start, status=status)
            finally:
                for one in family:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)


async def slowest_end(case: Case, language: Language) -> float:
    at_once = asyncio.Semaphore(CONCURRENCY)

    async def one() -> float:
        async with at_once:
            return await end_of_family(case, language)

    return max(await asyncio.gather(*[one() for _ in range(RUNS if case.get("often") else 1)]))


for case in cases("client"):
    row(case["name"], bar(case), "s", languages(case))(functools.partial(slowest_end, case))


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


async def stopped(process: int) -> None:
    """Stop a process, and wait for its threads: one that is running still works for a moment."""
    os.kill(process, signal.SIGSTOP)
    # Nothing to wait for on systems without `/proc`.
    stats = Path(f"/proc/{process}/task").glob("*/stat")
    async with asyncio.timeout(10):
        for stat in stats:
            while stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T":
                await asyncio.sleep(0.01)


@row("a server stops reading: the calls of its client, which end after 2 s", 10, "s")
async def server_stalled(language: Language) -> float:
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder, "family")
        server = ["/bin/sh", "-c", FAMILY, str(noted), *language.command, "stdio"]
        async with driver(language, *server, TIMEOUT_MS="2000") as client:
            client.send("call 0 1")
            assert (await client.outcomes(1)) == {"0": "ok"}
            family = [int(word) for word in noted.read_text(encoding="ascii").split()]
            try:
                await stopped(family[0])
                start = time.perf_counter()
                # More than fits into a pipe.
                client.send(*[f"call {number} 1" for number in range(1, STALLED_CALLS + 1)])
                failed = await client.outcomes(STALLED_CALLS)
                seconds = time.perf_counter() - start
                kinds = {kind.lower().rpartition("_")[2] for kind in failed.values()}
                assert len(failed) == STALLED_CALLS and kinds == {"timeout"}, kinds
                os.kill(family[0], signal.SIGCONT)
                # The server first reads what was sent before, which may take a call's 2 s and more.
                for number in range(5000, 5010):
                    client.send(f"call {number} 1")
                    if (again := await client.outcomes(1)) == {str(number): "ok"}:
                        return seconds
                raise AssertionError(f"10 calls of a server that reads again: the last was {again}")
            finally:
                for one in family:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(one, signal.SIGKILL)


class Between:
    """A relay to a server that may be replaced later; it buffers what clients send."""

    def __init__(self, server: Endpoint) -> None:
        self.server = server
        self.sent = bytearray()

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keep: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if keep:
                    self.sent += data
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await self.server.connect()
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(self.copy(reader, back, keep=True), self.copy(there, writer, keep=False))


async def restarted(language: Language, revision: str) -> float:
    """Seconds from the start of a server that replaces a killed one to the answer of a call that
    their client then sends.
    """
    between = Between(await Endpoint.start(language))
    front = await asyncio.start_server(between.connected, "127.0.0.1", 0)
    try:
        port = front.sockets[0].getsockname()[1]
        async with driver(language, f"http://127.0.0.1:{port}/mcp", REVISION=revision) as client:
            client.send("call 1 60001", "call 2 60002", "call 3 3")
            assert (await client.outcomes(1)) == {"3": "ok"}
            between.server.kill()
            await between.server.ended()
            failed = await client.outcomes(2)
            assert set(failed) == {"1", "2"} and len(set(failed.values())) == 1, failed
            assert failed["1"].lower().endswith("transport"), failed
            before = between.sent.count(b'"initialize"')
            between.server = await Endpoint.start(language)
            start = time.perf_counter()
            client.send("call 4 4")
            assert (await client.outcomes(1)) == {"4": "ok"}
            seconds = time.perf_counter() - start
            again = between.sent.count(b'"initialize"') - before
            assert again == int(revision == LEGACY), f"{again} sessions were opened after it"
            # Their effect is unknown, so they must not be resent.
            for ms in (b"60001", b"60002", b"3"):
                times = between.sent.count(b'"ms":' + ms + b"}") + between.sent.count(b'"ms": ' + ms + b"}")
                assert times == 1, f"the call of {ms.decode()} ms was sent {times} times"
            return seconds
    finally:
        front.close()
        between.server.kill()
        await between.server.ended()


@row("a server over HTTP is killed and started again: calls after it", 5, "s")
async def server_restarted(language: Language) -> float:
    return await restarted(language, "auto")


@row("a server over HTTP is killed and started again: calls of a session after it", 5, "s")
async def server_of_session_restarted(language: Language) -> float:
    return await restarted(language, LEGACY)
