"""Servers that a client starts: their process id, and the destination of their standard error."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from support import environment, finish, run, script, until
from trunkline import Client, InvalidArgumentError, Server, SyncClient, TransportError

SERVER = """
import os, sys
from trunkline import Server

server = Server("child", version="1")
print("a line of the server", file=sys.stderr, flush=True)

@server.tool
def pid() -> int:
    return os.getpid()

@server.tool
def leave() -> None:
    os._exit(3)

server.run()
"""

HOST = """
import logging, sys
from trunkline import SyncClient, TransportError

logging.disable()  # a record of the end has the last lines, too

with SyncClient([sys.executable, sys.argv[1]], inherit_env=True, stderr=sys.argv[2], revision="2025-11-25") as client:
    try:
        client.call_tool("leave")
    except TransportError as error:
        print(error.stderr)
"""


def test_a_client_knows_the_process_id_of_a_server_that_it_started(tmp_path: Path) -> None:
    with SyncClient(script(tmp_path, SERVER), env=environment()) as client:
        first = client.pid
        assert first is not None and str(first) == client.call_tool("pid").text
        with pytest.raises(TransportError):
            client.call_tool("leave")
        second = int(client.call_tool("pid").text)  # it was started again
        assert client.pid == second != first

    async def check() -> None:
        async with Client(script(tmp_path, SERVER), env=environment()) as client:
            assert str(client.pid) == (await client.call_tool("pid")).text
        async with Client(Server("here", version="1")) as client:
            assert client.pid is None

    run(check())


@pytest.mark.skipif(sys.platform == "win32", reason="signal 0 would be Ctrl-C")
def test_a_dropped_client_ends_the_server_that_it_started(tmp_path: Path) -> None:
    async def connected() -> int | None:
        client = Client(script(tmp_path, SERVER), env=environment(), on_notification=lambda _method, _params: None)
        await client.connect()
        return client.pid

    async def check() -> None:
        child = await connected()
        assert child is not None
        gc.collect()
        await until(lambda: not is_running(child), "the end of the server")

    def is_running(child: int) -> bool:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return False
        return True

    run(check())


@pytest.mark.parametrize(("stderr", "shown", "kept"), [("inherit", 1, 1), ("keep", 0, 1), ("discard", 0, 0)])
def test_the_standard_error_of_a_server_goes_where_the_option_says(
    tmp_path: Path, stderr: str, shown: int, kept: int
) -> None:
    (server,) = script(tmp_path, SERVER, "server.py")[1:]
    done = finish([*script(tmp_path, HOST), server, stderr])
    assert done.returncode == 0, done
    assert (done.stderr.count("a line of the server"), done.stdout.count("a line of the server")) == (shown, kept)


def test_the_standard_error_of_a_server_goes_to_a_file(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("before\n")
    with SyncClient(script(tmp_path, SERVER), env=environment(), stderr_file=log) as client:
        assert client.pid
    lines = log.read_text().splitlines()
    assert lines[0] == "before" and "a line of the server" in lines
    missing = str(tmp_path / "none" / "server.log")
    with pytest.raises(TransportError, match=r"the file for its standard error, .*server\.log, cannot be opened"):
        SyncClient(script(tmp_path, SERVER), stderr_file=missing).connect()


def test_an_unknown_destination_is_refused(tmp_path: Path) -> None:
    options = cast("Any", {"stderr": "file"})
    with pytest.raises(InvalidArgumentError, match="stderr"), SyncClient(script(tmp_path, SERVER), **options):
        pass
