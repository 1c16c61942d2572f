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
# The goals: the best peer's CPU per call to ours, the memory, and the start.
CPU_RATIO, MEMORY_MB, READY_MS = 15.0, 15.0, 20.0

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
    medians = [*medians_of(rows, bridges)]
    content = {"medians": medians, "targets": [*targets(medians)], "loads": loads_of(rows)}
    print("\n".join(table(content)))
    if options.json:
        content = {**content, "rows": rows, "environment": environment(), "date": time.strftime("%Y-%m-%d")}
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
    """The server itself, over the transport that clients of the bridges speak; and its start, which
    a bridge waits for."""
    words = [SERVER, "http", "{port}"] if direction == "serve" else [SERVER, "stdio"]
    calls = run_load([LOAD, "calls", "--conns", "1", "--calls", "5000", "--", *words], TIMEOUT_SECONDS)
    start = run_load([LOAD, "cold", "--", SERVER, "stdio"], TIMEOUT_SECONDS) if direction == "serve" else {}
    # A server that nobody bridges costs the bridge nothing.
    return {**start, **{key: value for key, value in calls.items() if key not in ("cpu_us_call", "rss_end_kb")}}


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


def medians_of(rows: list[Row], bridges: list[Bridge]) -> Iterator[Row]:
    """For each direction and bridge, the medians of the rounds without an error."""
    disk = {bridge.title: bridge.disk_bytes() / 1e6 for bridge in bridges}
    for direction in TITLES:
        for name in dict.fromkeys(row["bridge"] for row in rows if row["direction"] == direction):
            good = [row for row in rows if (row["bridge"], row["direction"]) == (name, direction) and is_good(row)]
            values = {title: median(good, key, unit) for title, (key, unit) in COLUMNS.items()}
            yield {"direction": direction, "bridge": name, "rounds": len(good), **values, "disk MB": disk.get(name)}


def targets(medians: list[Row]) -> Iterator[Row]:
    """The goals of our bridge, and whether it meets them."""

    def of(direction: str, title: str, is_ours: bool) -> Iterator[float]:
        rows = (row for row in medians if row["direction"] == direction and row["bridge"] != "none")
        own = (row for row in rows if row["bridge"].startswith("trunkline") == is_ours)
        return (row[title] for row in own if row[title] is not None)

    for direction, title in TITLES.items():
        ours, theirs = (list(of(direction, "CPU us a call", is_ours)) for is_ours in (True, False))
        if ours and theirs:
            yield target(f"CPU per call of the best peer / ours, {title}", "at least", CPU_RATIO, min(theirs) / ours[0])
        child = [row["ready ms"] or 0 for row in medians if (row["direction"], row["bridge"]) == (direction, "none")]
        for ready in of(direction, "ready ms", True):
            what = f"ms until it is ready, over the start of its server, {title}"
            yield target(what, "at most", READY_MS, ready - sum(child))
        for memory in of(direction, "RSS MB", True):
            yield target(f"MB of memory, {title}", "at most", MEMORY_MB, memory)


def target(what: str, sign: str, goal: float, measured: float) -> Row:
    met = measured >= goal if sign == "at least" else measured <= goal
    return {"what": what, "sign": sign, "target": goal, "measured": round(measured, 1), "met": met}


def loads_of(rows: list[Row]) -> list[float]:
    """The least and the greatest load average."""
    loads = [load for row in rows for load in row.get("loadavg", [])]
    return [min(loads, default=0), max(loads, default=0)]


def table(content: Row) -> Iterator[str]:
    """A table for each direction, and the goals."""
    least, most = content["loads"]
    yield f"{', '.join(environment().values())}; load average {least:.1f} to {most:.1f}"
    columns = [*COLUMNS, "disk MB"]
    for direction, title in TITLES.items():
        yield f"\n| {title} | {' | '.join(columns)} |"
        yield f"| --- |{' ---: |' * len(columns)}"
        for row in content["medians"]:
            if row["direction"] == direction:
                name = row["bridge"] if row["rounds"] else f"{row['bridge']}: failed"
                yield f"| {name} | {' | '.join(cell(row[column]) for column in columns)} |"
    yield ""
    for row in content["targets"]:
        verdict = "met" if row["met"] else "missed"
        yield f"{row['what']}: {row['sign']} {row['target']:g}, measured {row['measured']:g}: {verdict}"


def is_good(row: Row) -> bool:
    return "error" not in row and row.get("errors") == 0


def median(rows: list[Row], key: str, unit: float) -> float | None:
    values = [row[key] / unit for row in rows if row.get(key) is not None]
    return round(statistics.median(values), 1) if values else None


def cell(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    main()
