"""Completions of the arguments of prompts and of the variables of resource templates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import InvalidArgumentError
from .completer import CompletionHandler
from .function import FunctionHandler
from .registry import Registry

F = TypeVar("F", bound=Callable[..., Any])


class Completions(Registry):
    """The completion methods of a server."""

    def completion(self, of: str | Callable[..., Any], argument: str) -> Callable[[F], F]:
        """Registers the decorated function as what suggests values, and leaves it as it is. See
        `add_completion`.
        """

        def decorate(function: F) -> F:
            self.add_completion(of, argument, function)
            return function

        return decorate

    def add_completion(self, of: str | Callable[..., Any], argument: str, function: Callable[..., Any]) -> None:
        """Adds what suggests values for one argument of a prompt, or for one variable of a resource
        template.

        Args:
            of: the function of a registered prompt or template, a prompt's name, or a template's
                URI.
            argument: the name of the argument or variable.
            function: called with the text so far and, if it has a second parameter, with the other
                arguments that are filled in; returns the suggestions as a list of texts or as a
                `Completion`.

        Raises:
            InvalidArgumentError: if `of` is a function that is not registered, or there is a
                completion of it already.
        """
        reference, shown = self._reference(of)
        registration = {"ref": reference, "argument": argument}
        handler = CompletionHandler((*reference.values(), argument), function, registration)
        self._add(handler, f"a completion of {argument!r} of {shown!r}")

    def remove_completion(self, of: str | Callable[..., Any], argument: str) -> None:
        """Takes a completion away.

        Raises:
            InvalidArgumentError: if there is none.
        """
        reference, shown = self._reference(of)
        self._remove("completion", (*reference.values(), argument), f"completion of {argument!r} of {shown!r}")

    def _reference(self, of: str | Callable[..., Any]) -> tuple[dict[str, str], str]:
        if isinstance(of, str):
            return _reference_to("resourceTemplate" if "{" in of else "prompt", of), of
        for (kind, key), handler in self._things.items():
            if (
                kind in ("prompt", "resourceTemplate")
                and isinstance(handler, FunctionHandler)
                and handler.function is of
            ):
                return _reference_to(kind, str(key)), str(key)
        raise InvalidArgumentError(f"{of!r} is not registered as a prompt or as a resource template")


def _reference_to(kind: str, key: str) -> dict[str, str]:
    return {"type": "ref/prompt", "name": key} if kind == "prompt" else {"type": "ref/resource", "uri": key}
