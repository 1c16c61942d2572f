"""Instructions per call of the Rust server, counted by callgrind and compared with
`instructions.json`. They do not depend on the machine's load, so a test can compare them.

    cargo xtask build && python3 benches/instructions.py target/debug [--update]

The programs are those of the test build, which is not optimized. Counts depend on the compiler and
the processor, so they are stored for each; those of others are only printed. `--update` stores the
new counts.
"""

import http.client
import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

COUNTS_FILE = Path(__file__).with_name("instructions.json")
# Hash tables are seeded at random, which changes the counts of one build by less than 0.5 %.
TOLERANCE = 0.02
# The number of messages per write depends on the scheduler.
TOLERANCES = {"stdio, 20 progress reports": 0.05}
# A busy machine adds wakeups and timer ticks, but never removes work. The calls are therefore
# counted in slices of which the lowest is kept, and a workload that grew is counted again.
SLICES, ATTEMPTS = 5, 3
# Functions stored for each workload, and printed for one that grew.
FUNCTIONS, SHOWN = 40, 5
TIMEOUT = 120
# Warm-up calls before the counted ones: more than a server needs to see that calls come one by one.
WARMUP = 20
# If the counted calls are costly, only so many of these are like them. The first large message
# changes how the server keeps memory.
COSTLY_WARMUP = 2

Message = dict[str, Any]
# Dumps the counts since the last dump.
Dump = Callable[[int], None]
# Starts a server with a command, and makes the calls between two dumps.
Run = Callable[[list[str], int, Dump], None]
ECHO = {"name": "echo", "arguments": {"message": "hello"}}
MEBIBYTE = {"name": "echo", "arguments": {"message": "x" * 1024 * 1024}}
REPORTS = {
    "name": "flood",
    "arguments": {"count": 20, "log": False, "steady": True},
    "_meta": {"progressToken": "progress"},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "instructions", "version": "1"}}
PREFIX = "io.modelcontextprotocol/"
MODERN = {
    f"{PREFIX}protocolVersion": "2026-07-28",
    f"{PREFIX}clientCapabilities": {},
    f"{PREFIX}clientInfo": HELLO["clientInfo"],
}

# The start of a process takes more instructions for each variable, so that counts would differ
# between a shell and a job of a workflow.
ENVIRONMENT = {name: os.environ[name] for name in ["PATH", "HOME"] if name in os.environ}


def request(number: int, method: str, params: Message, modern: bool) -> bytes:
    if modern:
        params = {**params, "_meta": MODERN}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


def over_stdio(method: str, params: Message, *arguments: str, modern: bool = False, costly: bool = False) -> Run:
    def run(command: list[str], calls: int, dump: Dump) -> None:
        with subprocess.Popen(  # noqa: S603
            [*command, "stdio", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
        ) as server:
            to_server, from_server = cast("IO[bytes]", server.stdin), cast("IO[bytes]", server.stdout)

            def ask(number: int, message: bytes) -> None:
                to_server.write(message + b"\n")
                to_server.flush()
                while True:
                    answer = json.loads(from_server.readline())
                    if answer.get("id") == number:
                        expect("result" in answer, answer)
                        return

            if not modern:
                ask(0, request(0, "initialize", HELLO, modern=False))
                if calls == 0:
                    dump(server.pid)
                to_server.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
            for number in range(1, WARMUP + calls + 1):
                if starts_slice(number, calls):
                    dump(server.pid)
                is_small = costly and number <= WARMUP - COSTLY_WARMUP
                ask(number, request(number, method, ECHO if is_small else params, modern))
            dump(server.pid)
            to_server.close()
            server.wait(TIMEOUT)

    return run


def over_http(method: str, params: Message, *arguments: str, modern: bool = False) -> Run:
    def run(command: list[str], calls: int, dump: Dump) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        with subprocess.Popen(  # noqa: S603
            [*command, "http", str(port), *arguments], stdout=subprocess.DEVNULL, env=ENVIRONMENT
        ) as server:
            try:
                connection = connect(port)
                headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

                def post(message: bytes) -> str | None:
                    connection.request("POST", "/mcp", message, headers)
                    response = connection.getresponse()
                    body = response.read()
                    expect(response.status in {200, 202}, body)
                    expect(response.status == 202 or b'"result"' in body, body)
                    return response.getheader("mcp-session-id")

                if modern:
                    name = params["name"]
                    headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name}
                else:
                    session = post(request(0, "initialize", HELLO, modern=False))
                    headers |= {"mcp-session-id": session or "", "mcp-protocol-version": "2025-11-25"}
                    post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
                for number in range(1, WARMUP + calls + 1):
                    if starts_slice(number, calls):
                        dump(server.pid)
                    post(request(number, method, params, modern))
                dump(server.pid)
                connection.close()
            finally:
                server.terminate()
                server.wait(TIMEOUT)

    return run


def starts_slice(number: int, calls: int) -> bool:
    counted = number - WARMUP - 1
    return counted >= 0 and counted % (calls // slices(calls)) == 0


def slices(calls: int) -> int:
    return SLICES if calls >= 10 * SLICES else 1


def expect(condition: bool, answer: object) -> None:
    if not condition:
        raise RuntimeError(f"unexpected answer: {answer!r}")


def connect(port: int) -> http.client.HTTPConnection:
    """A connection to a server that is starting."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        try:
            connection.connect()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return connection


# Name -> program, counted calls, and how they are made. Zero calls: the cost of starting the
# process and answering `initialize`.
WORKLOADS: dict[str, tuple[str, int, Run]] = {
    "start": ("bench-server", 0, over_stdio("tools/call", ECHO)),
    "stdio, 2025-11-25, echo": ("bench-server", 100, over_stdio("tools/call", ECHO)),
    "stdio, 2026-07-28, echo": ("bench-server", 200, over_stdio("tools/call", ECHO, modern=True)),
    "stdio, list of 502 tools": ("bench-server", 3, over_stdio("tools/list", {}, "--tools", "500")),
    "stdio, echo of 1 MiB": ("bench-server", 2, over_stdio("tools/call", MEBIBYTE, costly=True)),
    "stdio, 20 progress reports": ("scars-server", 60, over_stdio("tools/call", REPORTS)),
    "HTTP, list of 502 tools": ("bench-server", 50, over_http("tools/list", {}, "--tools", "500")),
    "HTTP, 2025-11-25, echo": ("bench-server", 50, over_http("tools/call", ECHO)),
    "HTTP, 2026-07-28, echo": ("bench-server", 50, over_http("tools/call", ECHO, modern=True)),
}


def count(programs: Path, name: str) -> Counter[str]:
    """Instructions of a call, or of a start, by function."""
    program, calls, run = WORKLOADS[name]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        dumps = 0

        def dump(process: int) -> None:
            nonlocal dumps
            dumps += 1
            control = ["callgrind_control", f"--dump=part {dumps}", str(process)]
            subprocess.run(control, check=True, capture_output=True, timeout=TIMEOUT)  # noqa: S603

        run(
            ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}", str(programs / program)],
            calls,
            dump,
        )
        # A dump resets the counts, so the first one covers everything before the counted calls.
        parts = range(2, 2 + slices(calls)) if calls else [1]
        costs = min(
            (by_function(out.with_name(f"out.{part}").read_text(encoding="utf-8")) for part in parts),
            key=Counter.total,
        )
    counted = max(calls // slices(calls), 1)
    return Counter({function: cost // counted for function, cost in costs.items()})


def by_function(profile: str) -> Counter[str]:
    """Own instructions of each function, from a profile of callgrind (Valgrind's manual,
    "Callgrind Format Specification").
    """
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    function, of_a_call = "", False
    for line in profile.splitlines():
        if match := re.match(r"c?fn=\((\d+)\)(?: (.*))?", line):
            number, name = match.groups()
            if name is not None:
                names[number] = name
            if line.startswith("fn="):
                function = names[number]
        elif line.startswith("calls="):
            of_a_call = True  # the next line has the cost of the callee
        elif match := re.match(r"[+*\d-]\S* (\d+)$", line):
            if not of_a_call:
                costs[function] += int(match[1])
            of_a_call = False
    return costs


def kept(costs: Counter[str]) -> dict[str, Any]:
    return {"total": costs.total(), "functions": dict(costs.most_common(FUNCTIONS))}


def grew(name: str, costs: Counter[str], before: dict[str, Any]) -> bool:
    return costs.total() > before["total"] * (1 + TOLERANCES.get(name, TOLERANCE))


def report(name: str, costs: Counter[str], before: dict[str, Any]) -> None:
    """Print a count that has changed, and the functions that grew."""
    change = costs.total() / before["total"] - 1
    if abs(change) <= TOLERANCES.get(name, TOLERANCE):
        return
    print(f"{name}: {change:+.1%}, from {before['total']:,}")
    # A function that is not stored cost at most as much as the cheapest one that is.
    unknown = min(before["functions"].values())
    growth = Counter({function: cost - before["functions"].get(function, unknown) for function, cost in costs.items()})
    if change > 0:
        for function, cost in growth.most_common(SHOWN):
            print(f"    {cost:+,} {function}")


def main() -> None:
    programs, *options = sys.argv[1:]
    rustc = os.environ.get("RUSTC", "rustc")
    version = subprocess.run([rustc, "--version"], check=True, capture_output=True, text=True).stdout  # noqa: S603
    compiler = f"{version.strip()}, {platform.machine()}"
    known = json.loads(COUNTS_FILE.read_text(encoding="utf-8"))
    update = "--update" in options
    before = known.get(compiler, {})

    def lowest(name: str) -> Counter[str]:
        costs = count(Path(programs), name)
        for _ in range(1, ATTEMPTS):
            if not update and not (before and grew(name, costs, before[name])):
                break
            costs = min(costs, count(Path(programs), name), key=Counter.total)
        return costs

    with ThreadPoolExecutor(max_workers=2) as pool:
        counts = dict(zip(WORKLOADS, pool.map(lowest, WORKLOADS), strict=True))
    for name, costs in counts.items():
        print(f"{name}: {costs.total():,} instructions")
    if update:
        known[compiler] = {name: kept(costs) for name, costs in counts.items()}
        COUNTS_FILE.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    elif not before:
        print(f"not compared: there are only counts of {', '.join(known)}, and this is {compiler}")
    else:
        for name, costs in counts.items():
            report(name, costs, before[name])
        if any(grew(name, costs, before[name]) for name, costs in counts.items()):
            sys.exit(f"To keep the new counts: python3 benches/instructions.py {programs} --update")


main()
