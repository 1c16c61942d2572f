"""Clients of a server of this process, on other event loops and threads than the one that serves
it.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
import weakref
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from support import TIMEOUT, Heard, run, until
from test_calls import Slow
from trunkline import Client, Context, ElicitResult, InvalidArgumentError, Server, SyncClient
from trunkline._internal.port import bell


@pytest.fixture(
    autouse=True, params=[bell.ThreadBell] if sys.platform == "win32" else [bell.SocketBell, bell.ThreadBell]
)
def bells(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of bells, because Windows uses the second."""
    monkeypatch.setattr("trunkline._internal.port.lifecycle.make_bell", request.param)


HANDLERS = pytest.mark.parametrize("name", ["steps", "steps_in_thread"])


@contextmanager
def served_elsewhere(server: Server, how: str) -> Generator[threading.Event]:
    """Another thread's loop serves the server, until the block ends, or the event is set and the
    thread has ended.
    """
    ready, done = threading.Event(), threading.Event()

    async def serve() -> None:
        async with Client(server) if how == "client" else server.serve_http(port=0):
            ready.set()
            await asyncio.to_thread(done.wait, TIMEOUT)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="elsewhere")
    thread.start()
    try:
        assert ready.wait(TIMEOUT)
        yield done
    finally:
        done.set()
        thread.join()


def leave(done: threading.Event) -> None:
    """Ends the other loop."""
    done.set()
    for thread in threading.enumerate():
        if thread.name == "elsewhere":
            thread.join()


@HANDLERS
def test_a_client_on_another_loop(name: str) -> None:
    slow, heard, changes = Slow(), Heard(), list[int]()

    async def check() -> None:
        here = threading.get_ident()
        async with Client(slow.server, on_tools_changed=lambda: changes.append(threading.get_ident())) as client:
            assert (await client.call_tool(name, on_progress=heard.hear)).text == "done"
            assert heard[-1] == (3, 3, "step 3")
            slow.server.add_tool(slow.later, name="late")
            await until(lambda: changes, "the change")
            assert set(changes) == {here}
            call = asyncio.ensure_future(client.call_tool("late"))
            await until(slow.started.is_set, "the handler")
            call.cancel()
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")

    with served_elsewhere(slow.server, "listener"):
        run(check())


@HANDLERS
def test_a_blocking_client_next_to_another_loop(name: str) -> None:
    slow, heard = Slow(), Heard()
    with served_elsewhere(slow.server, "listener"), SyncClient(slow.server) as client:
        assert client.call_tool(name, on_progress=heard.hear).text == "done"
        assert heard[-1] == (3, 3, "step 3")


def test_a_request_that_is_cancelled_while_the_loop_of_its_client_is_busy() -> None:
    server = Server("test", version="1")

    @server.tool
    async def ask(ctx: Context) -> str:
        try:
            await ctx.elicit("Your name?", {"type": "object", "properties": {}}, timeout=0.1)
        except TimeoutError:
            return "timed out"
        return "answered"

    async def never(_request: object) -> ElicitResult[Any]:
        await asyncio.sleep(TIMEOUT)
        return ElicitResult("decline")

    async def check() -> None:
        client = Client(server, revision="2025-11-25")
        client.on_elicit(never)
        async with client:
            port = client._port
            assert port is not None
            call = asyncio.ensure_future(client.call_tool("ask"))
            await asyncio.sleep(0)
            time.sleep(0.5)
            assert (await call).text == "timed out"
            await until(lambda: not port.tasks, "the end of the handler")

    with served_elsewhere(server, "listener"):
        run(check())


@pytest.mark.parametrize("how", ["client", "listener"])
@HANDLERS
def test_the_loop_that_serves_may_end_first(name: str, how: str) -> None:
    slow = Slow()

    async def check(done: threading.Event) -> None:
        async with Client(slow.server) as client:
            assert (await client.call_tool(name)).text == "done"
            in_flight = asyncio.ensure_future(client.call_tool("in_thread"))
            await until(slow.started.is_set, "the handler")
            await asyncio.to_thread(leave, done)
            assert (await client.call_tool(name)).text == "done"
            in_flight.cancel()
            await until(lambda: slow.ended == ["cancelled"], "the handler's end")

    with served_elsewhere(slow.server, how) as done:
        run(check(done))
    assert_nothing_is_left()


@pytest.mark.parametrize("how", ["client", "listener"])
@HANDLERS
def test_the_loop_that_serves_may_end_before_a_blocking_client(name: str, how: str) -> None:
    slow = Slow()
    with served_elsewhere(slow.server, how) as done, SyncClient(slow.server) as client:
        assert client.call_tool(name).text == "done"
        leave(done)
        assert client.call_tool(name).text == "done"
    assert_nothing_is_left()


def test_a_loop_dropped_with_its_client_is_replaced() -> None:
    slow = Slow()

    async def forget() -> None:
        await Client(slow.server).connect()

    asyncio.run(forget())
    with SyncClient(slow.server) as client:
        assert client.call_tool("steps").text == "done"

    async def check() -> None:
        async with Client(slow.server) as client:
            assert (await client.call_tool("steps")).text == "done"

    run(check())


def test_what_a_loop_left_open_closes_at_once_on_the_next() -> None:
    slow = Slow()
    client, listener = Client(slow.server), slow.server.serve_http(port=0)
    run(client.connect())
    run(listener.start())
    run(client.close())
    run(listener.close())
    assert_nothing_is_left()


def test_blocking_clients_close_in_any_order() -> None:
    slow = Slow()
    first, second, third = SyncClient(slow.server), SyncClient(slow.server), SyncClient(slow.server)
    for client in (first, second, third):
        client.connect()
    for client, others in ((first, (second, third)), (third, (second,))):
        client.close()
        for other in others:
            assert other.call_tool("steps").text == "done"
    second.close()
    assert_nothing_is_left()


def test_blocking_clients_open_and_close_on_many_threads() -> None:
    server = Server("test", version="1")

    @server.tool
    async def echo(number: int) -> int:
        return number

    def use(number: int) -> int:
        with SyncClient(server) as client:
            return int(client.call_tool("echo", {"number": number}).text)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(use, range(100))) == list(range(100))
    assert_nothing_is_left()


def test_a_server_of_a_blocking_client_has_no_other_loop() -> None:
    async def check(server: Server) -> None:
        async with Client(server) as client:
            assert (await client.call_tool("steps")).text == "done"
        with pytest.raises(InvalidArgumentError, match=r"after `start\("):
            await server.serve_http(port=0)

    slow = Slow()
    with SyncClient(slow.server) as client:
        run(check(slow.server))
        assert client.call_tool("steps").text == "done"
    assert_nothing_is_left()


def test_more_events_than_one_batch_while_the_loop_is_blocked() -> None:
    server = Server("test", version="1")

    @server.tool
    async def chatter(number: int) -> int:
        return number

    async def check() -> None:
        async with Client(server) as client:
            calls = [asyncio.ensure_future(client.call_tool("chatter", {"number": n})) for n in range(1000)]
            await asyncio.sleep(0)
            time.sleep(0.2)
            assert [result.text for result in await asyncio.gather(*calls)] == [str(n) for n in range(1000)]

    run(check())
    assert_nothing_is_left()


def test_a_blocking_client_gets_all_progress_before_the_reply() -> None:
    heard = Heard()
    server = Server("test", version="1")

    @server.tool
    async def count(ctx: Context) -> str:
        for step in range(300):
            await ctx.progress(step)
            await asyncio.sleep(0)
        return "done"

    with SyncClient(server) as client:
        assert client.call_tool("count", on_progress=heard.hear).text == "done"
    assert heard[-1][0] == 299


def test_a_dropped_port_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trunkline._internal.port.pool._IDLE_MS", 200)
    server = Server("test", version="1")
    server.add_tool(lambda: "hello", name="hello")
    before = set(threading.enumerate())
    asyncio.run(_use(server))
    port = weakref.ref(server._bind())
    del server
    gc.collect()
    end = time.monotonic() + TIMEOUT
    while port() is not None or not before.issuperset(threading.enumerate()):
        assert time.monotonic() < end, threading.enumerate()
        gc.collect()
        time.sleep(0.05)


async def _use(server: Server) -> None:
    client = Client(server)
    await client.connect()
    assert (await client.call_tool("hello")).text == "hello"


def assert_nothing_is_left() -> None:
    assert not [thread.name for thread in threading.enumerate() if thread.name == "trunkline-loop"]
