"""Helpers of the tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
TIMEOUT = 30.0
# Redis is for Linux and its kin; `cargo xtask test` installs it there.
SHARED_STORES = ["sqlite", *(["redis"] if sys.platform == "linux" else [])]


class Heard(list[tuple[float, "float | None", "str | None"]]):
    """The progress that was reported."""

    def hear(self, progress: float, total: float | None, message: str | None) -> None:
        self.append((progress, total, message))


class Scripted:
    """The transport to a server that answers each method with a text."""

    def __init__(self, results: Mapping[str, str | None]) -> None:
        self._results = results
        self._answers: asyncio.Queue[str] = asyncio.Queue()

    async def connect(self) -> None:
        self._answers = asyncio.Queue()

    async def send(self, message: str) -> None:
        request = json.loads(message)
        if "id" in request:
            head = f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])}'
            self._answers.put_nowait(f'{head},"result":{self._results[request["method"]]}}}')

    async def receive(self) -> str:
        return await self._answers.get()

    async def close(self) -> None:
        pass


def ignore(_progress: float, _total: float | None, _message: str | None) -> None:
    """Requests progress and ignores it."""


def named(value: object) -> str:
    """Names a parameter the same in every process: without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", str(value))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs one test on its own event loop; nothing may take longer than the deadline."""
    return asyncio.run(asyncio.wait_for(coroutine, TIMEOUT))


async def until(condition: Callable[[], object], what: str) -> None:
    """Waits until the condition holds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        await asyncio.sleep(0.005)


def script(folder: Path, source: str, name: str = "program.py") -> list[str]:
    """The command of a Python program with this source."""
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return [sys.executable, str(path)]


def environment() -> dict[str, str]:
    """The environment in which child processes find the package."""
    import trunkline

    paths = [str(Path(trunkline.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def free_port() -> int:
    """A port that nothing else gets: local ports of connections are above these."""
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextlib.contextmanager
def redis() -> Generator[str]:
    """The URL of a server of Redis of the test's own."""
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < end, "redis-server does not listen"
                time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def shared_store(kind: str, folder: Path) -> Generator[str]:
    """The URL of a store of the test's own that processes can share."""
    if kind == "sqlite":
        yield f"sqlite:{folder / 'state.db'}"
    else:
        with redis() as url:
            yield url


class Lifeline:
    """True while a child process is alive: it holds a connection, which the system closes when the
    process ends.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(TIMEOUT)
        # To be put at the start of the child's program.
        self.source = (
            "import socket\n"
            f"lifeline = socket.create_connection({self._listener.getsockname()!r})\n"
            "lifeline.sendall(b'x')\n"
        )
        self._held: socket.socket | None = None

    def wait_for_the_start(self) -> None:
        """Returns when the child has connected."""
        self._held, _ = self._listener.accept()
        self._held.settimeout(TIMEOUT)
        assert self._held.recv(1) == b"x"

    def wait_for_the_end(self) -> None:
        """Returns when the child has ended."""
        assert self._held is not None
        try:
            assert self._held.recv(1) == b""
        except ConnectionError:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        if self._held is not None:
            self._held.close()


def finish(command: list[str], *, text: str = "") -> subprocess.CompletedProcess[str]:
    """Runs a program to its end."""
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=TIMEOUT, env=environment(), check=False
    )
