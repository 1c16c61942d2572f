"""ISO 8601 durations, without years and months, whose length in seconds varies."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from datetime import timedelta

_DURATION: Final = (
    r"([+-]?)P(?=.)(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=.)(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(\.[0-9]+)?S)?)?"
)


def read_duration(text: str, make: type[timedelta]) -> timedelta:
    """Parse a duration such as `PT1H30M`; digits beyond microseconds are dropped.

    Raises:
        ValueError: For any other string.
    """
    if (found := re.fullmatch(_DURATION, text)) is None:
        raise ValueError(f'"{text}" is not a duration such as PT1H30M (ISO 8601)')
    sign, *whole, fraction = found.groups("0")
    weeks, days, hours, minutes, seconds = map(int, whole)
    micros = int(f"{fraction[1:]:0<6}"[:6])
    span = make(days, seconds, micros, minutes=minutes, hours=hours, weeks=weeks)
    return -span if sign == "-" else span


def write_duration(span: timedelta) -> str:
    """Format a duration."""
    length: Any = abs(span)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{length.microseconds:06}".rstrip("0.")
    parts = (f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{seconds}{fraction}S")
    time = "".join(parts if seconds or fraction or not (length.days or hours or minutes) else parts[:2])
    days = f"{length.days}D" if length.days else ""
    return f"{'-' if span.days < 0 else ''}P{days}{'T' if time else ''}{time}"
