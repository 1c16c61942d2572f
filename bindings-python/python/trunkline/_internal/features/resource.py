"""Resources and resource templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import trunkline

from .._generated.option_names import RESOURCE_OPTIONS, RESOURCE_REGISTRATION
from ..errors import InvalidArgumentError
from ..options import Unpack, encoded
from ..returns import render_contents
from ..signature.string_arguments import TextSignature
from .function import FunctionHandler
from .registry import F, Registration, Registry, decorator, described

# The expressions of a URI template (RFC 6570). The core validates the template; only the names
# matter here.
_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")


class Resources(Registry):
    """The resource methods of a server."""

    def resource(self, uri: str, **options: Unpack[trunkline.ResourceOptions]) -> Callable[[F], F]:
        """Register the decorated function as a resource, or as a template if the URI contains
        `{...}`, and return it unchanged. See `ResourceOptions` for the options.
        """
        if not isinstance(uri, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidArgumentError('a resource needs its URI: @server.resource("notes://today")')
        return decorator("resource", partial(self.add_resource, uri, **options))

    def add_resource(
        self, uri: str, function: Callable[..., Any], **options: Unpack[trunkline.ResourceOptions]
    ) -> Registration:
        """Add a resource, or a template if the URI contains `{...}`, and notify connected clients.

        The function returns a string, bytes, `ResourceContents` or a list of them, a
        `ReadResourceResult`, or any other value, which is encoded as JSON. It takes a template's
        variables as parameters of the same name. Their values are converted to the annotated types
        (`int`, `float`, `bool`, enums, dates and so on). A variable that a URI may omit, as in
        `{?page}`, needs a default; a variable with several values, as in `{/path*}`, is a `list`.

        Args:
            uri: The URI, or a URI template (RFC 6570) such as `notes://{name}`.
            function: `async def` runs on the event loop, `def` on a pool thread.
            options: See `ResourceOptions`.

        Raises:
            InvalidArgumentError: If the URI is invalid or taken, or the function's parameters don't
                match it.
        """
        return self._added(partial(_resource, uri), function, options)

    def get_resource(self, uri: str) -> Registration:
        """Return the resource or template with this URI, to change, hide or remove it.

        Raises:
            InvalidArgumentError: If there is none with this URI.
        """
        return self._found("resourceTemplate" if "{" in uri else "resource", uri)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or template, and notify connected clients.

        Raises:
            InvalidArgumentError: If there is none with this URI.
        """
        kind, what = ("resourceTemplate", "resource template") if "{" in uri else ("resource", "resource")
        self._remove(kind, uri, f"{what} {uri!r}")

    def resource_updated(self, uri: str) -> None:
        """Notify subscribed clients that a resource has changed."""
        self._tell({"resourceUpdated": uri})


def _resource(uri: str, function: Callable[..., Any], options: Mapping[str, Any]) -> FunctionHandler:
    is_template, variables = "{" in uri, _variables(uri)
    lists = frozenset(name for name, variable in variables.items() if variable.is_list)
    signature = TextSignature(function, "a resource", lists)
    _check(uri, variables, signature)
    given = encoded(RESOURCE_OPTIONS, options)
    descriptor, beside = described(signature.parameters, given, RESOURCE_REGISTRATION)
    if is_template and "size" in given:
        raise InvalidArgumentError(f"{uri}: a template cannot have a size")
    if not is_template and "unsafePaths" in beside:
        raise InvalidArgumentError(f"{uri}: unsafe_paths is only for templates: this URI has no variables")
    kind, place = ("resourceTemplate", "uriTemplate") if is_template else ("resource", "uri")
    registration = {kind: {place: uri, **descriptor}, **beside}

    def bind(body: Any) -> dict[str, Any]:
        return signature.bind(body.get("variables", {}))

    return FunctionHandler(kind, uri, signature.parameters, registration, bind, render_contents)


class _Variable(NamedTuple):
    """A variable of a URI template: whether a URI may omit it, and whether it is a list."""

    may_be_absent: bool
    is_list: bool


def _variables(uri: str) -> dict[str, _Variable]:
    found: dict[str, _Variable] = {}
    for operator, names in _EXPRESSION.findall(uri):
        for index, given in enumerate(names.split(",")):
            name = given.partition(":")[0].rstrip("*")
            # Only plain expressions are always present, and of several variables only the first.
            may_be_absent = operator not in ("", "+") or index > 0
            earlier = found.get(name, _Variable(may_be_absent=True, is_list=False))
            found[name] = _Variable(may_be_absent and earlier.may_be_absent, given.endswith("*") or earlier.is_list)
    return found


def _check(uri: str, variables: dict[str, _Variable], signature: TextSignature) -> None:
    """Raise InvalidArgumentError if the function's parameters don't match the URI's variables."""
    where, takes = signature.parameters.where, {argument.name: argument for argument in signature.arguments}
    for name, argument in takes.items():
        if not argument.is_required:
            continue
        if name not in variables:
            there = f"the variables are {', '.join(variables)}" if variables else "it has no variables"
            raise InvalidArgumentError(f"{where}: parameter {name!r} is not a variable of {uri!r}: {there}")
        if variables[name].may_be_absent:
            raise InvalidArgumentError(
                f"{where}: parameter {name!r} needs a default: {uri!r} also matches URIs without it"
            )
    for name in variables.keys() - takes.keys():
        if signature.parameters.rest is None:
            raise InvalidArgumentError(f"{where}: no parameter takes the variable {name!r} of {uri!r}")
        signature.other(name)  # refuses a type that it cannot have
