"""Model Context Protocol servers and clients: every revision of the protocol, one core in Rust, no dependencies."""

from . import _native
from .client import Client
from .content import (
    AudioContent,
    Content,
    EmbeddedResource,
    ImageContent,
    OtherContent,
    ResourceLink,
    TextContent,
)
from .context import Context, SyncContext
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
from .listener import Listener
from .results import CallToolResult
from .server import Server
from .sync_client import SyncClient
from .types import Icon, Tool, ToolAnnotations, ToolPage

__version__ = _native.VERSION

__all__ = [
    "AudioContent",
    "BlockingCallError",
    "Busy",
    "CallToolResult",
    "Client",
    "ConnectionClosed",
    "Content",
    "Context",
    "EmbeddedResource",
    "Field",
    "ForkedError",
    "Icon",
    "ImageContent",
    "InternalError",
    "InvalidArgument",
    "Listener",
    "OtherContent",
    "ProtocolError",
    "RequestCancelled",
    "RequestTimeout",
    "ResourceLink",
    "Server",
    "SyncClient",
    "SyncContext",
    "TextContent",
    "Tool",
    "ToolAnnotations",
    "ToolError",
    "ToolPage",
    "TransportError",
    "TrunklineError",
    "VersionError",
    "__version__",
]
