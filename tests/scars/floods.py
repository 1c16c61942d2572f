"""Floods: other calls take at most twice as long, or are answered soon."""

import asyncio
import contextlib
import os
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

from crowd import bystander_call
from peer import WAIT_TIMEOUT, Endpoint, Language, endpoint
from row import row

MAX_SLOWDOWN = 2
# Seconds. Scheduling latency on an otherwise idle processor may be that long, whatever the server
# does: below it, a call that takes twice as long proves nothing.
MIN_LATENCY = 0.005
# Seconds: a flood without pauses uses all the processor time it gets.
MAX_LATENCY = 0.1
ROUNDS = 3
CALLS = 20
# One call out of that many may have waited for the machine.
SLOW_SHARE = 20
# A process below this CPU usage is idle.
MAX_IDLE_CPU = 0.1


async def calls(server: Endpoint) -> list[float]:
    """Seconds of each of some calls."""
    taken: list[float] = []
    for _ in range(CALLS):
        start = time.perf_counter()
        await bystander_call(server)
        taken.append(time.perf_counter() - start)
        await asyncio.sleep(0.01)
    return taken


async def at_rest(server: Endpoint) -> None:
    """Waits until the work left by an earlier flood is done."""
    end = time.monotonic() + WAIT_TIMEOUT
    used, since = server.processor_time(), time.monotonic()
    while time.monotonic() < end:
        await asyncio.sleep(0.2)
        now, at = server.processor_time(), time.monotonic()
        if now - used < MAX_IDLE_CPU * (at - since):
            return
        used, since = now, at
    raise AssertionError(f"the server was not at rest {WAIT_TIMEOUT} s after a flood")


def floor() -> float:
    """Scheduling latency when other processes compete for the processors."""
    return MIN_LATENCY * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextlib.asynccontextmanager
async def flood(server: Endpoint, kind: str) -> AsyncGenerator[None]:
    """A running flood, from a low-priority process."""
    program = Path(__file__).with_name("flooder.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(program), kind, server.host, str(server.port)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout
    try:
        line = await asyncio.wait_for(process.stdout.readline(), WAIT_TIMEOUT)
        assert line == b"flooding\n", f"there is no flood: {line!r}"
        yield
        assert process.returncode is None, f"the flood ended with {process.returncode}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def beside(server: Endpoint, kind: str) -> list[float]:
    """Seconds of each of some calls during a flood."""
    async with flood(server, kind):
        return await calls(server)


async def slowdown(language: Language, kind: str) -> float:
    """The median time of calls during a flood relative to calls without it. They alternate, so that
    other load on the machine affects both.
    """
    async with endpoint(language) as server:
        await calls(server)
        quiet: list[float] = []
        flooded: list[float] = []
        for _ in range(ROUNDS):
            await at_rest(server)
            quiet += await calls(server)
            flooded += await beside(server, kind)
        slow = [seconds for seconds in flooded if seconds > 1]
        assert len(slow) <= len(flooded) // SLOW_SHARE, f"calls during it took {slow} s"
        median = statistics.median(flooded)
        times = median / statistics.median(quiet)
        return min(times, MAX_SLOWDOWN) if median <= floor() else times


@row("a flood of unread progress: concurrent calls", MAX_SLOWDOWN, "times as long", alone=True)
async def progress_that_nobody_reads(language: Language) -> float:
    return await slowdown(language, "unread")


@row("a flood of progress: concurrent calls", MAX_SLOWDOWN, "times as long", alone=True)
async def progress_that_is_read(language: Language) -> float:
    return await slowdown(language, "progress")


@row("a flood of progress without a pause: concurrent calls", MAX_LATENCY, "s", alone=True)
async def progress_without_a_pause(language: Language) -> float:
    async with endpoint(language) as server:
        await calls(server)
        return statistics.median([seconds for _ in range(ROUNDS) for seconds in await beside(server, "steady")])


@row("a flood of log messages: concurrent calls", MAX_SLOWDOWN, "times as long", alone=True)
async def log_messages(language: Language) -> float:
    return await slowdown(language, "log")


@row("a storm of cancelled calls: other calls", MAX_SLOWDOWN, "times as long", alone=True)
async def cancelled_calls(language: Language) -> float:
    return await slowdown(language, "cancel")
