"""Completions for prompt arguments and resource template variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import InvalidArgumentError
from .function import FunctionHandler, completer
from .registry import F, Registry, decorator


class Completions(Registry):
    """The completion methods of a server."""

    def completion(self, of: str | Callable[..., Any], argument: str) -> Callable[[F], F]:
        """Register the decorated function as a completion, and return it unchanged. See
        `add_completion`.
        """
        return decorator("completion", partial(self.add_completion, of, argument))

    def add_completion(self, of: str | Callable[..., Any], argument: str, function: Callable[..., Any]) -> None:
        """Add a completion for a prompt argument or a resource template variable.

        Args:
            of: The function of a registered prompt or template, the name of a prompt, or the URI of
                a template.
            argument: Name of the argument or variable.
            function: Called with the value typed so far and, if it has a second parameter, the
                other arguments already filled in. Returns a list of strings or a `Completion`.

        Raises:
            InvalidArgumentError: If `of` is a function that is not registered, or the argument
                already has a completion.
        """
        reference, _ = self._reference(of)
        registration = {"ref": reference, "argument": argument}
        self._add(completer("completion", (*reference.values(), argument), function, registration))

    def remove_completion(self, of: str | Callable[..., Any], argument: str) -> None:
        """Remove a completion.

        Raises:
            InvalidArgumentError: If there is no such completion.
        """
        reference, shown = self._reference(of)
        self._remove("completion", (*reference.values(), argument), f"completion of {argument!r} of {shown!r}")

    def _reference(self, of: str | Callable[..., Any]) -> tuple[dict[str, str], str]:
        if isinstance(of, str):
            return _reference_to("resourceTemplate" if "{" in of else "prompt", of), of
        for (kind, key), handler in self._things.items():
            # Methods of one object are equal, but not identical.
            is_meant = isinstance(handler, FunctionHandler) and handler.function == of
            if is_meant and kind in ("prompt", "resourceTemplate"):
                return _reference_to(kind, str(key)), str(key)
        raise InvalidArgumentError(f"{of!r} is not registered as a prompt or as a resource template")


def _reference_to(kind: str, key: str) -> dict[str, str]:
    return {"type": "ref/prompt", "name": key} if kind == "prompt" else {"type": "ref/resource", "uri": key}
