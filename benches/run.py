#!/usr/bin/env python3
"""Interleaved rounds over every server, then tables.

`cargo xtask bench` builds everything and calls this.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from imports import import_table, measure_imports
from measure import Options, measure
from tables import medians, tables
from targets import missed_targets, targets, targets_table
from workloads import OPTIONAL, SERVERS, WORKLOADS, chosen


def main() -> None:
    options = arguments()
    if options.report:
        print(tables(read(options.report), options.base))
        return
    imports = measure_imports(options.imports) if options.imports else []
    explicit, added = added_servers(options.server)
    measure_rounds(options, explicit, added)
    rows = read(options.out)
    reached = targets(rows, imports)
    print(", ".join(environment().values()))
    print(targets_table(reached))
    print(import_table(imports) if imports else "")
    print(tables(rows, options.base))
    print(missed_targets(reached))
    if options.json:
        content = {
            "targets": reached,
            "imports": imports,
            "medians": medians(rows, options.base),
            "command": " ".join(sys.argv[1:]),
            "environment": environment(),
            "date": time.strftime("%Y-%m-%d"),
        }
        Path(options.json).write_text(json.dumps(content, indent=2) + "\n")


def environment() -> dict[str, str]:
    """The machine and versions that the numbers depend on."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    return {
        "cpu": f"{os.cpu_count()} x {cpu.group(1) if cpu else platform.machine()}",
        "memory": f"{int(memory.group(1)) / 2**20:.0f} GiB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"Python {platform.python_version()}",
        "node": f"Node {version('node')}",
        "rust": version("rustc"),
    }


def version(program: str) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work",
        default="all",
        help="comma list of: " + " ".join(WORKLOADS) + "; or of beginnings, such as grow; or all",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers", help="comma list; default: each workload's own list")
    parser.add_argument(
        "--server",
        action="append",
        default=[],
        metavar="NAME=COMMAND",
        help="one more server: COMMAND takes `stdio` or `http PORT [json] [stateless]`; "
        "or NAME.stdio=COMMAND, NAME.http=COMMAND with {port}",
    )
    parser.add_argument(
        "--pin",
        action="store_true",
        help="generator on CPU 0, server on CPU 1: steadier for 1 in flight over stdio; "
        "a multi-threaded server loses its second core",
    )
    parser.add_argument("--calls", type=int, default=0, help="a number for every workload, to try the harness")
    parser.add_argument("--imports", type=int, default=0, metavar="N", help="measure imports too, in N processes each")
    parser.add_argument("--out", default="results.jsonl", help="appended to")
    parser.add_argument("--json", help="write the medians there")
    parser.add_argument("--base", default="bare", help="server that the paired ratios are against")
    parser.add_argument("--report", metavar="FILE", help="only print the tables of a results file")
    options = parser.parse_args()
    try:
        options.work = chosen(options.work)
    except ValueError as error:
        parser.error(str(error))
    return options


def added_servers(definitions: list[str]) -> tuple[dict[tuple[str, str], str], list[str]]:
    explicit: dict[tuple[str, str], str] = {}
    added: list[str] = []
    for definition in definitions:
        name, _, command = definition.partition("=")
        name, _, transport = name.partition(".")
        if transport:
            explicit[(name, transport)] = command
        SERVERS.setdefault(name, command)
        if name not in added:
            added.append(name)
    return explicit, added


def measure_rounds(options: argparse.Namespace, explicit: dict[tuple[str, str], str], added: list[str]) -> None:
    only = options.servers.split(",") if options.servers else None
    run = int(time.time())
    measuring = Options(options.pin, options.calls)
    absent = [name for name in OPTIONAL if (not only or name in only) and not Path(SERVERS[name]).exists()]
    for name in absent:
        print(f"{name} is left out: {SERVERS[name]} is not built", file=sys.stderr)
    # The failed ones: another round would take as long, and fail as well.
    failed: set[tuple[str, str]] = set()
    with Path(options.out).open("a") as out:
        for number in range(options.rounds):
            for work in options.work if number % 2 == 0 else options.work[::-1]:  # so that a trend evens out
                names = [*WORKLOADS[work].servers, *([] if WORKLOADS[work].measures_clients else added)]
                names = [name for name in names if (not only or name in only or name in added) and name not in absent]
                start = number % len(names) if names else 0
                for name in names[start:] + names[:start]:  # the order rotates from round to round
                    if (work, name) in failed:
                        continue
                    row = {"run": run, "round": number, **measure(work, name, explicit, measuring)}
                    print(json.dumps(row), file=out, flush=True)
                    if "error" in row:
                        failed.add((work, name))
                    number_shown = row.get("cpu_us_call", row.get("cold_cpu_ms", ""))
                    problem = row.get("error", row.get("skipped", ""))[-150:]
                    print(number, work, name, number_shown, problem, file=sys.stderr, flush=True)


def read(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


if __name__ == "__main__":
    main()
