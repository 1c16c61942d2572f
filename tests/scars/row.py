"""The rows of the report: a trouble, its bar, and the figure of each language."""

import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from peer import Language

Measure = Callable[[Language], Awaitable[float]]

# The argument of the long form, with more of everything.
LONG = "--long"
LONG_FORM = LONG in sys.argv
# The argument for changes of packages, which cannot break what only the core takes part in.
PACKAGES = "--packages"
IS_OF_PACKAGES = PACKAGES in sys.argv

LANGUAGES = ("rust", "python", "node", "c", "go", "kotlin", "java", "ruby", "swift")
# In the short form, this many languages measure a row.
LANGUAGES_PER_TURN = 2
# The default machine of the tests has no toolchain of it.
BY_NAME = "swift"
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
    # Languages with a web framework that it does not apply to.
    without: tuple[str, ...] = ()
    # Loads the processors, or compares times that other programs change: languages are measured one
    # after another, and no other row runs meanwhile.
    alone: bool = False
    # Its bar leaves no time for a busy machine: it runs after the other steps, beside rows like it.
    tight: bool = False
    # Only the core takes part in it, whatever the language.
    of_core: bool = False

    def chosen(self, languages: list[Language], turn: int | None) -> list[Language]:
        """The languages to measure, and their frameworks; with a turn, only some of the languages.

        The languages of a turn do not depend on those that take part in this run, so that a run of
        few languages takes less.
        """
        chosen = [language for language in languages if language.name in self.names(turn)]
        if not self.mounted:
            return chosen
        ways = [replace(one, name=f"{one.name} {way}", way=way) for one in chosen for way in FRAMEWORKS[one.name]]
        return [one for one in ways if one.name not in self.without]

    def names(self, turn: int | None) -> list[str]:
        """The languages of this row; with a turn, those of the turn."""
        if self.of_core and IS_OF_PACKAGES:
            return []
        names = [name for name in self.languages if not self.mounted or FRAMEWORKS[name]]
        if turn is None:
            return names
        turning = [name for name in names if name != BY_NAME]
        if len(turning) > LANGUAGES_PER_TURN:
            first = LANGUAGES_PER_TURN * turn + zlib.crc32(self.trouble.encode())
            turning = [turning[(first + place) % len(turning)] for place in range(LANGUAGES_PER_TURN)]
        # `BY_NAME` only takes part where it is named, and then in every row.
        return [*turning, *[name for name in names if name == BY_NAME]]


ROWS: list[Row] = []


def row(
    trouble: str,
    bar: float,
    unit: str,
    languages: tuple[str, ...] = LANGUAGES,
    mounted: bool = False,
    without: tuple[str, ...] = (),
    alone: bool = False,
    tight: bool = False,
    of_core: bool = False,
) -> Callable[[Measure], Measure]:
    """Adds a row; the function measures one language, and raises if the trouble did harm."""

    def add(measure: Measure) -> Measure:
        ROWS.append(Row(trouble, bar, unit, measure, languages, mounted, without, alone, tight, of_core))
        return measure

    return add
