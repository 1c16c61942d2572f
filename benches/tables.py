"""Tables with medians and paired ratios from measured rows."""

import statistics
from typing import Any

import growth
from growth_tables import growth_tables
from workloads import SERVERS, WORKLOADS

Row = dict[str, Any]

_COLD = [("cold_ms", "wall ms"), ("cold_cpu_ms", "CPU ms"), ("rss_init_kb", "RSS KB")]
_SESSIONS = [
    (key, key)
    for key in (
        "rss_base_kb",
        "rss_sessions_kb",
        "kb_per_session",
        "kb_per_stream",
        "session_cpu_us",
        "idle_cpu_ms_per_s",
    )
]
_MEMORY = [
    ("rss_init_kb", "RSS init KB"),
    ("rss_end_kb", "RSS after 10k KB"),
    ("anon_init_kb", "anon init"),
    ("anon_end_kb", "anon after"),
]
_CALLS = [
    ("cpu_us_call", "CPU us/call"),
    ("cpu_stat_us_call", "(/proc stat)"),
    ("calls_s", "calls/s"),
    ("p50_us", "p50 us"),
    ("p99_us", "p99 us"),
    ("resp_bytes", "reply bytes"),
    ("gen_cores", "load-gen cores"),
]


def tables(rows: list[Row], base: str) -> str:
    """Markdown: one table per workload, and one per dimension of growth.

    `base`: the server that the ratios are against.
    """
    of_growth = {point.work for point in growth.points()}
    found = [
        _table(work, [row for row in rows if row["w"] == work], base)
        for work in WORKLOADS
        if work not in of_growth and any(row["w"] == work for row in rows)
    ]
    return "\n".join([*found, growth_tables(rows)])


def medians(rows: list[Row], base: str) -> list[Row]:
    """For the report: per workload and server the median of every number, and the errors.

    `base`: the server that `times_base` is against.
    """
    found = []
    for work in WORKLOADS:
        for server in dict.fromkeys(row["server"] for row in rows if row["w"] == work):
            every = [row for row in rows if row["w"] == work and row["server"] == server]
            good = [row for row in every if "error" not in row]
            numbers = {
                key: _median(good, key)
                for key in dict.fromkeys(key for row in good for key in row)
                if key not in ("run", "round", "t") and all(isinstance(row.get(key, 0), int | float) for row in good)
            }
            key = _columns(work)[1]
            times = _ratios([row for row in rows if row["w"] == work], good, key, base) if key else []
            reasons = [row.get("error") or row.get("first_error") for row in every]
            found.append(
                {
                    "workload": work,
                    "title": WORKLOADS[work].title,
                    "server": server,
                    "rounds": len(every),
                    **numbers,
                    **({"times_base": round(statistics.median(times), 3)} if times else {}),
                    "errors": _errors(every, good),
                    "first_error": next((reason for reason in reasons if reason), None),
                }
            )
    return found


def _columns(work: str) -> tuple[list[tuple[str, str]], str | None]:
    """The columns of a workload, and the field that ratios are made of."""
    if work.startswith("e-cold"):
        return _COLD, "cold_cpu_ms"
    if work == "e-sessions":
        return _SESSIONS, None
    if work.startswith("e-rss"):
        return _MEMORY, None
    if work.startswith("d-"):
        return [*_CALLS[:3], ("mb_s", "MB/s"), *_CALLS[3:]], "cpu_us_call"
    if work == "j-resource":
        return [*_CALLS[:1], ("peak_kb", "peak KB")], None
    if WORKLOADS[work].measures_clients:
        return [*_CALLS[:3], ("server_cpu_us_call", "(bare server CPU us/call)")], "cpu_us_call"
    return _CALLS, "cpu_us_call"


def _table(work: str, rows: list[Row], base: str) -> str:
    columns, key = _columns(work)
    names = sorted(
        dict.fromkeys(row["server"] for row in rows),
        key=lambda name: list(SERVERS).index(name) if name in SERVERS else len(SERVERS),
    )
    loads = [load for row in rows for load in row.get("loadavg", [])]
    rounds = len({(row.get("run"), row["round"]) for row in rows})
    heads = [head for _, head in columns] + (["CPU min-max", f"x {base}"] if key else [])
    lines = [
        f"\n### {work}: {WORKLOADS[work].title}\n",
        f"{rounds} rounds, load average {min(loads, default=0):.1f}-{max(loads, default=0):.1f}\n",
        "| " + " | ".join(["server", *heads, "errors"]) + " |",
        "|---" * (len(heads) + 2) + "|",
    ]
    for name in names:
        every = [row for row in rows if row["server"] == name]
        good = [row for row in every if "error" not in row]
        cells = [_format(_median(good, column)) for column, _ in columns]
        if key:
            cells += _spread_and_ratio(rows, good, key, base)
        lines.append("| " + " | ".join([name, *cells, str(_errors(every, good))]) + " |")
    return "\n".join(lines)


def _spread_and_ratio(rows: list[Row], good: list[Row], key: str, base: str) -> list[str]:
    values = [row[key] for row in good if row.get(key) is not None]
    if not values:
        return ["-", "-"]
    ratios = _ratios(rows, good, key, base)
    return [
        f"{_format(min(values))}-{_format(max(values))}",
        f"{_format(statistics.median(ratios))}x" if ratios else "-",
    ]


def _ratios(rows: list[Row], good: list[Row], key: str, base: str) -> list[float]:
    """Ratios are paired: both servers ran seconds apart in the same round."""
    bases = {(row.get("run"), row["round"]): row.get(key) for row in rows if row["server"] == base}
    return [row[key] / pair for row in good if (pair := bases.get((row.get("run"), row["round"]))) and row.get(key)]


def _errors(every: list[Row], good: list[Row]) -> int:
    return sum(row.get("errors", 0) for row in good) + len(every) - len(good)


def _median(rows: list[Row], key: str) -> float | None:
    values = [row[key] for row in rows if row.get(key) is not None]
    return statistics.median(values) if values else None


def _format(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
