"""The scars: troubles, each with a bar and the figure of each language.

run.py [--long] [--packages] [--alone | --beside] [--turn N] [--only WORD]... REPORT LANGUAGE
SERVER... + CLIENT... -- LANGUAGE ... writes a report as JSON and prints a line for each figure; the
exit status is 1 if one is above its bar. With --alone, only the rows that no other step may disturb
are measured, with --beside the others. With a turn, rows are measured in some of the languages;
with --packages, those that only the core takes part in are left out.
"""

import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import clients
import crowd
import endings
import exits
import floods
import half_open
import hostile
import processes
import row
import untrusted
import workers
from peer import Language
from row import Row

FIGURE_TIMEOUT = 600 if row.LONG_FORM else 120  # seconds
ROWS_AT_ONCE = 2  # each starts a process per language
ROWS_AT_A_TURN = 6  # each starts a process for two languages, and waits


async def figure(one: Row, language: Language, at_once: asyncio.Semaphore) -> dict[str, Any]:
    try:
        async with at_once:
            value = await measured(one, language)
            if one.unit == "s" and value > one.bar:
                # Other programs may have used the processors; a real problem shows again.
                value = min(value, await measured(one, language))
    except asyncio.TimeoutError:
        return {"fault": f"not done after {FIGURE_TIMEOUT} s"}
    except Exception as error:  # noqa: BLE001 - a fault of one figure
        return {"fault": f"{type(error).__name__}: {error}"[:400]}
    return {"figure": value} if value <= one.bar else {"figure": value, "fault": f"above the bar of {one.bar}"}


async def measured(one: Row, language: Language) -> float:
    return round(await asyncio.wait_for(one.measure(language), FIGURE_TIMEOUT), 3)


def measure(languages: list[Language], turn: int | None) -> list[dict[str, Any]]:
    """First those that do not disturb each other, several at once, then the others.

    Each row has an event loop of its own. Starting a process stops the loop, and many starts on a
    busy machine stop it for seconds, which would count for the figures of other rows.
    """

    def in_its_loop(one: Row) -> dict[str, Any]:
        return asyncio.run(measured_row(one, one.chosen(languages, turn)))

    def at_once(rows: list[Row], threads: int) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(threads) as executor:
            return list(executor.map(in_its_loop, rows))

    beside = at_once([one for one in row.ROWS if not one.alone], ROWS_AT_ONCE if turn is None else ROWS_AT_A_TURN)
    return beside + at_once([one for one in row.ROWS if one.alone], 1)


async def measured_row(one: Row, chosen: list[Language]) -> dict[str, Any]:
    """Languages in parallel, unless each needs the whole machine."""
    start = time.monotonic()
    at_once = asyncio.Semaphore(1 if one.alone else len(chosen))
    figures = await asyncio.gather(*[figure(one, language, at_once) for language in chosen])
    found = {language.name: figure for language, figure in zip(chosen, figures, strict=True)}
    for name, measured in found.items():
        state = "not ok" if "fault" in measured else "ok"
        said = f"{measured.get('figure', '')} {measured.get('fault', '')}"
        print(f"{state} {one.trouble} - {name}: {said}", flush=True)
    seconds = round(time.monotonic() - start, 1)
    return {"trouble": one.trouble, "bar": one.bar, "unit": one.unit, "seconds": seconds, "figures": found}


def check_turns() -> None:
    """Fails if a row has fewer than two languages at a turn, or leaves out one at every turn."""
    for one in row.ROWS:
        names = set(one.names(None))
        at_turns = [set(one.names(turn)) for turn in range(len(names))]
        few = [few for few in at_turns if len(few) < min(row.LANGUAGES_PER_TURN, len(names))]
        missing = names.difference(*at_turns)
        assert not few and not missing, f"{one.trouble}: too few {few}, never {missing}"


def main(words: list[str]) -> int:
    assert clients and crowd and endings and exits and floods and half_open and hostile and processes
    assert untrusted and workers
    for option in (row.LONG, row.PACKAGES):
        if option in words:
            words.remove(option)
    for option, are_alone in (("--alone", True), ("--beside", False)):
        if option in words:
            words.remove(option)
            row.ROWS[:] = [one for one in row.ROWS if (one.alone or one.tight) == are_alone]
    turn: int | None = None
    if "--turn" in words:
        at = words.index("--turn")
        turn = int(words[at + 1])
        del words[at : at + 2]
    only: list[str] = []
    while "--only" in words:
        at = words.index("--only")
        only.append(words[at + 1])
        del words[at : at + 2]
    row.ROWS[:] = [one for one in row.ROWS if not only or any(word in one.trouble for word in only)]
    report, *rest = words
    languages: list[Language] = []
    while rest:
        end = rest.index("--") if "--" in rest else len(rest)
        client = rest.index("+")
        languages.append(Language(rest[0], rest[1:client], rest[client + 1 : end]))
        rest = rest[end + 1 :]
    check_turns()
    left = sum(len(one.chosen(languages, None)) - len(one.chosen(languages, turn)) for one in row.ROWS)
    rows = measure(languages, turn)
    Path(report).write_text(json.dumps({"report": "scars", "left": left, "rows": rows}, indent=1), encoding="utf-8")
    return int(any("fault" in figure for one in rows for figure in one["figures"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
