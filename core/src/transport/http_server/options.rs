//! The options of an HTTP endpoint.

/// Where and how a server is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The host to listen on. Default `127.0.0.1`: this machine only.
    pub host: String,
    /// The port to listen on. Default 0: one that is free.
    pub port: u16,
    /// The path of the endpoint. Default `/mcp`.
    pub path: String,
    /// Keep no sessions for clients of the handshake era. Default `false`.
    pub stateless: bool,
    /// Answer with JSON and never with an event stream, except to `subscriptions/listen`; progress is dropped. Default `false`.
    pub json: bool,
    /// Names in `Host` that are allowed beside those of this machine, with or without a port; `*` allows every name. A
    /// server that does not listen on loopback checks `Host` only if names are listed.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are allowed beside those of this machine, such as `https://app.example`; `*` allows every
    /// page.
    pub allowed_origins: Vec<String>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 0,
            path: "/mcp".into(),
            stateless: false,
            json: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        }
    }
}
