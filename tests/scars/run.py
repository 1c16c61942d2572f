"""The scars: troubles, each with a bar and the figure of each language.

run.py REPORT LANGUAGE COMMAND... -- LANGUAGE COMMAND... writes a report as JSON and prints a line
for each figure; the exit status is 1 if one is above its bar.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import crowd
import exits
from peer import Language
from row import ROWS, Row

PATIENCE = 60  # seconds for one figure


async def figure(row: Row, language: Language) -> dict[str, Any]:
    try:
        value = round(await asyncio.wait_for(row.measure(language), PATIENCE), 3)
    except asyncio.TimeoutError:
        return {"fault": f"not done after {PATIENCE} s"}
    except Exception as error:  # noqa: BLE001 - a fault of one figure
        return {"fault": f"{type(error).__name__}: {error}"[:400]}
    return {"figure": value} if value <= row.bar else {"figure": value, "fault": f"above the bar of {row.bar}"}


async def measure(languages: list[Language]) -> list[dict[str, Any]]:
    """Rows one after the other, because they would disturb each other; languages side by side."""
    report: list[dict[str, Any]] = []
    for row in ROWS:
        chosen = [language for language in languages if language.name in row.languages]
        figures = await asyncio.gather(*[figure(row, language) for language in chosen])
        found = {language.name: one for language, one in zip(chosen, figures, strict=True)}
        report.append({"trouble": row.trouble, "bar": row.bar, "unit": row.unit, "figures": found})
        for name, one in found.items():
            state = "not ok" if "fault" in one else "ok"
            print(f"{state} {row.trouble} - {name}: {one.get('figure', '')} {one.get('fault', '')}", flush=True)
    return report


def main(words: list[str]) -> int:
    assert crowd and exits
    report, *rest = words
    languages: list[Language] = []
    while rest:
        end = rest.index("--") if "--" in rest else len(rest)
        languages.append(Language(rest[0], rest[1:end]))
        rest = rest[end + 1 :]
    rows = asyncio.run(measure(languages))
    Path(report).write_text(json.dumps({"report": "scars", "rows": rows}, indent=1), encoding="utf-8")
    return int(any("fault" in one for row in rows for one in row["figures"].values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
