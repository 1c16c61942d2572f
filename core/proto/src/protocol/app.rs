//! The messages between a user interface of a tool and its host (MCP Apps, SEP-1865). What is for
//! the server has the methods of the protocol.

/// The MIME type of a user interface.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";
/// The revision of the extension.
pub const REVISION: &str = "2026-01-26";

/// The app introduces itself.
pub const INITIALIZE: &str = "ui/initialize";
/// The app is ready for its tool's call.
pub const INITIALIZED: &str = "ui/notifications/initialized";
/// The arguments of the call.
pub const TOOL_INPUT: &str = "ui/notifications/tool-input";
/// The result of the call.
pub const TOOL_RESULT: &str = "ui/notifications/tool-result";
/// The call has no result.
pub const TOOL_CANCELLED: &str = "ui/notifications/tool-cancelled";
/// The app asks to open a URL.
pub const OPEN_LINK: &str = "ui/open-link";
/// The app has a message for the conversation.
pub const MESSAGE: &str = "ui/message";
/// The app has context for the model.
pub const UPDATE_MODEL_CONTEXT: &str = "ui/update-model-context";
/// The app asks for another way to be shown.
pub const REQUEST_DISPLAY_MODE: &str = "ui/request-display-mode";
/// The size of the app has changed.
pub const SIZE_CHANGED: &str = "ui/notifications/size-changed";
/// The app asks to be closed.
pub const REQUEST_TEARDOWN: &str = "ui/notifications/request-teardown";
/// The host is about to close the app.
pub const RESOURCE_TEARDOWN: &str = "ui/resource-teardown";
