"""The cost of `import`: CPU time and memory of fresh processes, interleaved. Linux and macOS."""

import os
import statistics
import subprocess
import sys
import threading
from typing import Any

from workloads import VENVS

TIMEOUT = 60

IMPORTS = {
    "(nothing)": ("bench-ours", "pass"),
    "trunkline": ("bench-ours", "import trunkline"),
    "trunkline, server and client": ("bench-ours", "from trunkline import Client, Server"),
    "mcp": ("mcp-2", "import mcp"),
    "mcp, server and client": ("mcp-2", "from mcp import Client; from mcp.server import MCPServer"),
    "fastmcp": ("bench-fastmcp", "import fastmcp"),
}


def measure_imports(rounds: int) -> list[dict[str, Any]]:
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in IMPORTS}
    for number in range(rounds + 1):
        for name, (venv, code) in IMPORTS.items():
            sample = _one(f"{VENVS}/{venv}/bin/python", code)
            if number > 0:  # the first one fills the file cache and writes the compiled files
                samples[name].append(sample)
    return [
        {
            "import": name,
            "processes": rounds,
            "cpu_ms_median": round(statistics.median(cpu for cpu, _ in found), 2),
            "cpu_ms_best": round(min(cpu for cpu, _ in found), 2),
            "rss_mib_median": round(statistics.median(rss for _, rss in found), 1),
        }
        for name, found in samples.items()
    ]


def import_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "\n### import, fresh processes\n",
        "| import | CPU ms, median | CPU ms, best | memory MiB |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row['import']} | {row['cpu_ms_median']} | {row['cpu_ms_best']} | {row['rss_mib_median']} |" for row in rows
    ]
    return "\n".join(lines)


def _one(python: str, code: str) -> tuple[float, float]:
    """CPU time in milliseconds and resident MiB of an interpreter running `code`."""
    process = subprocess.Popen([python, "-c", code], stdin=subprocess.DEVNULL)  # noqa: S603
    killer = threading.Timer(TIMEOUT, process.kill)
    killer.start()
    _, status, usage = os.wait4(process.pid, 0)
    killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{python} -c {code!r} ended with {process.returncode}")
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return (usage.ru_utime + usage.ru_stime) * 1000, usage.ru_maxrss / scale
