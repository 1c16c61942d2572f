"""The threads for `def` handlers: one of them always waits for the next call, whatever happens to
the others.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator, Sequence
from typing import Any, cast

import pytest

from support import TIMEOUT, run, until
from trunkline import Auth, Client, Identity, PresentedToken, Server, SyncContext
from trunkline._internal.port.pool import Pool
from trunkline._internal.port.turns import Turns


class Together:
    """Replaces a port: all threads find nothing to do at the same time, and then wait forever."""

    def __init__(self, threads: int) -> None:
        self.native: Any = self
        self.handlers: dict[int, Any] = {}
        self._first = threading.Barrier(threads)
        self._seen = threading.local()
        self.over = threading.Event()

    def drain(self, _lane: str, _max: int, _wait_ms: int) -> list[Any]:
        if hasattr(self._seen, "once"):
            self.over.wait(TIMEOUT)
        else:
            self._seen.once = True
            self._first.wait(TIMEOUT)
        return []


@pytest.fixture
def impatient() -> Generator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("impatient")
def test_idle_threads_do_not_all_end_at_once() -> None:
    for _ in range(200):
        port = Together(8)
        pool = Pool(cast("Any", port), 8)
        with pool._lock:
            for _ in range(8):
                pool._spawn()
            threads = [*pool._threads]
        end = time.monotonic() + TIMEOUT
        while sum(thread.is_alive() for thread in threads) > 1:
            assert time.monotonic() < end, "nobody ends"
            time.sleep(0)
        time.sleep(0)
        (left,) = (thread for thread in threads if thread.is_alive())
        assert pool._threads == pool._waiting == {left}
        pool.stop()
        port.over.set()
        left.join(TIMEOUT)


class Blocking:
    """Replaces a port whose calls all block: each thread takes one and never returns."""

    def __init__(self, calls: int) -> None:
        self.native: Any = self
        self.handlers: dict[int, Any] = {}
        self.begun, self.over = 0, threading.Event()
        self._left = iter(range(calls))
        self._lock = threading.Lock()

    def drain(self, _lane: str, _max: int, _wait_ms: int) -> list[Any]:
        with self._lock:
            number = next(self._left, None)
        if number is None:
            self.over.wait(TIMEOUT)
            return []
        return [("call", number, 0, 0, "", None, 0, 0)]

    def cancelled(self, _ticket: int) -> bool:
        with self._lock:
            self.begun += 1
        self.over.wait(TIMEOUT)
        return True


def test_a_hundred_calls_that_wait_have_threads_after_a_few_stalls(monkeypatch: pytest.MonkeyPatch) -> None:
    port, stalls, sleep = Blocking(100), list[float](), time.sleep

    def count(seconds: float) -> None:
        if threading.current_thread().name == "trunkline-reserve":
            stalls.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", count)
    pool = Pool(cast("Any", port), None)
    pool.start()
    end = time.monotonic() + TIMEOUT
    while port.begun < 100:
        assert time.monotonic() < end, f"{port.begun} calls have begun"
        sleep(0.001)
    threads = len(pool._threads)
    pool.stop()
    port.over.set()
    assert len(stalls) < 20
    assert threads <= pool.limit


def test_a_call_runs_even_if_the_system_has_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server("test", version="1", max_threads=4)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("trunkline-"):
            raise RuntimeError("can't start new thread")
        start(thread)

    @server.tool
    def work(number: int) -> int:
        return number

    async def check() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await Client(server).connect()
        async with Client(server) as client:
            monkeypatch.setattr(threading.Thread, "start", refuse)
            for number in range(10):
                assert (await client.call_tool("work", {"number": number}, timeout=10)).text == str(number)
            pool = server._bind().pool
            assert len(pool._threads) == 1
            await until(lambda: pool._waiting == pool._threads, "the thread to come back")

    run(check())


def test_a_call_that_was_cancelled_while_it_waited_for_a_thread_does_not_run() -> None:
    server = Server("test", version="1", max_threads=1)
    begun, go_on = list[str](), threading.Event()

    @server.tool
    def work(name: str) -> str:
        begun.append(name)
        go_on.wait(TIMEOUT)
        return name

    async def check() -> None:
        import asyncio

        async with Client(server) as client:
            first = asyncio.ensure_future(client.call_tool("work", {"name": "first"}))
            await until(lambda: begun, "the first call")
            second = asyncio.ensure_future(client.call_tool("work", {"name": "second"}))
            third = asyncio.ensure_future(client.call_tool("work", {"name": "third"}))
            await asyncio.sleep(0.05)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            await client.ping()  # by then the server knows
            go_on.set()
            assert ((await first).text, (await third).text) == ("first", "third")

    run(check())
    assert begun == ["first", "third"]


class Principals:
    """Replaces the native port: the principal of a call is in a list, by its ticket."""

    def __init__(self, principals: list[str | None]) -> None:
        self.principals = principals
        self.over: set[int] = set()

    def describe(self, ticket: int) -> dict[str, Any]:
        principal = self.principals[ticket]
        return {"auth": {"principal": principal}} if principal else {}

    def cancelled(self, ticket: int) -> bool:
        return ticket in self.over


def scheduled(
    limit: int, principals: Sequence[str | None]
) -> tuple[Turns, Principals, list[str | None], list[threading.Thread]]:
    """Turns after all calls have arrived, the principals of those that run, and their threads."""
    native = Principals([*principals])
    turns, running, threads = Turns(cast("Any", native), limit), list[str | None](), list[threading.Thread]()
    for ticket in range(len(principals)):
        thread = threading.Thread()
        found = turns.take(thread, [(1, ticket, 0, True, "", None, 0, 0)])
        if found:
            running.append(principals[found[1]])
            threads.append(thread)
    return turns, native, running, threads


def test_some_threads_are_left_to_callers_who_have_none() -> None:
    turns, native, running, threads = scheduled(16, ["alice"] * 50 + ["bob"] * 3 + ["carol"] * 3)
    assert running == ["alice"] * 14 + ["bob", "carol"]

    def next_after(index: int) -> str | None:
        turns.end(threads[index])
        found = turns.take(threads[index], [])
        return found and native.principals[found[1]]

    # The next one of a caller who has none now.
    assert next_after(14) == "bob"
    assert not turns.is_ready()
    # A thread of Alice is one of those that are left to others.
    assert next_after(0) is None
    assert next_after(1) is None
    assert [next_after(index) for index in range(2, 8)] == ["alice", "carol", "bob", "alice", "carol", "alice"]


def test_callers_without_a_token_may_use_all_threads() -> None:
    running = scheduled(16, [None] * 16)[2]
    assert len(running) == 16


def test_callers_take_turns_on_few_threads() -> None:
    turns, native, _, threads = scheduled(2, ["alice"])
    assert turns.batch_size() > 1
    principals = ["alice"] * 5 + ["bob"] * 2
    native.principals += principals
    events = [(1, 1 + number, 0, True, "", None, 0, 0) for number in range(len(principals))]
    last = threading.Thread()
    taken = [turns.take(last, events)]
    for _ in range(6):
        turns.end(threads[0])
        taken.append(turns.take(threads[0], []))
    assert [native.principals[found[1]] if found else None for found in taken] == [
        *["alice", "bob"] * 2,
        *["alice"] * 3,
    ]


def test_calls_that_were_cancelled_while_they_waited_are_forgotten() -> None:
    turns, native, _, _ = scheduled(16, ["alice"] * 20)
    for ticket in range(20, 20_000):
        native.principals.append("alice")
        turns.take(threading.current_thread(), [(1, ticket, 0, True, "", None, 0, 0)])
        native.over.add(ticket)
    assert sum(map(len, turns._waiting.values())) < 2000


def test_one_principal_does_not_hold_up_another() -> None:
    server = Server("test", version="1", max_threads=16)
    started, go_on = threading.Semaphore(0), threading.Event()

    @server.tool
    def block() -> str:
        started.release()
        go_on.wait(TIMEOUT)
        return "late"

    @server.tool
    def now(ctx: SyncContext) -> str:
        return str(ctx.auth and ctx.auth.subject)

    def judged(token: PresentedToken) -> Identity:
        return Identity(subject=token.headers["authorization"].removeprefix("Bearer "))

    async def check() -> None:
        import asyncio

        auth = Auth("http://127.0.0.1/mcp", authorization_servers=["https://login.example"], verifier=judged)
        async with server.serve_http(port=0, auth=auth) as listener:
            headers = ({"Authorization": f"Bearer {name}"} for name in ("alice", "bob"))
            async with (
                Client(listener.url, headers=next(headers)) as alice,
                Client(listener.url, headers=next(headers)) as bob,
            ):
                calls = [asyncio.ensure_future(alice.call_tool("block")) for _ in range(40)]
                try:
                    for _ in range(14):
                        assert await asyncio.to_thread(started.acquire, timeout=TIMEOUT)
                    # While none of Alice's ends.
                    assert (await bob.call_tool("now", timeout=15)).text == "bob"
                finally:
                    go_on.set()
                assert [(await call).text for call in calls] == ["late"] * 40

    run(check())
