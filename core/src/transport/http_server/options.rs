//! The options of an HTTP endpoint.

use super::forwarded::TrustedProxy;
#[cfg(not(feature = "auth"))]
use super::uninhabited::Authorization;
#[cfg(feature = "auth")]
use crate::auth::Authorization;
use crate::protocol::options::{Bytes, Millis, OrFalse, Permissions, PortNumber};
use std::{path::PathBuf, time::Duration};

trunkline_proto::options! {
    /// Where and how a server is reached over HTTP.
    ///
    /// ```no_run
    /// # async fn run(server: trunkline::Server) -> std::io::Result<()> {
    /// use trunkline::HttpOptions;
    ///
    /// let options = HttpOptions::default().with_host("0.0.0.0").with_port(80).with_stateless(true);
    /// server.listen_with(options).await?.ended().await;
    /// # Ok(())
    /// # }
    /// ```
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HttpOptions {
        /// The host to listen on. The default reaches this machine only.
        @into host: String => "host" = "127.0.0.1".into(),
        /// The port to listen on; 0 takes one that is free.
        port: u16 => "port" as PortNumber = 8000,
        /// The path of a Unix socket to listen on, in the place of host and port. A socket that a
        /// dead server left there is replaced; ours is removed when the listener closes.
        @into unix: Option<PathBuf> => "unix" = None,
        /// The permissions of the Unix socket, as for files; in JSON in octal digits.
        unix_mode: u32 => "unixMode" as Permissions = 0o600,
        /// The path of the endpoint; a slash at its end makes no difference.
        @into path: String => "path" = "/mcp".into(),
        /// Answer the probes of orchestrators and load balancers, which need no access token:
        /// `GET /healthz` with 200 as long as the process serves, `GET /readyz` with 200 or 503:
        /// not ready is a server that is closing, or whose store does not answer within half a
        /// second. Where a router has chosen the path of the endpoint, such routes are its matter.
        health: bool => "health" = false,
        /// Keep no sessions for clients of the legacy era.
        stateless: bool => "stateless" = false,
        /// Answer with plain JSON and never with an event stream, except to `subscriptions/listen`;
        /// progress and log messages of a call are dropped.
        json: bool => "json" = false,
        /// Names in `Host` that are allowed beside those of this machine, with or without a port;
        /// `*` allows every name. A server that does not listen on loopback checks `Host` only if
        /// names are listed.
        allowed_hosts: Vec<String> => "allowedHosts" = Vec::new(),
        /// Values of `Origin` that are allowed beside those of this machine, such as
        /// `https://app.example`; `*` allows every page.
        allowed_origins: Vec<String> => "allowedOrigins" = Vec::new(),
        /// The path where clients of HTTP+SSE, the transport of 2024-11-05, open their stream. It
        /// is not served without a path, nor by a server without sessions. The path of the endpoint
        /// may be shared: a request there for a stream without a session gets this one. The session
        /// of such a client is named in the URL that it posts to, which proxies may log: a server
        /// without old clients does without it, and one with `auth` checks the owner of each
        /// session besides.
        @into sse: Option<String> => "sse" as OrFalse = Some("/sse".into()),
        /// The path where clients of HTTP+SSE post their messages; where the path is shared, they
        /// post there.
        @into messages: String => "messages" = "/messages".into(),
        /// Events of each session that are kept for clients whose connection breaks; 0
        /// keeps none, and events have no ids.
        replay_events: usize => "replayEvents" = 1000,
        /// Size of the events that are kept of each session; the newest is kept whatever its size.
        replay_bytes: usize => "replayBytes" as Bytes = 4 << 20,
        /// Size of the events that are kept of all sessions. Beyond it the sessions that have been
        /// quiet the longest lose theirs: their clients cannot come back to a stream that broke.
        max_replay_bytes: usize => "maxReplayBytes" as Bytes = 256 << 20,
        /// Time after which a client comes back when its connection was closed early.
        retry: Duration => "retryMs" as Millis = Duration::from_secs(1),
        /// Connections at once, and never more than the process has descriptors for, less 64.
        /// Beyond it one without a request gives way: one that had none in its first 100 ms, or
        /// else the oldest. Where each has a request, further ones wait in the system's backlog.
        max_connections: usize => "maxConnections" = 16_384,
        /// Connections at once of one peer's address; 0 has no bound, for behind a proxy all of
        /// them are of one address. Beyond it one of its own without a request gives way; where
        /// each has a request, further ones are closed at once.
        max_connections_per_address: usize => "maxConnectionsPerAddress" = 0,
        /// The reverse proxies in front, each by its address, as a network, such as
        /// `10.0.0.0/8`, or as `unix` for those on the Unix socket. A request that one of them
        /// brings has its client at the last address in `X-Forwarded-For` outside of these. With
        /// proxies, clients without an access token have shares by their addresses (of IPv6 by its
        /// first 64 bits), as principals have: of requests, bodies, sessions, tasks and
        /// requests a minute. Without, all of them are one behind a proxy, and nobody has a share.
        @each(TrustedProxy) trusted_proxies: Vec<TrustedProxy> => "trustedProxies" = Vec::new(),
        /// Longest time of a connection without a request, or for the head of one; it may be twice
        /// that. Then the connection is closed.
        idle_timeout: Duration => "idleTimeoutMs" as Millis = Duration::from_secs(60),
        /// Longest time for which a client reads nothing of what is written to it. Then the
        /// connection is closed; the client of a session can come back to its streams. On Linux a
        /// client that vanished without a word is found by it, too: by the first sign of life of
        /// its stream that nobody acknowledges.
        write_timeout: Duration => "writeTimeoutMs" as Millis = Duration::from_secs(60),
        /// Requests without a session at once, until their call has ended: those of 2026-07-28, and
        /// all of a stateless server. Further ones are refused as busy, before their body is read.
        /// As many bodies are read at once; beyond it the oldest one is given up as busy.
        max_requests: usize => "maxRequests" = 4096,
        /// Size of all bodies that are being read or served, until their calls and tasks have
        /// ended; never less than one message may have. A request for which there is no room is
        /// refused as busy. One client may use a quarter of it, the last 16 MiB are for bodies up
        /// to 64 KiB, and larger ones must arrive at 4 KiB a second. Inside a web framework, bodies
        /// that wait for their access token to be verified have a quarter of it besides.
        max_body_bytes: usize => "maxBodyBytes" as Bytes = 256 << 20,
        /// POST requests a minute of one principal, or, where no tokens are verified, of one
        /// address behind trusted proxies or else of one session; requests of none of them count
        /// together. Further ones are refused with 429 and `Retry-After`. 0: no bound.
        rate_limit: u32 => "rateLimit" = 0,
        /// Requests that one of them may send at once before that limit holds.
        rate_burst: u32 => "rateBurst" = 20,
        /// Which access tokens requests need.
        @into auth: Option<Authorization> = None,
    }
}
