"""Values that Python types reject: the path in the value, and the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import length_hint
from typing import Any, Final, TypeAlias, TypeVar, cast

Path: TypeAlias = "tuple[str | int, ...]"

# The exceptions by which converters reject a value.
REFUSALS: Final = (TypeError, ValueError, LookupError, ArithmeticError)

_MAX_ISSUES: Final = 3

T = TypeVar("T")


class RefusedItem(ValueError):
    """The exception of an item's converter, with the path of the item."""

    def __init__(self, error: Exception, step: str | int, item: Any) -> None:
        super().__init__(str(error))
        self.error = error
        self.step = step
        self.item = item


def each(value: Any, build: Callable[[Iterator[Any]], T]) -> T:
    """Return the result of `build` for an iterator over the items of a list or the members of an
    object.

    Raises:
        RefusedItem: For the last item, if its converter rejects it.
    """
    members = _members(value)
    items: Iterator[Any] = iter(value if members is None else members.items())
    try:
        return build(items)
    except REFUSALS as error:
        index = len(value) - length_hint(items) - 1
        step = index if members is None else [*members][index]
        raise RefusedItem(error, step, value[step]) from error


def _members(value: Any) -> dict[str, Any] | None:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def refusal(error: Exception, value: Any, *start: str) -> tuple[str, str]:
    """Return the path (a JSON pointer that begins with `start`) and the reason for a converter's
    exception. If there are several problems, the reason contains their paths.
    """
    path: Path = start
    while isinstance(error, RefusedItem):
        path, value, error = (*path, error.step), error.item, error.error
    issues: list[tuple[Path, str]] = [((), str(error).strip() or type(error).__name__)]
    if type(error).__module__.startswith("pydantic") and hasattr(error, "errors"):
        issues = _issues(cast("Any", error).errors(include_url=False), value)[:_MAX_ISSUES]
    placed = [(_pointer((*path, *inner)), reason) for inner, reason in issues]
    return placed[0] if len(placed) == 1 else ("", "; ".join(f"{place}: {reason}" for place, reason in placed))


def _pointer(path: Path) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _issues(errors: Sequence[Mapping[str, Any]], value: Any) -> list[tuple[Path, str]]:
    """Return pydantic's errors; for a union, those of the intended member or the one that matched
    furthest.
    """
    members: dict[Any, list[tuple[Path, str]]] = {}
    meant: dict[Any, bool] = {}
    for error in errors:
        path, member = _placed(error, value)
        cause = error.get("ctx", {}).get("error")
        # The author's message, without pydantic's prefix.
        reason = str(cause) if isinstance(cause, Exception) and str(cause) else error["msg"]
        members.setdefault(member, []).append((path, reason))
        meant[member] = meant.get(member, True) and error["type"] != "literal_error"
    return members[max(members, key=lambda one: (meant[one], max(len(path) for path, _ in members[one])))]


def _placed(error: Mapping[str, Any], value: Any) -> tuple[Path, Any]:
    """Return the path of an error in the value, and the first union member on the path."""
    path: Path = ()
    member: Any = None
    location: Path = error["loc"]
    for index, step in enumerate(location):
        try:
            path, value = (*path, step), value[step]
        except (LookupError, TypeError):
            if index == len(location) - 1 and error["type"] == "missing":
                path = (*path, step)
            elif member is None:
                member = step
    return path, member
