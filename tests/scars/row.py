"""The rows of the report: a trouble, its bar, and the figure of each language."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from peer import Language

Measure = Callable[[Language], Awaitable[float]]


@dataclass
class Row:
    """A trouble. The figure of a language must not be above the bar."""

    trouble: str
    bar: float
    unit: str
    measure: Measure
    # Elsewhere there is nothing to measure.
    languages: tuple[str, ...] = ("rust", "python", "node", "c")


ROWS: list[Row] = []


def row(
    trouble: str, bar: float, unit: str, languages: tuple[str, ...] = ("rust", "python", "node", "c")
) -> Callable[[Measure], Measure]:
    """Adds a row; the function measures one language, and raises if the trouble did harm."""

    def add(measure: Measure) -> Measure:
        ROWS.append(Row(trouble, bar, unit, measure, languages))
        return measure

    return add
