"""Model Context Protocol servers and clients: every revision of the protocol, one core in Rust, no dependencies."""

from . import _native
from .auth import AccessToken, Auth, Identity, InsufficientScope, InvalidToken, Verify
from .client.client import Client
from .client.sync_client import SyncClient
from .client_requests import (
    CreateMessageResult,
    ElicitResult,
    InputRequest,
    InputRequired,
    Root,
    elicit,
    elicit_url,
    roots,
    sample,
)
from .context import Context
from .errors import (
    BlockingError,
    BusyError,
    CancelledError,
    ClosedError,
    ForkedError,
    InternalError,
    InvalidArgumentError,
    ProtocolError,
    TimeoutError,
    ToolError,
    TransportError,
    TrunklineError,
    VersionError,
)
from .features.middleware import Middleware, Next, Request
from .features.skill import Skill
from .listener import Listener
from .model.completions import Completion
from .model.content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    OtherContent,
    ResourceLink,
    TextContent,
)
from .model.messages import GetPromptResult, Message, assistant, user
from .model.resource_contents import ReadResourceResult, ResourceContents
from .model.results import CallToolResult
from .model.types import Annotations, Icon, Tool, ToolAnnotations, ToolPage
from .schema.fields import Field
from .server.server import Server
from .signature.dependencies import Depends
from .sync_context import SyncContext

__version__ = _native.VERSION

__all__ = [
    "AccessToken",
    "Annotations",
    "AudioContent",
    "Auth",
    "BlockingError",
    "BusyError",
    "CallToolResult",
    "CancelledError",
    "Client",
    "ClosedError",
    "Completion",
    "Content",
    "Context",
    "CreateMessageResult",
    "Depends",
    "ElicitResult",
    "EmbeddedResource",
    "Field",
    "ForkedError",
    "GetPromptResult",
    "Icon",
    "Identity",
    "ImageContent",
    "InputRequest",
    "InputRequired",
    "InsufficientScope",
    "InternalError",
    "InvalidArgumentError",
    "InvalidToken",
    "Listener",
    "Message",
    "Middleware",
    "Next",
    "OtherContent",
    "ProtocolError",
    "ReadResourceResult",
    "Request",
    "ResourceContents",
    "ResourceLink",
    "Root",
    "Server",
    "Skill",
    "SyncClient",
    "SyncContext",
    "TextContent",
    "TimeoutError",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolPage",
    "TransportError",
    "TrunklineError",
    "Verify",
    "VersionError",
    "__version__",
    "assistant",
    "elicit",
    "elicit_url",
    "roots",
    "sample",
    "user",
]
