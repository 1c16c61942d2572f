"""Detection of asynchronous functions."""

from __future__ import annotations

from typing import Any


def is_async(function: Any) -> bool:
    """Return True for an `async def` function, also when wrapped by decorators (`functools.wraps`)
    or partials, and for an object whose `__call__` is one.
    """
    from inspect import iscoroutinefunction

    return any(iscoroutinefunction(one) or iscoroutinefunction(innermost(one)) for one in called(function))


def called(function: Any) -> list[Any]:
    """Return the function, and for a callable object also its `__call__`."""
    from inspect import isroutine

    return [function] if isroutine(function) else [function, getattr(function, "__call__", None)]  # noqa: B004


def innermost(function: Any) -> Any:
    """Return the function that decorators and partials wrap."""
    from inspect import unwrap

    function = unwrap(function)
    while callable(inner := getattr(function, "func", None)):
        function = unwrap(inner)
    return function
