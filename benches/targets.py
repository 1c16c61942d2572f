"""The targets of the measurements, and the verdict on each."""

import statistics
from typing import Any

from growth_tables import growth_targets

Row = dict[str, Any]

# Ours, theirs, and the required ratio of calls per second.
TIMES = [("ours-python", "py-mcp", 4.0), ("ours-node", "ts-v2", 1.5)]
TRANSPORTS = {
    "stdio": ("a", "b", "a-2026", "g-1", "g-64"),
    "HTTP": ("c-session", "c-2026", "g-http-1", "g-http-64", "g-http-1000"),
}
IMPORT_CPU_MS = 60.0


def targets(rows: list[Row], imports: list[Row]) -> list[Row]:
    found: list[Row] = []
    for ours, theirs, times in TIMES:
        for transport, works in TRANSPORTS.items():
            for work in works:
                ratio = _ratio([row for row in rows if row["w"] == work], ours, theirs)
                if ratio is not None:
                    what = f"{ours} / {theirs}, calls per second, {work} ({transport})"
                    row = {"target": times, "measured": round(ratio, 2), "met": ratio >= times}
                    found.append({"what": what, "sign": "at least", **row})
    for row in imports:
        if row["import"].startswith("trunkline"):
            cpu = row["cpu_ms_median"]
            what = f"import {row['import']}, CPU ms of the process"
            verdict = {"target": IMPORT_CPU_MS, "measured": cpu, "met": cpu < IMPORT_CPU_MS}
            found.append({"what": what, "sign": "under", **verdict})
    return found + growth_targets(rows)


def targets_table(found: list[Row]) -> str:
    if not found:
        return ""
    lines = ["\n### targets\n", "| what | target | measured | |", "|---|---|---|---|"]
    for row in found:
        verdict = "met" if row["met"] else "**missed**"
        lines.append(f"| {row['what']} | {row['sign']} {row['target']:g} | {row['measured']:g} | {verdict} |")
    return "\n".join(lines)


def _ratio(rows: list[Row], ours: str, theirs: str) -> float | None:
    """The median of the rounds' ratios: both ran seconds apart in each."""
    speed = {(row["server"], row.get("run"), row["round"]): row.get("calls_s") for row in rows}
    ratios = [
        mine / other
        for (server, run, number), mine in speed.items()
        if server == ours and mine and (other := speed.get((theirs, run, number)))
    ]
    return statistics.median(ratios) if ratios else None
