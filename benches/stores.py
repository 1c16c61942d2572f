"""Fresh, empty stores for the measured servers."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_TIMEOUT = 10.0
# A tmpfs folder, because CPU is measured and 10,000 sessions need 30,000 commits.
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108


class MissingStore(Exception):
    """This machine has no such store."""


@dataclass(frozen=True)
class Store:
    url: str
    # The store's process.
    pid: int | None = None


@contextlib.contextmanager
def opened(kind: str) -> Iterator[Store]:
    """A store of a kind (`growth.STORES`)."""
    if kind == "redis":
        with _redis() as store:
            yield store
    elif kind == "sqlite":
        with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER if MEMORY_FOLDER.is_dir() else None) as folder:
            yield Store(f"sqlite:{folder}/store.db")
    else:
        yield Store("memory:" if kind == "memory" else "")


@contextlib.contextmanager
def _redis() -> Iterator[Store]:
    program = shutil.which("redis-server")
    if not program:
        raise MissingStore("redis, for there is no redis-server (Debian: apt-get install redis-server)")
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        process = subprocess.Popen(  # noqa: S603
            [program, "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--save", "", "--appendonly", "no"],
            stdout=(Path(folder) / "log").open("w"),
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(process, port)
            yield Store(f"redis://127.0.0.1:{port}", process.pid)
        finally:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + START_TIMEOUT
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), START_TIMEOUT) as asking:
            asking.sendall(b"PING\r\n")
            if asking.recv(64).startswith(b"+PONG"):
                return
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"redis-server does not answer within {START_TIMEOUT:.0f} s")
        time.sleep(0.02)
