//! The address of a listener, as the bindings get it.

use serde::Serialize;

trunkline_proto::described! {
    /// The address of an HTTP listener; other listeners leave it empty.
    #[derive(Default, Serialize)]
    pub struct BoundAddress {
        /// URL of the endpoint, such as `http://127.0.0.1:8000/mcp`.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional url: Option<String> = "url",
        /// Address that it listens on.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional host: Option<String> = "host",
        /// Port that it listens on.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional port: Option<u16> = "port",
        /// Path of the Unix socket, instead of `host` and `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional unix: Option<String> = "unix",
    }
}
