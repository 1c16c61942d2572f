//! The address of a listener, as the bindings get it.

use serde::Serialize;

trunkline_proto::described! {
    /// The address of a listener for HTTP; of others it has no members.
    #[derive(Default, Serialize)]
    pub struct BoundAddress {
        /// The URL of the endpoint, such as `http://127.0.0.1:8000/mcp`.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional url: Option<String> = "url",
        /// The address that it listens at.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional host: Option<String> = "host",
        /// The port that it listens at.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional port: Option<u16> = "port",
        /// The path of the Unix socket, in the place of `host` and `port`.
        #[serde(skip_serializing_if = "Option::is_none")]
        optional unix: Option<String> = "unix",
    }
}
