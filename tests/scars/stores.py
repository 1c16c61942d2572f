"""Stores that servers share: a process of redis-server, and a SQLite file."""

import asyncio
import contextlib
import random
import signal
import socket
import tempfile
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from peer import START_TIMEOUT

TLS = Path(__file__).parents[2] / "core/tests/tls"
# Signs the certificate of this Redis; a process with SSL_CERT_FILE trusts it.
AUTHORITY = TLS / "ca.pem"
# Preloaded, it fills the disk of a store.
FULL_DISK = Path(__file__).with_name("full_disk.c")


@dataclass
class Redis:
    """A redis-server that stores everything in a folder."""

    folder: str
    port: int
    tls_port: int
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        return f"rediss://localhost:{self.tls_port}"

    async def start(self) -> None:
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", self.folder, "--save", ""]
        options += ["--tls-port", str(self.tls_port), "--tls-auth-clients", "no", "--tls-ca-cert-file", str(AUTHORITY)]
        options += ["--tls-cert-file", str(TLS / "server.pem"), "--tls-key-file", str(TLS / "server.key")]
        null = asyncio.subprocess.DEVNULL
        try:
            self.process = await asyncio.create_subprocess_exec(
                "redis-server", *options, "--appendonly", "yes", "--appendfsync", "always", stdout=null, stderr=null
            )
        except FileNotFoundError:
            raise AssertionError("redis-server is needed: `cargo xtask test` installs it on Debian") from None
        end = time.monotonic() + START_TIMEOUT
        while not await self.answers():
            assert time.monotonic() < end and self.process.returncode is None, "redis-server does not answer"
            await asyncio.sleep(0.02)

    async def answers(self) -> bool:
        """False until it listens and has loaded its file."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.write(b"GET x\r\n")
        answer = await reader.readline()
        writer.close()
        return answer.startswith(b"$")

    async def set_room(self, size: int) -> None:
        """The maximum memory in bytes, beyond which it refuses writes. 0: unlimited."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"CONFIG SET maxmemory {size}\r\n".encode())
        answer = await reader.readline()
        writer.close()
        assert answer.startswith(b"+OK"), answer

    def pause(self) -> None:
        """Stops answering until `resume`, without closing connections."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGCONT)

    async def stop(self) -> None:
        """Like a crash."""
        if self.process and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()


def free_port() -> int:
    """A port that nothing else gets: ephemeral ports are above these."""
    while True:
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", random.randrange(20_000, 32_000))) as one:
            return one.getsockname()[1]


@contextlib.asynccontextmanager
async def redis() -> AsyncGenerator[Redis]:
    with tempfile.TemporaryDirectory() as folder:
        server = Redis(folder, free_port(), free_port())
        try:
            await server.start()
            yield server
        finally:
            await server.stop()


@dataclass
class Disk:
    """A SQLite file on a disk that can be full, so that writes fail."""

    folder: Path

    @property
    def url(self) -> str:
        return f"sqlite:{self.folder / 'state.db'}"

    @property
    def variables(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.folder / "full_disk.so"), "FULL_DISK": str(self.folder / "full")}

    def fill(self) -> None:
        (self.folder / "full").touch()

    def make_room(self) -> None:
        (self.folder / "full").unlink()


@contextlib.asynccontextmanager
async def disk() -> AsyncGenerator[Disk]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ["-shared", "-fPIC", "-o", str(folder / "full_disk.so"), str(FULL_DISK), "-ldl"]
        compiler = await asyncio.create_subprocess_exec("cc", *options)
        assert await compiler.wait() == 0, "the library of a full disk is not compiled"
        yield Disk(folder)


@contextlib.asynccontextmanager
async def sqlite() -> AsyncGenerator[str]:
    """The URL of a file."""
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:{Path(folder, 'state.db')}"
