"""Model Context Protocol servers and clients: every revision of the protocol, one core in Rust, no
dependencies.
"""

from typing import TYPE_CHECKING, Any

from . import _native
from ._generated import api
from ._generated import errors as error_classes
from ._generated.api import *  # noqa: F403
from ._generated.errors import *  # noqa: F403
from .auth import Auth, InsufficientScope, InvalidToken, Verify
from .client.client import Client
from .client.sync_client import SyncClient
from .client_group._generated import api as client_api
from .client_group._generated.api import *  # noqa: F403
from .client_requests._generated.requests import elicit, elicit_url, list_roots, sample
from .client_requests.input_request import ElicitResult, InputRequest, InputRequired
from .context._generated.sync_context import SyncContext
from .context.context import Context
from .errors import ProtocolError, ToolError
from .features.middleware import Middleware, Next, Request
from .features.mount import Mount
from .features.registry import Registration
from .features.skill import Skill
from .listener import Listener
from .messages import GetPromptResult, Message, assistant, user
from .model.base import OtherContent
from .model.resource_contents import EmbeddedResource, ResourceContents
from .schema.fields import Field
from .server.server import Server
from .signature.dependencies import Depends

if TYPE_CHECKING:
    from ._generated.options import (
        AuthOptions,
        ChildOptions,
        ClientOptions,
        EndpointOptions,
        HttpOptions,
        MountOptions,
        PromptOptions,
        ResourceOptions,
        SampleOptions,
        ServerOptions,
        ToolOptions,
    )
    from .client.connection import OnNotification
    from .features.provider import Category
    from .http_mount import ASGIApp
    from .requests import OnProgress

__version__ = _native.VERSION

_OPTIONS = "Auth Child Client Endpoint Http Mount Prompt Resource Sample Server Tool"
# Types of annotations, which are loaded when they are asked for.
_LAZY = {
    **{f"{name}Options": "_generated.options" for name in _OPTIONS.split()},
    "ASGIApp": "http_mount",
    "Category": "features.provider",
    "OnNotification": "client.connection",
    "OnProgress": "requests",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


__all__ = [
    "ASGIApp",
    "Auth",
    "AuthOptions",
    "Category",
    "ChildOptions",
    "Client",
    "ClientOptions",
    "Context",
    "Depends",
    "ElicitResult",
    "EmbeddedResource",
    "EndpointOptions",
    "Field",
    "GetPromptResult",
    "HttpOptions",
    "InputRequest",
    "InputRequired",
    "InsufficientScope",
    "InvalidToken",
    "Listener",
    "Message",
    "Middleware",
    "Mount",
    "MountOptions",
    "Next",
    "OnNotification",
    "OnProgress",
    "OtherContent",
    "PromptOptions",
    "ProtocolError",
    "Registration",
    "Request",
    "ResourceContents",
    "ResourceOptions",
    "SampleOptions",
    "Server",
    "ServerOptions",
    "Skill",
    "SyncClient",
    "SyncContext",
    "ToolError",
    "ToolOptions",
    "Verify",
    "__version__",
    "assistant",
    "elicit",
    "elicit_url",
    "list_roots",
    "sample",
    "user",
]
__all__ += api.__all__
__all__ += error_classes.__all__
__all__ += client_api.__all__
