"""State that outlives a process: the option `store`, with real processes."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support import SHARED_STORES, TIMEOUT, environment, free_port, run, script, shared_store
from trunkline import BusyError, Client, InvalidArgumentError, ProtocolError, Server

WORKER = """
import asyncio
import sys
from trunkline import Server

server = Server("reports", version="1", store=sys.argv[1], task_poll_interval=0.02, drain_deadline=2)

@server.tool(task="optional")
async def report() -> str:
    return "the report"

@server.tool(task="required")
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"

@server.tool
async def echo(text: str) -> str:
    return text

server.run_http(port=0, on_ready=lambda listener: print(listener.url, flush=True))
"""


@pytest.fixture(params=SHARED_STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of a store that processes can share."""
    with shared_store(request.param, tmp_path) as url:
        yield url


@contextlib.contextmanager
def worker(folder: Path, store: str) -> Generator[str]:
    """The URL of a process that serves."""
    with process_and_url(folder, store) as (_, url):
        yield url


@contextlib.contextmanager
def process_and_url(folder: Path, store: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([*script(folder, WORKER), store], stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout
    try:
        url = process.stdout.readline().strip()
        assert url, "the worker has ended"
        yield process, url
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def post(url: str, session: str, method: str, params: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
    """Status, session and message of the response to a legacy request."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        session_header = {"Mcp-Session-Id": session} if session else {}
        connection.request("POST", address.path, json.dumps(message), {**headers, **session_header})
        response = connection.getresponse()
        return response.status, response.headers.get("Mcp-Session-Id", ""), json.loads(response.read())
    finally:
        connection.close()


OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


def test_a_task_of_one_process_can_be_fetched_from_another(tmp_path: Path, store: str) -> None:
    async def check(one: str, other: str) -> None:
        async with Client(one) as client, Client(other) as elsewhere:
            task = await client.start_task("report")
            async with await elsewhere.resume_task(task.id or "") as again:
                assert (await again.result()).text == "the report"

    with worker(tmp_path, store) as one, worker(tmp_path, store) as other:
        run(check(one, other))


def test_the_result_of_a_task_outlives_its_process(tmp_path: Path, store: str) -> None:
    async def begin(url: str) -> str:
        async with Client(url) as client:
            task = await client.start_task("report")
            assert (await task.result()).text == "the report"
            return task.id or ""

    async def read(url: str, task: str) -> None:
        async with Client(url) as client, await client.resume_task(task) as again:
            assert (await again.result()).text == "the report"

    with worker(tmp_path, store) as one:
        task = run(begin(one))
    with worker(tmp_path, store) as later:
        run(read(later, task))


def test_tasks_of_a_process_that_is_shutting_down_get_the_drain_deadline(tmp_path: Path, store: str) -> None:
    async def begin(url: str) -> list[str]:
        async with Client(url) as client:
            return [(await client.start_task("wait", {"seconds": seconds})).id or "" for seconds in (0.5, 60)]

    async def read(url: str, short: str, long: str) -> None:
        async with Client(url) as client:
            async with await client.resume_task(short) as task:
                assert (await task.result()).text == "done"
            async with await client.resume_task(long) as task:
                with pytest.raises(ProtocolError) as caught:
                    await task.result()
                assert (caught.value.code, caught.value.data) == (-32603, {"reason": "interrupted"})
                assert (await client.get_task(long)).status == "failed"

    with process_and_url(tmp_path, store) as (process, one), worker(tmp_path, store) as other:
        short, long = run(begin(one))
        process.send_signal(signal.SIGTERM)
        process.wait(TIMEOUT)
        run(read(other, short, long))


def test_another_process_can_serve_a_session(tmp_path: Path, store: str) -> None:
    with worker(tmp_path, store) as one, worker(tmp_path, store) as other:
        status, session, _ = post(one, "", "initialize", OPENING)
        assert status == 200 and session
        status, _, answer = post(other, session, "tools/call", {"name": "echo", "arguments": {"text": "here"}})
        assert (status, answer["result"]["content"][0]["text"]) == (200, "here")


@pytest.mark.parametrize("store", ["memory:", None])
def test_without_a_shared_store_a_process_keeps_its_own_tasks(store: str | None) -> None:
    async def check() -> None:
        async def report() -> str:
            return "the report"

        server, other = [Server("reports", version="1", store=store, task_poll_interval=0.02) for _ in range(2)]
        server.add_tool(report, task="optional")
        other.add_tool(report, task="optional")
        async with Client(server) as client, Client(other) as elsewhere:
            task = await client.start_task("report")
            assert (await task.result()).text == "the report"
            with pytest.raises(ProtocolError, match="Unknown or expired task"):
                await elsewhere.resume_task(task.id or "")

    run(check())


def test_a_server_continues_with_its_store_in_another_loop(tmp_path: Path) -> None:
    server = Server("reports", version="1", store=f"sqlite:{tmp_path / 'state.db'}", task_poll_interval=0.02)

    @server.tool(task="optional")
    async def report() -> str:
        return "the report"

    async def begin() -> tuple[str, str]:
        async with server.serve_http(port=0) as listener, Client(listener.url) as client:
            task = await client.start_task("report")
            assert (await task.result()).text == "the report"
            opened = await asyncio.to_thread(post, listener.url, "", "initialize", OPENING)
            return task.id or "", opened[1]

    async def go_on(task: str, session: str) -> None:
        async with server.serve_http(port=0) as listener, Client(listener.url) as client:
            async with await client.resume_task(task) as again:
                assert (await again.result()).text == "the report"
            assert (await (await client.start_task("report")).result()).text == "the report"
            status, _, answer = await asyncio.to_thread(post, listener.url, session, "ping", {})
            assert (status, answer["result"]) == (200, {})

    task, session = run(begin())
    run(go_on(task, session))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://user:secret@host/x", "store mysql://host/x cannot be used this way: supported URLs are memory:"),
        ("sqlite:", "the path of the file is missing"),
        ("redis://user:secret@host?namespace=a:b", "namespace must have 1 to 64 letters"),
    ],
)
def test_an_invalid_store_url_is_refused_immediately(url: str, problem: str) -> None:
    with pytest.raises(InvalidArgumentError, match=problem) as refused:
        Server("reports", version="1", store=url)
    assert "secret" not in str(refused.value)


def test_while_redis_is_unreachable_calls_that_need_it_are_refused_as_busy_and_others_continue(tmp_path: Path) -> None:
    async def check(url: str) -> None:
        async with Client(url) as client:
            with pytest.raises(BusyError, match="Busy: the store of tasks is not available"):
                await client.start_task("report")
            assert (await client.call_tool("echo", {"text": "here"})).text == "here"

    with worker(tmp_path, f"redis://user:secret@127.0.0.1:{free_port()}") as url:
        run(check(url))
        status, session, answer = post(url, "", "initialize", OPENING)
        assert (status, session) == (503, "")
        assert answer["error"]["message"].endswith("the store of sessions is not available"), answer
