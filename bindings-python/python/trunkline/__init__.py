"""Model Context Protocol servers and clients: every revision of the protocol, one core in Rust, no dependencies."""

from . import _native
from .asking import (
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
from .auth import AccessToken, Auth, Identity, InsufficientScope, InvalidToken, Verify
from .client import Client
from .completions import Completion
from .content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    OtherContent,
    ResourceLink,
    TextContent,
)
from .contents import ReadResourceResult, ResourceContents
from .context import Context
from .dependencies import Depends
from .errors import (
    BlockingCallError,
    Busy,
    ConnectionClosed,
    ForkedError,
    InternalError,
    InvalidArgument,
    ProtocolError,
    RequestCancelled,
    RequestTimeout,
    ToolError,
    TransportError,
    TrunklineError,
    VersionError,
)
from .fields import Field
from .handlers.middleware import Middleware, Next, Request
from .listener import Listener
from .messages import GetPromptResult, Message, assistant, user
from .results import CallToolResult
from .server import Server, Skill
from .sync_client import SyncClient
from .sync_context import SyncContext
from .types import Annotations, Icon, Tool, ToolAnnotations, ToolPage

__version__ = _native.VERSION

__all__ = [
    "AccessToken",
    "Annotations",
    "AudioContent",
    "Auth",
    "BlockingCallError",
    "Busy",
    "CallToolResult",
    "Client",
    "Completion",
    "ConnectionClosed",
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
    "InvalidArgument",
    "InvalidToken",
    "Listener",
    "Message",
    "Middleware",
    "Next",
    "OtherContent",
    "ProtocolError",
    "ReadResourceResult",
    "Request",
    "RequestCancelled",
    "RequestTimeout",
    "ResourceContents",
    "ResourceLink",
    "Root",
    "Server",
    "Skill",
    "SyncClient",
    "SyncContext",
    "TextContent",
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
