"""The targets of the measurements, and the verdict on each."""

import statistics
from typing import Any

from growth_tables import growth_targets

Row = dict[str, Any]

# Ours, theirs, and the required ratio of calls per second.
MIN_SPEEDUPS = [("ours-python", "py-mcp", 4.0), ("ours-node", "ts-v2", 1.5)]
TRANSPORTS = {
    "stdio": ("a", "b", "a-2026", "g-1", "g-64"),
    "HTTP": ("c-session", "c-2026", "g-http-1", "g-http-64", "g-http-1000"),
}
IMPORT_CPU_MS = 60.0

OURS = ("ours-rust", "ours-python", "ours-node", "ours-c")
# CPU per call, as a multiple of that of `bare`, in the order of OURS.
MAX_CPU_RATIOS = {
    "c-session": (1.4, 2.8, 2.8, 1.8),
    "c-2026": (1.5, 3.0, 3.0, 2.0),
    "a": (1.5, 2.2, 2.2, 1.8),
    "b": (4.0, 10.0, 10.0, 5.0),
    "f-stdio": (1.3, 1.3, 1.2, 1.3),
    "d-stdio": (1.3, 1.5, 1.7, 1.3),
    "d-http": (1.3, 1.6, 1.8, 1.3),
}
# The best peer's CPU per call to ours, for those that have the feature.
MIN_CPU_RATIO = 2.0
FEATURES = ("i-progress-stdio", "i-progress-http", "i-elicit-stdio", "i-elicit-http", "i-state", "i-wide", "i-jwt")
# The start in ms, and the memory after it in MB. If the least program in that language is named,
# they are in addition to it.
MAX_START_COSTS = {
    "ours-rust": ("", 2.5, 5.0),
    "ours-python": ("bare-python", 25.0, 8.0),
    "ours-node": ("bare-node", 25.0, 8.0),
    "ours-c": ("", 2.5, 6.0),
}
# The most memory in KB.
SESSION_KB, STREAM_KB = 1.7, 8.0
# The most memory of a client that reads a resource, as a multiple of the resource in base64.
RESOURCE_KB, RESOURCE_TIMES = 16 * 1024, 2.5


def targets(rows: list[Row], imports: list[Row]) -> list[Row]:
    found: list[Row] = []
    for ours, theirs, times in MIN_SPEEDUPS:
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
    return [
        *found,
        *_cpu_targets(rows),
        *_feature_targets(rows),
        *_start_targets(rows),
        *_session_targets(rows),
        *_resource_targets(rows),
        *growth_targets(rows),
    ]


def missed_targets(found: list[Row]) -> str:
    missed = [row for row in found if not row["met"]]
    lines = [f"\n{len(missed)} of {len(found)} targets MISSED" if missed else f"\nAll {len(found)} targets met"]
    return "\n".join([*lines, *(f"  MISSED {_sentence(row)}" for row in missed)])


def targets_table(found: list[Row]) -> str:
    if not found:
        return ""
    lines = ["\n### targets\n", "| what | target | measured | |", "|---|---|---|---|"]
    for row in found:
        verdict = "met" if row["met"] else "**missed**"
        lines.append(f"| {row['what']} | {row['sign']} {row['target']:g} | {row['measured']:g} | {verdict} |")
    return "\n".join(lines)


def _sentence(row: Row) -> str:
    return f"{row['what']}: {row['measured']:g}, goal {row['sign']} {row['target']:g}"


def _cpu_targets(rows: list[Row]) -> list[Row]:
    found = []
    for work, most in MAX_CPU_RATIOS.items():
        for server, target in zip(OURS, most, strict=True):
            ratio = _ratio([row for row in rows if row["w"] == work], server, "bare", "cpu_us_call")
            found += _at_most(f"{server} / bare, CPU per call, {work}", target, ratio)
    return found


def _feature_targets(rows: list[Row]) -> list[Row]:
    found = []
    for work in FEATURES:
        measured = [row for row in rows if row["w"] == work]
        peers = {row["server"] for row in measured if not row["server"].startswith("ours-")}
        for server in OURS:
            ratios = [ratio for peer in peers if (ratio := _ratio(measured, peer, server, "cpu_us_call"))]
            if ratios:
                ahead = round(min(ratios), 2)
                row = {"target": MIN_CPU_RATIO, "measured": ahead, "met": ahead >= MIN_CPU_RATIO}
                found.append({"what": f"best peer / {server}, CPU per call, {work}", "sign": "at least", **row})
    return found


def _start_targets(rows: list[Row]) -> list[Row]:
    cold = [row for row in rows if row["w"] == "e-cold-stdio"]
    found = []
    for server, (least, time, memory) in MAX_START_COSTS.items():
        above = f" above {least}" if least else ""
        ms = _difference(cold, server, least, "cold_ms")
        kb = _difference(cold, server, least, "rss_init_kb")
        found += _at_most(f"{server}{above}, ms to the response of initialize", time, ms)
        found += _at_most(f"{server}{above}, MB after it", memory, kb and kb / 1024)
    return found


def _session_targets(rows: list[Row]) -> list[Row]:
    found = []
    for server in OURS:
        of_server = [row for row in rows if row["w"] == "e-sessions" and row["server"] == server]
        found += _at_most(f"{server}, KB for an idle session", SESSION_KB, _median(of_server, "kb_per_session"))
        found += _at_most(f"{server}, KB for a GET stream", STREAM_KB, _median(of_server, "kb_per_stream"))
    return found


def _resource_targets(rows: list[Row]) -> list[Row]:
    found = []
    for client in OURS:
        peak = _median([row for row in rows if row["w"] == "j-resource" and row["server"] == client], "peak_kb")
        what = f"{client}, peak memory of a resource of 16 MiB, times its size"
        found += _at_most(what, RESOURCE_TIMES, peak and peak / RESOURCE_KB)
    return found


def _at_most(what: str, target: float, measured: float | None) -> list[Row]:
    if measured is None:
        return []
    measured = round(measured, 2)
    return [{"what": what, "sign": "at most", "target": target, "measured": measured, "met": measured <= target}]


def _difference(rows: list[Row], ours: str, least: str, key: str) -> float | None:
    measured = _median([row for row in rows if row["server"] == ours], key)
    if measured is None or not least:
        return measured
    base = _median([row for row in rows if row["server"] == least], key)
    return None if base is None else measured - base


def _median(rows: list[Row], key: str) -> float | None:
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def _ratio(rows: list[Row], ours: str, theirs: str, key: str = "calls_s") -> float | None:
    """The median of the rounds' ratios: both ran seconds apart in each."""
    speed = {(row["server"], row.get("run"), row["round"]): row.get(key) for row in rows}
    ratios = [
        mine / other
        for (server, run, number), mine in speed.items()
        if server == ours and mine and (other := speed.get((theirs, run, number)))
    ]
    return statistics.median(ratios) if ratios else None
