"""The measured servers, clients and workloads."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import growth

HERE = Path(__file__).resolve().parent
HOME = Path(os.environ.get("TRUNKLINE_BENCH_HOME") or HERE.parent / "target" / "bench")
VENVS = HOME.parent / "venvs"
LOAD = f"{HOME}/bin/mcpload"
# An access token, and what a server needs to verify it.
AUTH = HERE.parent / "tests/matrix/authorization.json"
TOKEN = json.loads(AUTH.read_text(encoding="utf-8"))["token"]

# Name -> command. Each takes: stdio | http PORT [json] [stateless] [--tools N]; those of FEATURES
# also `features`, ours also --store URL. Arguments after "@" go to the end.
SERVERS = {
    "bare-fixed": f"{HOME}/bin/bare @ fixed",
    "bare": f"{HOME}/bin/bare",
    "bare-python": f"{VENVS}/bench-ours/bin/python {HERE}/peers/bare.py",
    "bare-node": f"node {HOME}/peers/bare.mjs",
    "ours-rust": f"{HOME}/bin/ours-rust-server",
    "ours-c": f"{HOME}/bin/ours-c-server",
    "ours-python": f"{VENVS}/bench-ours/bin/python {HERE}/python/server.py",
    "ours-node": f"node {HOME}/node/server.mjs",
    "ours-go": f"{HOME}/bin/ours-go-server",
    "ours-kotlin": f"java @{HOME}/kotlin-server.options",
    "ours-java": f"java @{HOME}/java-server.options",
    "ours-ruby": f"ruby -I {HOME}/ruby {HERE}/ruby/server.rb",
    "ours-swift": f"{HOME}/bin/ours-swift-server",
    "go-sdk": f"{HOME}/bin/peer-go",
    "java-sdk": f"java @{HOME}/peer-java.options",
    "rmcp": f"{HOME}/bin/peer-rmcp",
    "rmcp-nodelay": f"{HOME}/bin/peer-rmcp @ nodelay",
    "rmcp-1thread": f"env TOKIO_WORKER_THREADS=1 {HOME}/bin/peer-rmcp",
    "py-mcp": f"{VENVS}/mcp-2/bin/python {HERE}/peers/py_mcp.py",
    "py-mcp-uvloop": f"{VENVS}/bench-mcp-uvloop/bin/python {HERE}/peers/py_mcp.py",
    "py-mcp-deflog": f"{VENVS}/mcp-2/bin/python {HERE}/peers/py_mcp.py @ deflog",
    "fastmcp": f"{VENVS}/bench-fastmcp/bin/python {HERE}/peers/py_fastmcp.py",
    "ts-v1": f"node {HOME}/peers/ts1.mjs",
    "ts-v2": f"node {HOME}/peers/ts2.mjs",
}
# Name -> command. Each takes: N INFLIGHT -- server command, or N INFLIGHT URL.
CLIENTS = {
    "ours-rust": f"{HOME}/bin/ours-rust-client",
    "ours-c": f"{HOME}/bin/ours-c-client",
    "ours-python": f"{VENVS}/bench-ours/bin/python {HERE}/python/client.py",
    "ours-node": f"node {HOME}/node/client.mjs",
    "ours-go": f"{HOME}/bin/ours-go-client",
    "ours-kotlin": f"java @{HOME}/kotlin-client.options",
    "ours-java": f"java @{HOME}/java-client.options",
    "ours-ruby": f"ruby -I {HOME}/ruby {HERE}/ruby/client.rb",
    "ours-swift": f"{HOME}/bin/ours-swift-client",
    "go-sdk": f"{HOME}/bin/peer-go client",
    "java-sdk": f"java @{HOME}/peer-java.options client",
    "rmcp": f"{HOME}/bin/peer-rmcp client",
    "py-mcp": f"{VENVS}/mcp-2/bin/python {HERE}/peers/py_mcp_client.py",
    "fastmcp": f"{VENVS}/bench-fastmcp/bin/python {HERE}/peers/py_fastmcp_client.py",
    "ts-v1": f"node {HOME}/peers/ts1_client.mjs",
    "ts-v2": f"node {HOME}/peers/ts2_client.mjs",
}
# Name -> command. Each takes: N -- server command.
CONNECTORS = {
    "ours-python": f"{VENVS}/bench-ours/bin/python {HERE}/python/connect.py",
    "ours-node": f"node {HOME}/node/connect.mjs",
    "py-mcp": f"{VENVS}/mcp-2/bin/python {HERE}/peers/py_mcp_connect.py",
    "ts-v2": f"node {HOME}/peers/ts2_connect.mjs",
}

OURS = [
    "ours-rust",
    "ours-c",
    "ours-python",
    "ours-node",
    "ours-go",
    "ours-kotlin",
    "ours-java",
    "ours-ruby",
    "ours-swift",
]
# Built only where their toolchain is, and left out elsewhere.
OPTIONAL = ["ours-swift"]
MAIN = ["bare", *OURS, "rmcp", "go-sdk", "java-sdk", "py-mcp", "fastmcp", "ts-v1", "ts-v2"]
MODERN = [name for name in MAIN if name not in ("ts-v1", "java-sdk")]  # these have no 2026-07-28
# Servers with the tools `report`, `ask` and `wide`.
FEATURES = [*OURS, "py-mcp", "fastmcp", "ts-v2"]
SLOW = ("py-mcp", "fastmcp")  # fewer calls per round, so that a round stays short
FAST = ("bare", "rmcp", "ours")  # more calls, so that the timed window is not a few ms


@dataclass(frozen=True)
class Workload:
    title: str
    load: str  # arguments of mcpload
    servers: list[str]
    arguments: str = "stdio"  # arguments of the server
    other_arguments: dict[str, str] = field(default_factory=dict)  # server -> its own instead
    calls: int = 0
    slow_calls: int = 0
    store: str = "none"  # a kind of growth.STORES

    @property
    def measures_clients(self) -> bool:
        return self.load.startswith(("client", "connect"))

    def calls_of(self, server: str) -> int:
        if server.startswith(SLOW):
            return self.slow_calls
        return self.calls * 4 if server.startswith(FAST) and 5000 <= self.calls < 10000 else self.calls


HTTP = "http {port}"
WORKLOADS = {
    "a": Workload(
        "stdio, 1 in flight, echo",
        "calls",
        ["bare-fixed", *MAIN, "rmcp-1thread", "py-mcp-deflog"],
        calls=5000,
        slow_calls=5000,
    ),
    "b": Workload(
        "stdio, 64 in flight, echo", "calls --inflight 64", [*MAIN, "rmcp-1thread"], calls=5000, slow_calls=5000
    ),
    "c-session": Workload(
        "HTTP 2025-11-25, session per connection, 32 connections, default replies",
        "calls",
        ["bare-fixed", *MAIN, "rmcp-nodelay", "rmcp-1thread", "py-mcp-uvloop", "py-mcp-deflog"],
        HTTP,
        calls=5000,
        slow_calls=2000,
    ),
    "c-session-json": Workload(
        "as c-session, JSON replies",
        "calls",
        ["bare", *OURS, "py-mcp", "fastmcp", "ts-v1", "ts-v2"],
        f"{HTTP} json",
        calls=5000,
        slow_calls=2000,
    ),
    "c-stateless": Workload(
        "HTTP 2025-11-25 stateless, 32 connections, default replies",
        "calls",
        [*MAIN, "rmcp-nodelay"],
        f"{HTTP} stateless",
        calls=5000,
        slow_calls=2000,
    ),
    "c-stateless-json": Workload(
        "as c-stateless, JSON replies", "calls", MAIN, f"{HTTP} stateless json", calls=5000, slow_calls=2000
    ),
    "c-2026": Workload(
        "HTTP 2026-07-28, 32 connections, default replies",
        "calls --proto 2026-07-28",
        [*MODERN, "rmcp-nodelay", "py-mcp-uvloop"],
        HTTP,
        {"ts-v2": f"{HTTP} stateless", "go-sdk": f"{HTTP} stateless"},
        calls=5000,
        slow_calls=2000,
    ),
    "a-2026": Workload(
        "stdio 2026-07-28, 1 in flight, echo", "calls --proto 2026-07-28", MODERN, calls=5000, slow_calls=3000
    ),
    "a-add": Workload("stdio, 1 in flight, add", "calls --tool add", MAIN, calls=5000, slow_calls=3000),
    "d-stdio": Workload("stdio, echo of 1 MiB", "calls --size 1048576 --warmup 3", MAIN, calls=30, slow_calls=30),
    "d-http": Workload(
        "HTTP session, echo of 1 MiB, 1 connection",
        "calls --size 1048576 --warmup 3 --conns 1",
        [*MAIN, "rmcp-nodelay"],
        HTTP,
        calls=30,
        slow_calls=30,
    ),
    "e-cold-stdio": Workload(
        "spawn to initialize response, stdio", "cold", ["bare", "bare-python", "bare-node", *MAIN[1:]]
    ),
    "e-cold-http": Workload("spawn to initialize response, HTTP", "cold", MAIN, HTTP),
    "e-rss-stdio": Workload("memory after 10k calls, stdio", "calls --warmup 0", MAIN, calls=10000, slow_calls=10000),
    "e-rss-http": Workload(
        "memory after 10k calls, HTTP sessions", "calls --warmup 0", MAIN, HTTP, calls=10000, slow_calls=10000
    ),
    "e-sessions": Workload(
        "1000 open idle HTTP sessions, then a GET stream on each",
        "sessions --streams",
        [name for name in MAIN if name != "bare"],
        HTTP,
    ),
    "f-stdio": Workload(
        "stdio, tools/list of 502 tools",
        "calls --tool list --list-len 502 --warmup 20",
        MAIN,
        "stdio --tools 500",
        calls=200,
        slow_calls=200,
    ),
    "f-http": Workload(
        "HTTP session, tools/list of 502 tools, 4 connections",
        "calls --tool list --list-len 502 --warmup 20 --conns 4",
        MAIN,
        f"{HTTP} --tools 500",
        calls=200,
        slow_calls=200,
    ),
    "f-2026": Workload(
        "HTTP 2026-07-28, tools/list of 502 tools, 4 connections",
        "calls --proto 2026-07-28 --tool list --list-len 502 --warmup 20 --conns 4",
        MODERN,
        f"{HTTP} --tools 500",
        {"ts-v2": f"{HTTP} stateless --tools 500"},
        calls=200,
        slow_calls=200,
    ),
    "i-progress-stdio": Workload(
        "stdio, a call with 20 progress reports",
        "calls --tool report",
        FEATURES,
        "stdio features",
        calls=2000,
        slow_calls=1000,
    ),
    "i-progress-http": Workload(
        "HTTP session, a call with 20 progress reports, 8 connections",
        "calls --tool report --conns 8",
        FEATURES,
        f"{HTTP} features",
        calls=2000,
        slow_calls=1000,
    ),
    "i-elicit-stdio": Workload(
        "stdio, a call that asks the user", "calls --tool ask", FEATURES, "stdio features", calls=2000, slow_calls=1000
    ),
    "i-elicit-http": Workload(
        "HTTP session, a call that asks the user, 8 connections",
        "calls --tool ask --conns 8",
        FEATURES,
        f"{HTTP} features",
        calls=2000,
        slow_calls=1000,
    ),
    "i-state": Workload(
        "HTTP 2026-07-28, a call that asks the user through input_required and requestState, 8 connections",
        "calls --proto 2026-07-28 --tool ask --conns 8",
        FEATURES,
        f"{HTTP} features",
        {"ts-v2": f"{HTTP} stateless features"},
        calls=2000,
        slow_calls=1000,
    ),
    "i-wide": Workload(
        "stdio, a tool with 100 arguments", "calls --tool wide", FEATURES, "stdio features", calls=2000, slow_calls=1000
    ),
    "i-jwt": Workload(
        "HTTP session, echo with a JWT, 32 connections",
        f"calls --bearer {TOKEN}",
        [*OURS, "fastmcp"],
        f"{HTTP} --auth {AUTH}",
        calls=5000,
        slow_calls=2000,
    ),
    "g-1": Workload(
        "client, 1 in flight, against bare over stdio", "client 1", list(CLIENTS), calls=5000, slow_calls=5000
    ),
    "g-64": Workload(
        "client, 64 in flight, against bare over stdio",
        "client 64",
        # The client of the Java SDK does not end here.
        [name for name in CLIENTS if name != "java-sdk"],
        calls=5120,
        slow_calls=5120,
    ),
    "g-http-1": Workload(
        "client, 1 in flight, against bare over HTTP", "client-http 1", list(CLIENTS), calls=3000, slow_calls=2000
    ),
    "g-http-64": Workload(
        "client, 64 in flight, against bare over HTTP", "client-http 64", list(CLIENTS), calls=5120, slow_calls=2560
    ),
    "g-http-1000": Workload(
        "client, 1000 in flight, against bare over HTTP",
        "client-http 1000",
        list(CLIENTS),
        calls=5000,
        slow_calls=2000,
    ),
    "j-resource": Workload(
        "client that reads a resource of 16 MiB of base64 from bare over stdio",
        "client resource",
        # The clients of the TypeScript SDK close the connection, and that of rmcp does not answer.
        [*OURS, "py-mcp", "fastmcp"],
        calls=1,
        slow_calls=1,
    ),
    "h-connect": Workload(
        "connecting to 20 child processes of bare at once and listing their tools; a call is one connection",
        "connect",
        list(CONNECTORS),
        calls=20,
        slow_calls=20,
    ),
}
for point in growth.points():
    WORKLOADS[point.work] = Workload(
        point.title,
        point.load,
        OURS,
        point.arguments,
        calls=point.calls,
        store=point.store,
    )


def chosen(words: str) -> list[str]:
    """The workloads in a comma-separated list of names or prefixes (`grow-tools`), or all."""
    if words == "all":
        return list(WORKLOADS)
    found: list[str] = []
    for word in words.split(","):
        named = [word] if word in WORKLOADS else [work for work in WORKLOADS if work.startswith(f"{word}-")]
        if not named:
            raise ValueError(f"no workload {word!r}; there are {' '.join(WORKLOADS)}")
        found += named
    return found
