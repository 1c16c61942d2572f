"""Prompts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, overload

import trunkline

from .._generated.option_names import PROMPT_OPTIONS, PROMPT_REGISTRATION
from ..model.base import present
from ..options import Unpack, encoded
from ..returns import render_messages
from ..signature.string_arguments import TextSignature
from .function import FunctionHandler
from .registry import F, Registration, Registry, decorator, described


class Prompts(Registry):
    """The prompt methods of a server."""

    @overload
    def prompt(self, function: F, /) -> F: ...

    @overload
    def prompt(self, **options: Unpack[trunkline.PromptOptions]) -> Callable[[F], F]: ...

    def prompt(self, function: Any = None, **options: Unpack[trunkline.PromptOptions]) -> Any:
        """Register the decorated function as a prompt, and return it unchanged. See `PromptOptions`
        for the options.
        """
        return decorator("prompt", partial(self.add_prompt, **options), function)

    def add_prompt(self, function: Callable[..., Any], **options: Unpack[trunkline.PromptOptions]) -> Registration:
        """Add a prompt, and notify connected clients.

        The function's parameters are the prompt's arguments. Clients send strings, which are
        converted to the annotated types (`int`, `float`, `bool`, enums, dates and so on). The
        function returns a string, which becomes a user message, a message made with `user(...)` or
        `assistant(...)`, content, a list of these, or a `GetPromptResult`.

        Args:
            function: `async def` runs on the event loop, `def` on a pool thread.
            options: See `PromptOptions`.

        Raises:
            InvalidArgumentError: If a parameter cannot be filled from a string, or the name is
                taken.
        """
        return self._added(_prompt, function, options)

    def get_prompt(self, name: str) -> Registration:
        """Return the prompt with this name, to change, hide or remove it.

        Raises:
            InvalidArgumentError: If there is no such prompt.
        """
        return self._found("prompt", name)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt, and notify connected clients.

        Raises:
            InvalidArgumentError: If there is no such prompt.
        """
        self._remove("prompt", name, f"prompt named {name!r}")


def _prompt(function: Callable[..., Any], options: Mapping[str, Any]) -> FunctionHandler:
    given = encoded(PROMPT_OPTIONS, options)
    signature = TextSignature(function, "a prompt")
    prompt, beside = described(signature.parameters, given, PROMPT_REGISTRATION)
    arguments = [
        present(name=one.name, title=one.title, description=one.description, required=one.is_required or None)
        for one in signature.arguments
    ]
    registration = {"prompt": prompt | present(arguments=arguments or None), **beside}
    return FunctionHandler(
        "prompt", prompt["name"], signature.parameters, registration, signature.bind, render_messages
    )
