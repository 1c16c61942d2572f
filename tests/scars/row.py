"""The rows of the report: a trouble, its bar, and the figure of each language."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from peer import Language

Measure = Callable[[Language], Awaitable[float]]

# The argument of the long form, with more of everything.
LONG = "--long"
LONG_FORM = LONG in sys.argv

LANGUAGES = ("rust", "python", "node", "c", "go", "kotlin", "java", "ruby", "swift")
# Of these, the ones that measure what only the core does in the long form alone.
NEWER = ("go", "kotlin", "java", "ruby", "swift")
# The web frameworks of each language.
FRAMEWORKS = {
    "rust": ("axum",),
    "python": ("uvicorn", "gunicorn"),
    "node": ("express", "hono"),
    "c": ("web_server",),
    "go": ("nethttp",),
    "kotlin": ("jdk",),
    "java": ("jdk",),
    "ruby": ("puma",),
    # The package has no adapter of a web framework.
    "swift": (),
}


@dataclass
class Row:
    """A trouble. The figure of a language must not be above the bar."""

    trouble: str
    bar: float
    unit: str
    measure: Measure
    # Nothing to measure on other platforms.
    languages: tuple[str, ...] = LANGUAGES
    # Measures each web framework instead.
    mounted: bool = False
    # Needs so much of the machine that languages are measured one after another.
    alone: bool = False
    # Mostly waits for a deadline, so other rows may run at the same time.
    waits: bool = False
    # Measures no time, so anything may run at the same time.
    untimed: bool = False
    # Only the core takes part in it, whatever the language.
    of_core: bool = False

    def chosen(self, languages: list[Language]) -> list[Language]:
        """The rows to measure."""
        chosen = [language for language in languages if language.name in self.languages]
        if self.of_core and not LONG_FORM:
            chosen = [language for language in chosen if language.name not in NEWER]
        if not self.mounted:
            return chosen
        return [replace(one, name=f"{one.name} {way}", way=way) for one in chosen for way in FRAMEWORKS[one.name]]


ROWS: list[Row] = []


def row(
    trouble: str,
    bar: float,
    unit: str,
    languages: tuple[str, ...] = LANGUAGES,
    mounted: bool = False,
    alone: bool = False,
    waits: bool = False,
    untimed: bool = False,
    of_core: bool = False,
) -> Callable[[Measure], Measure]:
    """Adds a row; the function measures one language, and raises if the trouble did harm."""

    def add(measure: Measure) -> Measure:
        ROWS.append(Row(trouble, bar, unit, measure, languages, mounted, alone, waits, untimed, of_core))
        return measure

    return add
