//! The header fields that the protocol defines (H26-10: their names compare without case).

use http::HeaderName;

/// The revision: after `initialize`, and with every modern message.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The session, in the legacy era.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// The method of a modern request.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The tool, prompt or resource of a modern request.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The last event that a client saw of a stream, in the legacy era.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells proxies such as nginx to pass events on at once (H26-15).
pub const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// The prefix of headers that mirror parameters of tools, in the lower case of header maps.
pub const PARAMETER_PREFIX: &str = "mcp-param-";
