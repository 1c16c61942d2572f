#!/usr/bin/env python3
"""`trunkline bridge` next to other bridges, in both directions, in interleaved rounds.

`cargo xtask bench --bridges` builds everything and calls this. The server behind each bridge is the
bench server in Rust, which is not counted. A bridge that hangs or answers wrongly costs its row.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge_peers import BRIDGES, FOLDER, SERVER, Bridge, Words
from measure import run_load
from run import environment
from workloads import LOAD

# A bridge that takes longer has failed.
TIMEOUT_SECONDS = 120
TITLES = {"serve": "a server over stdio, for clients over HTTP", "join": "a server over HTTP, for a host over stdio"}
# The values that mcpload measures, with the divisor of the unit in the table.
COLUMNS = {
    "ready ms": ("cold_ms", 1),
    "p50 us": ("p50_us", 1),
    "CPU us a call": ("cpu_us_call", 1),
    "RSS MB": ("rss_end_kb", 1024),
}

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="bridges whose names begin so")
    parser.add_argument("--json", help="write every measurement there")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    bridges = [bridge for bridge in BRIDGES if bridge.name.startswith(options.only)]
    programs = {bridge.title: installed(bridge) for bridge in bridges}
    rows: list[Row] = []
    for number in range(options.rounds):
        for direction in TITLES:
            # The order rotates from round to round.
            for bridge in bridges[number:] + bridges[:number]:
                words, program = bridge.words(direction), programs[bridge.title]
                if words and program:
                    row = measured(direction, program, words, bridge.calls)
                    rows.append({"round": number, "bridge": bridge.title, "direction": direction, **row})
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            rows.append({"round": number, "bridge": "none", "direction": direction, **direct(direction)})
    print("\n".join(table(rows, bridges)))
    if options.json:
        content = {"rows": rows, "environment": environment(), "date": time.strftime("%Y-%m-%d")}
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n")


def installed(bridge: Bridge) -> str:
    try:
        return str(bridge.install(bridge))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"{bridge.title} cannot be installed: {error}", file=sys.stderr)
        return ""


def measured(direction: str, program: str, words: Words, calls: int) -> Row:
    if direction == "serve":
        return both([program, *words(f"{SERVER} stdio")], calls)
    with serving() as url:
        return both([program, *words(url)], calls)


def direct(direction: str) -> Row:
    """The server itself, over the transport that clients of the bridges speak."""
    words = [SERVER, "http", "{port}"] if direction == "serve" else [SERVER, "stdio"]
    return run_load([LOAD, "calls", "--conns", "1", "--calls", "5000", "--", *words], TIMEOUT_SECONDS)


def both(command: list[str], calls: int) -> Row:
    """A start up to the response of `initialize`, and calls one at a time, in a process each."""
    uncounted = ["--without", Path(SERVER).name, "--", *command]
    cold = run_load([LOAD, "cold", *uncounted], TIMEOUT_SECONDS)
    warm = ["--conns", "1", "--calls", str(calls), "--warmup", str(calls // 5)]
    return {**cold, **run_load([LOAD, "calls", *warm, *uncounted], TIMEOUT_SECONDS)}


@contextmanager
def serving() -> Iterator[str]:
    """Run the server over HTTP. Yields its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([SERVER, "http", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS).close()
                break
            except ConnectionRefusedError:
                if server.poll() is not None:
                    raise
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


def table(rows: list[Row], bridges: list[Bridge]) -> Iterator[str]:
    """The medians, as a table for each direction."""
    loads = [load for row in rows for load in row.get("loadavg", [])]
    rounds = len({row["round"] for row in rows})
    load = f"load average {min(loads, default=0):.1f} to {max(loads, default=0):.1f}"
    yield f"{', '.join(environment().values())}; medians of {rounds} rounds, {load}"
    disk = {bridge.title: f"{bridge.disk_bytes() / 1e6:.1f}" for bridge in bridges}
    for direction, title in TITLES.items():
        yield f"\n| {title} | {' | '.join(COLUMNS)} | disk MB |"
        yield f"| --- |{' ---: |' * (len(COLUMNS) + 1)}"
        for name in dict.fromkeys(row["bridge"] for row in rows if row["direction"] == direction):
            good = [row for row in rows if (row["bridge"], row["direction"]) == (name, direction) and is_good(row)]
            cells = [cell(good, key, unit) for key, unit in COLUMNS.values()] if name != "none" else direct_cells(good)
            yield f"| {name if good else f'{name}: failed'} | {' | '.join(cells)} | {disk.get(name, '')} |"


def is_good(row: Row) -> bool:
    return "error" not in row and row.get("errors") == 0


def direct_cells(rows: list[Row]) -> list[str]:
    return ["", cell(rows, "p50_us", 1), "", ""]


def cell(rows: list[Row], key: str, unit: float) -> str:
    values = [row[key] / unit for row in rows if row.get(key) is not None]
    median = statistics.median(values) if values else 0
    return f"{median:,.0f}" if median >= 10 else f"{median:.1f}" if values else "-"


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
