"""What a completion gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Completion:
    """Suggestions that are not all that there are. A handler whose list is complete simply returns the list.

    Args:
        values: the suggestions, the best first; clients see at most 100.
        total: how many there are in all.
        has_more: whether there are more than these (default: if `total` says so).
    """

    __slots__ = ("has_more", "total", "values")

    def __init__(self, values: Sequence[str], *, total: int | None = None, has_more: bool | None = None) -> None:
        self.values = values
        self.total = total
        self.has_more = has_more

    def to_json(self) -> dict[str, Any]:
        """The suggestions in the form that the protocol uses."""
        json: dict[str, Any] = {"values": [*self.values]}
        if self.total is not None:
            json["total"] = self.total
        if self.has_more is not None:
            json["hasMore"] = self.has_more
        return json

    def __repr__(self) -> str:
        return f"Completion({self.values!r}, total={self.total!r}, has_more={self.has_more!r})"
