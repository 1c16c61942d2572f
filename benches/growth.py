"""Measures whether the cost of a call grows with sessions, tools or workers, for each store."""

from collections.abc import Iterator
from dataclasses import dataclass

POINTS = {"sessions": (1, 100, 10_000), "tools": (10, 1000, 10_000), "workers": (1, 2, 4)}
TITLES = {
    "sessions": "open sessions, 8 of them called",
    "tools": "registered tools, 10 of them called",
    "workers": "worker processes, each with 8 sessions",
}
# "none": the server has no store and keeps its sessions in memory.
STORES = ("none", "memory", "sqlite", "redis")
SHARED = ("sqlite", "redis")
# Maximum cost of a call at any number, relative to its cost at the smallest.
MOST = 1.1


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
        options = {
            "sessions": f"--open {self.number}",
            "tools": f"--tool add --among {self.number}",
            "workers": f"--workers {self.number}" + (" --anywhere" if self.store in SHARED else ""),
        }
        return f"calls --conns 8 {options[self.dimension]}"

    @property
    def arguments(self) -> str:
        """The arguments of the server, in addition to its port."""
        tools = f" --tools {self.number}" if self.dimension == "tools" else ""
        return tools + ("" if self.store == "none" else " --store {store}")


def points() -> Iterator[Point]:
    for dimension, numbers in POINTS.items():
        for store in STORES:
            for number in numbers:
                yield Point(dimension, store, number)
