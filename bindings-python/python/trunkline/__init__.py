"""Model Context Protocol servers and clients: every revision of the protocol, one core in Rust, no dependencies."""

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

__version__ = _native.VERSION

__all__ = [
    "Auth",
    "Client",
    "Context",
    "Depends",
    "ElicitResult",
    "EmbeddedResource",
    "Field",
    "GetPromptResult",
    "InputRequest",
    "InputRequired",
    "InsufficientScope",
    "InvalidToken",
    "Listener",
    "Message",
    "Middleware",
    "Mount",
    "Next",
    "OtherContent",
    "ProtocolError",
    "Registration",
    "Request",
    "ResourceContents",
    "Server",
    "Skill",
    "SyncClient",
    "SyncContext",
    "ToolError",
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
