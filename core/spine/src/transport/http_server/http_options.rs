//! The options of an HTTP endpoint.

use super::forwarded::TrustedProxy;
#[cfg(feature = "auth")]
use crate::auth::Authorization;
use crate::protocol::options::{Bytes, Millis, OrFalse, Permissions, PortNumber};
use std::{path::PathBuf, time::Duration};

/// The authorization of an endpoint. It has no value: the feature `auth` is off.
#[cfg(not(feature = "auth"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {}

trunkline_proto::options! {
    /// Configures an HTTP endpoint.
    ///
    /// ```no_run
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// use trunkline::HttpOptions;
    ///
    /// let options = HttpOptions::default().with_host("0.0.0.0").with_port(80).with_stateless(true);
    /// server.listen_with(options).await?.closed().await;
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HttpOptions {
        /// The host to listen on. By default, only this machine can connect.
        @into host: String => "host" = "127.0.0.1".into(),
        /// The port to listen on; 0 picks a free one.
        port: u16 => "port" as PortNumber = 8000,
        /// The path of a Unix socket to listen on, instead of host and port. A socket left behind
        /// by a dead server is replaced; it is removed when the listener closes.
        @into unix: Option<PathBuf> => "unix" = None,
        /// The permissions of the Unix socket, as for files; in JSON as octal digits.
        unix_mode: u32 => "unixMode" as Permissions = 0o600,
        /// The path of the endpoint, with or without a trailing slash.
        @into path: String => "path" = "/mcp".into(),
        /// Answer the probes of orchestrators and load balancers, without an access token: `GET
        /// /healthz` returns 200 while the process is serving, `GET /readyz` returns 200 or 503. A
        /// server is not ready if it is closing, or if its store does not respond within half a
        /// second. If a router has already chosen the endpoint's path, health routes are up to the
        /// application.
        health: bool => "health" = false,
        /// Paths that return 200 while the process is serving, such as `/health`.
        @each(String) health_paths: Vec<String> => "healthPaths" = Vec::new(),
        /// Keep no sessions for legacy clients.
        stateless: bool => "stateless" = false,
        /// Respond with plain JSON and never with an event stream, except to
        /// `subscriptions/listen`; the progress and log messages of a call are dropped.
        json: bool => "json" = false,
        /// Names allowed in `Host` in addition to those of this machine, with or without a port;
        /// `*` allows every name. A server that does not listen on loopback checks `Host` only if
        /// names are listed.
        allowed_hosts: Vec<String> => "allowedHosts" = Vec::new(),
        /// Values allowed in `Origin` in addition to those of this machine, such as
        /// `https://app.example`; `*` allows every page.
        allowed_origins: Vec<String> => "allowedOrigins" = Vec::new(),
        /// The path where clients of HTTP+SSE, the 2024-11-05 transport, open their stream. Without
        /// a path, or without sessions, HTTP+SSE is off. It may be the same as the endpoint's path:
        /// a request there for a stream without a session then opens an HTTP+SSE stream. Such
        /// clients post to a URL that contains their session, which proxies may log: leave this off
        /// if you have no old clients. A server with `auth` also checks who owns the session.
        @into sse: Option<String> => "sse" as OrFalse = Some("/sse".into()),
        /// The path where clients of HTTP+SSE post their messages, including when the path is
        /// shared.
        @into messages: String => "messages" = "/messages".into(),
        /// Events kept per session for reconnecting clients; 0 keeps none, and events have no ids.
        replay_events: usize => "replayEvents" = 1000,
        /// Total size of the events kept per session; the newest is kept whatever its size.
        replay_bytes: usize => "replayBytes" as Bytes = 4 << 20,
        /// Total size of the events kept for all sessions. Beyond it, the longest-idle sessions of
        /// the client with the most lose theirs, and cannot resume a broken stream.
        max_replay_bytes: usize => "maxReplayBytes" as Bytes = 256 << 20,
        /// Delay after which a client reconnects if its connection was closed early.
        retry: Duration => "retryMs" as Millis = Duration::from_secs(1),
        /// Maximum concurrent connections, always at least 64 below the process's descriptor limit.
        /// Beyond it, a connection without a request is closed: one that sent none in its first 100
        /// ms, or else the oldest. If all have a request, new connections wait in the system's
        /// backlog.
        max_connections: usize => "maxConnections" = 16_384,
        /// Maximum concurrent connections per peer address, or per network of 64 bits with IPv6; 0
        /// means no limit, for servers behind a proxy, where all connections share one address.
        /// Beyond it, a connection of that address without a request is closed; if all have a
        /// request, new ones are closed at once.
        max_connections_per_address: usize => "maxConnectionsPerAddress" = 0,
        /// The reverse proxies in front of the server: each an address, a network such as
        /// `10.0.0.0/8`, or `unix` for proxies on the Unix socket. For requests from them, the
        /// client is the last address in `X-Forwarded-For` outside of this list. Clients without an
        /// access token then get a share per address (for IPv6, per 64-bit prefix), as principals
        /// do: of requests, bodies, sessions, tasks and requests per minute. Without trusted
        /// proxies, all clients behind a proxy count as one, and there are no shares.
        @each(TrustedProxy) trusted_proxies: Vec<TrustedProxy> => "trustedProxies" = Vec::new(),
        /// Maximum time for a connection without a request, or to send the head of one. Then it is
        /// closed, at the latest after twice this time.
        idle_timeout: Duration => "idleTimeoutMs" as Millis = Duration::from_secs(60),
        /// Maximum time for which a client reads nothing that is sent to it. Then the connection is
        /// closed; a client with a session can resume its streams. On Linux this also detects
        /// clients that vanished, by the first keep-alive of their stream that is not acknowledged.
        write_timeout: Duration => "writeTimeoutMs" as Millis = Duration::from_secs(60),
        /// Maximum concurrent requests outside of sessions, counted until their call has ended:
        /// those of 2026-07-28, and all requests of a stateless server. Beyond it, requests are
        /// refused as busy before their body is read. Equally many bodies are read at once; beyond
        /// that, the oldest of the client that sends the most is abandoned as busy.
        max_requests: usize => "maxRequests" = 4096,
        /// Total size of all requests being read or served, until their calls and tasks have ended;
        /// at least the maximum size of a message. A JSON value of a message with more than 2,048
        /// counts as 72 bytes, about what it takes in memory. Requests that do not fit are refused
        /// as busy. One client may use a quarter of it, or have one message, and the last 16 MiB
        /// are reserved for messages up to 64 KiB. Bodies above 64 KiB must arrive at 4 KiB per
        /// second or more. Inside a web framework, bodies waiting for their access token to be
        /// verified have an additional quarter of it.
        max_body_bytes: usize => "maxBodyBytes" as Bytes = 256 << 20,
        /// Maximum requests per minute of each principal or, if no tokens are verified, of each
        /// address behind trusted proxies, or else of each session; requests with none of these
        /// share one limit. POST requests count, and GET requests that open an HTTP+SSE stream.
        /// Beyond it, requests are refused with 429 and `Retry-After`. 0 means no limit.
        rate_limit: u32 => "rateLimit" = 0,
        /// Burst of requests that a caller may send before that limit applies.
        rate_burst: u32 => "rateBurst" = 20,
        /// Access tokens that requests need.
        @into auth: Option<Authorization> = None,
    }
}

impl HttpOptions {
    /// Returns whether probes are answered.
    pub(super) fn is_probed(&self) -> bool {
        self.health || !self.health_paths.is_empty()
    }
}
