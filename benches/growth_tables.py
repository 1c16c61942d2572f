"""Tables and verdicts for the growth of the cost of a call."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from growth import MAX_GROWTH, POINTS, STORES, TITLES, UNITS, Point

Row = dict[str, Any]


@dataclass(frozen=True)
class Curve:
    """One server with one store, at each number of one dimension."""

    dimension: str
    store: str
    server: str
    points: list[list[Row]]

    def cost(self, index: int) -> float | None:
        return _median(self._of(index, row) for row in self.points[index])

    def cost_of_store(self, index: int) -> float | None:
        return _median(row.get("store_cpu_us_call") for row in self.points[index]) or None

    def ratio(self, index: int) -> float | None:
        """The cost relative to that at the smallest number: the median of the rounds' ratios."""
        first = {(row.get("run"), row["round"]): self._of(0, row) for row in self.points[0]}
        pairs = [(self._of(index, row), first.get((row.get("run"), row["round"]))) for row in self.points[index]]
        return _median(cost / base for cost, base in pairs if cost and base)

    def _of(self, index: int, row: Row) -> float | None:
        return Point(self.dimension, self.store, POINTS[self.dimension][index]).cost(row)

    @property
    def growth(self) -> float | None:
        """The largest of the ratios; `None` if one is missing."""
        ratios = [self.ratio(index) for index in range(1, len(self.points))]
        return max(found) if len(found := [ratio for ratio in ratios if ratio]) == len(ratios) else None

    @property
    def errors(self) -> int:
        rows = [row for point in self.points for row in point]
        return sum(row.get("errors", 0) + ("error" in row) for row in rows)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def growth_targets(rows: list[Row]) -> list[Row]:
    """A call costs the same at each number, within 10 %; so does a byte, and a registration."""
    found = []
    for curve in _curves(rows):
        growth = curve.growth
        if growth is not None:
            numbers = " to ".join(f"{number:,}" for number in (POINTS[curve.dimension][0], POINTS[curve.dimension][-1]))
            unit = UNITS.get(curve.dimension, "CPU per call")
            what = f"{curve.server}, {unit} from {numbers} {curve.dimension}, store: {curve.store}"
            found.append(
                {
                    "what": what,
                    "sign": "at most",
                    "target": MAX_GROWTH,
                    "measured": round(growth, 2),
                    "met": growth <= MAX_GROWTH,
                }
            )
    return found


def growth_tables(rows: list[Row]) -> str:
    """Markdown: one table per dimension."""
    return "\n".join(
        _table(dimension, curves)
        for dimension in POINTS
        if (curves := [curve for curve in _curves(rows) if curve.dimension == dimension])
    )


def _curves(rows: list[Row]) -> Iterator[Curve]:
    for dimension, numbers in POINTS.items():
        for store in STORES:
            works = [Point(dimension, store, number).work for number in numbers]
            for server in dict.fromkeys(row["server"] for row in rows if row["w"] in works):
                measured = [[row for row in rows if row["w"] == work and row["server"] == server] for work in works]
                yield Curve(dimension, store, server, measured)


def _table(dimension: str, curves: list[Curve]) -> str:
    numbers = POINTS[dimension]
    heads = ["server", "store", *(f"{number:,}" for number in numbers), *(f"x at {number:,}" for number in numbers[1:])]
    heads += [f"store's own at {number:,}" for number in (numbers[0], numbers[-1])] + ["errors"]
    lines = [
        f"\n### grow-{dimension}: {UNITS.get(dimension, 'CPU us per call')} by {TITLES[dimension]}\n",
        "| " + " | ".join(heads) + " |",
        "|---" * len(heads) + "|",
    ]
    for curve in curves:
        costs = [_shown(curve.cost(index)) for index in range(len(numbers))]
        ratios = [_shown(curve.ratio(index), 2, "x") for index in range(1, len(numbers))]
        own = [_shown(curve.cost_of_store(index)) for index in (0, len(numbers) - 1)]
        lines.append("| " + " | ".join([curve.server, curve.store, *costs, *ratios, *own, str(curve.errors)]) + " |")
    skipped = {row["skipped"] for curve in curves for point in curve.points for row in point if "skipped" in row}
    return "\n".join(lines + [f"\nNot measured: {reason}." for reason in sorted(skipped)])


def _shown(value: float | None, digits: int = 1, unit: str = "") -> str:
    return "-" if value is None else f"{value:,.{digits}f}{unit}"
