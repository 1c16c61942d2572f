"""Model Context Protocol servers and clients: all protocol revisions, a core in Rust, no
dependencies.
"""

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ._internal import _native
from ._internal._generated import api as _api
from ._internal._generated import errors as _errors
from ._internal._generated.api import *  # noqa: F403
from ._internal._generated.errors import *  # noqa: F403
from ._internal.auth import Auth, InsufficientScope, InvalidToken, PresentedToken, Verify
from ._internal.client_requests._generated.prompt_result import GetPromptResult
from ._internal.client_requests._generated.requests import elicit, elicit_url, list_roots, sample
from ._internal.client_requests.input_request import ElicitResult, InputRequest, InputRequired
from ._internal.context._async.context import Context
from ._internal.context._sync.context import SyncContext
from ._internal.errors import ProtocolError, ToolError
from ._internal.features.middleware import Middleware, Next, Request
from ._internal.features.mount import Mount, ProxiedClient
from ._internal.features.provider import AsyncProvider, Category, Provider, SyncProvider
from ._internal.features.registry import EnterLifespan, Registration
from ._internal.features.skill import Skill
from ._internal.listener import Listener
from ._internal.messages import Message, Messages, assistant, user
from ._internal.model.base import OtherContent
from ._internal.model.resource_contents import EmbeddedResource, ResourceContents
from ._internal.requests import OnProgress
from ._internal.schema.fields import Field
from ._internal.server.server import Server
from ._internal.signature.dependencies import Depends
from ._internal.store import StoreError

if TYPE_CHECKING:
    from ._internal._generated import options as _options
    from ._internal._generated.options import *  # noqa: F403
    from ._internal._generated.store import Store
    from ._internal.client.connect_options import ConnectOptions, OnNotification, OnToolsChanged
    from ._internal.client_group._generated import api as _client_api
    from ._internal.client_group._generated.api import *  # noqa: F403
    from ._internal.http_mount import ASGIApp
    from ._internal.server.store_check import check_store

__version__ = _native.VERSION

# Clients, annotation types and rarely used functions, loaded on first access.
_LAZY = {
    **dict.fromkeys(_api.CLIENTS, "client_group._generated.api"),
    **dict.fromkeys(_api.OPTIONS, "_generated.options"),
    **dict.fromkeys(("ConnectOptions", "OnNotification", "OnToolsChanged"), "client.connect_options"),
    "ASGIApp": "http_mount",
    "Store": "_generated.store",
    "check_store": "server.store_check",
}


# `typing.get_type_hints` resolves the annotations of public classes in this module's namespace.
_ANNOTATIONS = (Callable, ClassVar, Literal, Mapping, Sequence)


def _named(value: Any) -> Any:
    """Set the public module name, so that tracebacks, reprs and pickles show it."""
    if issubclass(type(value), type | FunctionType):
        value.__module__ = __name__
    return value


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}._internal.{_LAZY[name]}")
    # All names of the module: the classes of a client's results also need their public name.
    loaded = [other for other, place in _LAZY.items() if place == _LAZY[name]]
    globals().update({other: _named(getattr(module, other)) for other in loaded})
    return globals()[name]


__all__ = [
    "ASGIApp",
    "AsyncProvider",
    "Auth",
    "Category",
    "ConnectOptions",
    "Context",
    "Depends",
    "ElicitResult",
    "EmbeddedResource",
    "EnterLifespan",
    "Field",
    "GetPromptResult",
    "InputRequest",
    "InputRequired",
    "InsufficientScope",
    "InvalidToken",
    "Listener",
    "Message",
    "Messages",
    "Middleware",
    "Mount",
    "Next",
    "OnNotification",
    "OnProgress",
    "OnToolsChanged",
    "OtherContent",
    "PresentedToken",
    "ProtocolError",
    "Provider",
    "ProxiedClient",
    "Registration",
    "Request",
    "ResourceContents",
    "Server",
    "Skill",
    "Store",
    "StoreError",
    "SyncContext",
    "SyncProvider",
    "ToolError",
    "Verify",
    "__version__",
    "assistant",
    "check_store",
    "elicit",
    "elicit_url",
    "list_roots",
    "sample",
    "user",
]
__all__ += _api.__all__
__all__ += _errors.__all__
if TYPE_CHECKING:
    __all__ += _client_api.__all__
    __all__ += _options.__all__
else:
    __all__ += [*_api.CLIENTS, *_api.OPTIONS]  # noqa: PLE0604

for _name in __all__:
    _named(globals().get(_name))
