"""The measured bridges: their versions, how each is installed, and their command lines."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from workloads import HOME

FOLDER = HOME / "bridges"
# Its processes are not counted.
SERVER = f"{HOME}/bin/ours-rust-server"
OURS = HOME.parent / "release-cli/trunkline"
INSTALL_SECONDS = 600

# The words after the name of the program, given the server: for one direction, the words of its
# command, where `{port}` is the port to listen on; for the other one, its URL.
Words = Callable[[str], Sequence[str]]


@dataclass(frozen=True)
class Bridge:
    name: str
    version: str
    # Returns its program, which it installs unless that is done.
    install: Callable[["Bridge"], Path]
    # Joins clients over HTTP to a server over stdio.
    serve: Words | None = None
    # Joins a client over stdio to a server over HTTP.
    join: Words | None = None
    # Calls to measure: those of a slow one would take minutes.
    calls: int = 1000
    note: str = ""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}{self.note}".strip()

    def words(self, direction: str) -> Words | None:
        return {"serve": self.serve, "join": self.join}[direction]

    @property
    def folder(self) -> Path:
        return FOLDER / f"{self.name}-{self.version}-{self.install.__name__}"

    def disk_bytes(self) -> int:
        """The size on disk, without Node.js and Python."""
        if not self.version:
            return OURS.stat().st_size
        # In blocks, as `du` counts: many files are small.
        return sum(file.lstat().st_blocks * 512 for file in self.folder.rglob("*") if not file.is_dir())


def ours(_: Bridge) -> Path:
    return OURS


def npm(bridge: Bridge) -> Path:
    program = bridge.folder / "node_modules/.bin" / bridge.name
    if not program.exists():
        bridge.folder.mkdir(parents=True, exist_ok=True)
        package = f"{bridge.name}@{bridge.version}"
        install("npm", "install", "--no-audit", "--no-fund", "--prefix", bridge.folder, package)
    return program


def pypi(bridge: Bridge) -> Path:
    """Install into an environment without pip, so that its size is that of the bridge."""
    program = bridge.folder / "bin" / bridge.name
    if not program.exists():
        install(sys.executable, "-m", "venv", "--without-pip", bridge.folder)
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", bridge.folder]
        install(*pip, "install", f"{bridge.name}=={bridge.version}")
    return program


def install(*words: str | Path) -> None:
    command = [str(word) for word in words]
    subprocess.run(command, check=True, timeout=INSTALL_SECONDS, stdout=sys.stderr)  # noqa: S603


def configured(server: str) -> list[str]:
    """The words of FastMCP, which reads a configuration."""
    command, *arguments = server.split()
    file = FOLDER / "fastmcp.json"
    file.write_text(json.dumps({"mcpServers": {"bench": {"command": command, "args": arguments}}}))
    return ["run", str(file), "--transport", "http", "--port", "{port}", "--path", "/mcp", "--no-banner"]


STATEFUL = ["--outputTransport", "streamableHttp", "--port", "{port}", "--logLevel", "none"]
BRIDGES = [
    Bridge(
        "trunkline bridge",
        "",
        ours,
        lambda server: ["bridge", "--listen", "127.0.0.1:{port}", "--", *server.split()],
        lambda url: ["bridge", url],
        5000,
    ),
    Bridge("mcp-remote", "0.15.1", npm, join=lambda url: [url, "--transport", "http-only"]),
    Bridge(
        "supergateway",
        "4.0.0",
        npm,
        lambda server: ["--stdio", server, "--stateful", *STATEFUL],
        lambda url: ["--streamableHttp", url, "--logLevel", "none"],
    ),
    Bridge(
        "supergateway",
        "4.0.0",
        npm,
        lambda server: ["--stdio", server, *STATEFUL],
        calls=50,
        note=", without sessions",
    ),
    Bridge(
        "mcp-proxy",
        "6.7.19",
        npm,
        lambda server: ["--port", "{port}", "--host", "127.0.0.1", "--server", "stream", "--", *server.split()],
        note=" (npm)",
    ),
    Bridge(
        "mcp-proxy",
        "0.13.0",
        pypi,
        lambda server: ["--port", "{port}", "--", *server.split()],
        lambda url: ["--transport", "streamablehttp", url],
        note=" (PyPI)",
    ),
    Bridge("fastmcp", "4.2.3", pypi, configured, lambda url: ["run", url, "--no-banner"], 200),
]
