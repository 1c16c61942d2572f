//! The options of an HTTP endpoint.

use crate::auth::Authorization;
use std::{path::PathBuf, time::Duration};

/// Where and how a server is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The host to listen on. Default `127.0.0.1`: this machine only.
    pub host: String,
    /// The port to listen on. Default 8000; 0 takes one that is free.
    pub port: u16,
    /// Listen on a Unix socket at this path, and not on a port. A socket that a dead server left there is replaced; ours is
    /// removed when the listener closes.
    pub unix: Option<PathBuf>,
    /// Who may connect to the Unix socket, as for files. Default `0o600`: programs of the same user.
    pub unix_mode: u32,
    /// The path of the endpoint. Default `/mcp`; a slash at its end makes no difference.
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
    /// Where clients of HTTP+SSE, the transport of 2024-11-05, find their stream. Default `/sse`; `None` serves none, as
    /// does a server without sessions. The path of the endpoint may be shared: then who asks for a stream without a session
    /// gets this one (docs/versions.md, 2.2).
    pub sse: Option<String>,
    /// Where clients of HTTP+SSE post their messages. Default `/messages`; where the path is shared, they post there.
    pub messages: String,
    /// How many events of each session are kept for clients whose connection breaks (HTTP-39). Default 1,000; 0 keeps none,
    /// and events have no ids.
    pub replay_events: usize,
    /// How many bytes they may have together. Default 4 MiB; the newest event is kept whatever its size.
    pub replay_bytes: usize,
    /// How long a client waits before it comes back, when its connection is closed early (HTTP-27). Default 1 s.
    pub retry: Duration,
    /// Connections at once. Default 16,384; further ones wait in the system's backlog.
    pub max_connections: usize,
    /// Requests without a session at once, from before their body is read until their call has ended: those of 2026-07-28, and
    /// all of a server without sessions. Default 4,096; further ones are refused as busy before their body is read.
    pub max_requests: usize,
    /// How many bytes the bodies of requests may have together that are being read or served. Default 256 MiB, and never less
    /// than one message may have; what comes when there is no room is refused as busy.
    pub max_body_bytes: usize,
    /// Which access tokens requests need. Default: none.
    pub auth: Option<Authorization>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".into(),
            port: 8000,
            unix: None,
            unix_mode: 0o600,
            path: "/mcp".into(),
            stateless: false,
            json: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            sse: Some("/sse".into()),
            messages: "/messages".into(),
            replay_events: 1000,
            replay_bytes: 4 << 20,
            retry: Duration::from_secs(1),
            max_connections: 16_384,
            max_requests: 4096,
            max_body_bytes: 256 << 20,
            auth: None,
        }
    }
}
