"""The colour of functions: whether callers await what they return."""

from __future__ import annotations

from typing import Any


def is_async(function: Any) -> bool:
    """True for an `async def` function, also below decorators (`functools.wraps`) and partials, and
    for an object whose `__call__` is one.
    """
    from inspect import iscoroutinefunction, isroutine

    candidates = [function] if isroutine(function) else [function, getattr(function, "__call__", None)]  # noqa: B004
    return any(iscoroutinefunction(one) or iscoroutinefunction(innermost(one)) for one in candidates)


def innermost(function: Any) -> Any:
    """The function that decorators and partials are around."""
    from inspect import unwrap

    function = unwrap(function)
    while callable(inner := getattr(function, "func", None)):
        function = unwrap(inner)
    return function


def is_awaitable(value: Any) -> bool:
    """True for what can be awaited."""
    return hasattr(value, "__await__")
