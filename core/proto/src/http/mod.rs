//! Streamable HTTP without I/O: headers, guards, classification, statuses, sessions and event
//! streams.

pub mod classify;
pub mod content;
pub mod event_stream;
pub mod guard;
pub mod mirror;
pub mod rejection;
pub mod replay;
pub mod routes;
pub mod sessions;
pub mod sse;

pub mod headers {
    //! The header fields that the protocol defines (H26-10: their names are case-insensitive).

    use http::HeaderName;

    /// The revision: after `initialize`, and with every modern message.
    pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
    /// The session id, in the legacy era.
    pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
    /// The method of a modern request.
    pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
    /// The tool, prompt or resource of a modern request.
    pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
    /// The last event of a stream that a client received, in the legacy era.
    pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
    /// Makes proxies such as nginx forward events without buffering (H26-15).
    pub const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
    /// The prefix of headers that mirror tool parameters, in the lower case of header maps.
    pub const PARAMETER_PREFIX: &str = "mcp-param-";
}
