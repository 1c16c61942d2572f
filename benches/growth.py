"""Measures whether the cost of a call grows with sessions, streams, subscriptions, tools, workers
or its length, and the cost of a tool's registration with their number.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

POINTS = {
    "sessions": (1, 100, 10_000),
    "streams": (1, 100, 1000),
    "subscriptions": (1, 100, 1000),
    "tools": (10, 1000, 10_000),
    "workers": (1, 2, 4),
    "bytes": (65_536, 1_048_576, 8_388_608, 67_108_864),
    "registrations": (100, 1000, 10_000),
}
TITLES = {
    "sessions": "open sessions, 8 of them called",
    "streams": "open sessions with a GET stream each, 8 of them called",
    "subscriptions": "open streams of subscriptions/listen (2026-07-28) beside 8 connections that call",
    "tools": "registered tools, 10 of them called",
    "workers": "worker processes, each with 8 sessions",
    "bytes": "bytes that echo returns over stdio",
    "registrations": "tools of a server that starts, compared with a server of 2",
}
# The units of the compared costs.
UNITS = {"bytes": "CPU ns per byte", "registrations": "CPU us per tool"}
# "none": the server has no store and keeps its sessions in memory.
STORES = ("none", "memory", "sqlite", "redis")
SHARED = ("sqlite", "redis")
# A store takes part in these.
STORED = ("sessions", "tools", "workers")
# A cost at any number may exceed the cost at the smallest by this factor.
MAX_GROWTH = 1.1


@dataclass(frozen=True)
class Point:
    """One measurement: a number of sessions, tools or workers, with a store."""

    dimension: str
    store: str
    number: int

    @property
    def work(self) -> str:
        return f"grow-{self.dimension}-{self.store}-{self.number}"

    @property
    def title(self) -> str:
        return f"{self.number} {TITLES[self.dimension]}; store: {self.store}"

    @property
    def load(self) -> str:
        """The arguments of mcpload."""
        if self.dimension == "registrations":
            return "cold"
        options = {
            "sessions": f"--open {self.number}",
            "streams": f"--open {self.number} --streams",
            "subscriptions": f"--proto 2026-07-28 --listen {self.number}",
            "tools": f"--tool add --among {self.number}",
            "workers": f"--workers {self.number}" + (" --anywhere" if self.store in SHARED else ""),
            "bytes": f"--size {self.number} --warmup 2",
        }
        return f"calls --conns 8 {options[self.dimension]}"

    @property
    def arguments(self) -> str:
        """The arguments of the server."""
        store = "" if self.store == "none" else " --store {store}"
        match self.dimension:
            case "bytes":
                return "stdio"
            case "registrations":
                return f"stdio --tools {self.number}"
            case "tools":
                return f"http {{port}} --tools {self.number}{store}"
            case _:
                return f"http {{port}}{store}"

    @property
    def calls(self) -> int:
        if self.dimension == "bytes":
            return max(2, min(1000, 100_000_000 // self.number))
        # Calls that wait for a store cost more; 20,000 calls are for those of a few us.
        return {"registrations": 0}.get(self.dimension, 2000 if self.store in SHARED else 5000)

    def cost(self, row: dict[str, Any]) -> float | None:
        """The cost that is compared, in `UNITS`, otherwise CPU us per call."""
        cpu = row.get("cold_cpu_ms" if self.dimension == "registrations" else "cpu_us_call")
        if cpu is None:
            return None
        return float(cpu) * 1000 / self.number if self.dimension in UNITS else float(cpu)


def points() -> Iterator[Point]:
    for dimension, numbers in POINTS.items():
        for store in STORES if dimension in STORED else STORES[:1]:
            for number in numbers:
                yield Point(dimension, store, number)
