//! Where the bridge serves, and whom.

use super::callers::Callers;
use crate::failure::Failure;
use clap::{Args, ValueEnum, builder::FalseyValueParser};
use std::{net::IpAddr, time::Duration};
use trunkline::HttpOptions;

/// The flags for serving over HTTP.
#[derive(Args, Debug)]
#[command(next_help_heading = "Listening")]
pub(in crate::commands) struct Listening {
    /// Serve HTTP here, instead of standard input and output: `127.0.0.1:8000`, `:8000` for this
    /// machine only, or `unix:/run/mcp.sock`.
    #[arg(long, value_name = "ADDRESS", env = "TRUNKLINE_LISTEN", hide_env = true)]
    pub(in crate::commands) listen: Option<String>,
    /// The path of the endpoint.
    #[arg(long, value_name = "PATH", default_value = "/mcp", env = "TRUNKLINE_PATH", hide_env = true)]
    pub(super) path: String,
    /// The path for clients of HTTP+SSE.
    #[arg(long, value_name = "PATH", default_value = "/sse", env = "TRUNKLINE_SSE_PATH", hide_env = true)]
    pub(super) sse_path: String,
    /// The path where clients of HTTP+SSE post.
    #[arg(long, value_name = "PATH", default_value = "/messages", env = "TRUNKLINE_MESSAGE_PATH", hide_env = true)]
    pub(super) message_path: String,
    /// Keep no sessions for clients of older revisions.
    #[arg(long, env = "TRUNKLINE_STATELESS", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(super) stateless: bool,
    /// Give each caller a session with the server (`caller`), which a server of an older revision
    /// needs to ask its user, or share one among all.
    #[arg(long, value_name = "WHO", default_value = "caller", env = "TRUNKLINE_SHARE", hide_env = true)]
    share: Share,
    /// Maximum sessions with the server on behalf of callers, which are processes if the server is
    /// a command. An idle one is closed for another caller.
    #[arg(long, value_name = "NUMBER", default_value_t = 64, env = "TRUNKLINE_MAX_CHILDREN", hide_env = true)]
    max_children: usize,
    /// End the sessions of clients after this time without a request.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = crate::flags::time, env = "TRUNKLINE_IDLE", hide_env = true)]
    pub(in crate::commands) idle: Duration,
    /// Serve requests with this name in `Host`, too; `*` for every name. Repeatable.
    #[arg(
        long = "allow-host",
        value_name = "NAME",
        env = "TRUNKLINE_ALLOW_HOST",
        hide_env = true,
        value_delimiter = ','
    )]
    pub(super) hosts: Vec<String>,
    /// Serve web pages of this origin, too; `*` for every page. Repeatable.
    #[arg(
        long = "allow-origin",
        value_name = "ORIGIN",
        env = "TRUNKLINE_ALLOW_ORIGIN",
        hide_env = true,
        value_delimiter = ','
    )]
    pub(super) origins: Vec<String>,
    /// Answer the probes `/healthz` and `/readyz`, which also name the state of the server.
    #[arg(long, env = "TRUNKLINE_HEALTH", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(super) health: bool,
    /// More paths of probes.
    #[arg(skip)]
    pub(super) health_paths: Vec<String>,
    /// Events to keep for clients that reconnect.
    #[arg(skip)]
    pub(super) replay_events: Option<usize>,
}

/// The callers that share a session with the server.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Caller,
    All,
}

/// Where the bridge serves.
pub(super) enum Place {
    Standard,
    Http(Box<HttpOptions>),
}

impl Listening {
    /// Returns whether all callers share one session with the server.
    pub(super) fn is_shared(&self) -> bool {
        self.share == Share::All || self.max_children < 2
    }

    /// The maximum sessions of single callers. One more serves what belongs to no caller.
    pub(super) fn max_connections(&self) -> usize {
        self.max_children.saturating_sub(1).max(1)
    }

    /// Where to serve. Beyond this machine, nobody is served unless the person says who is.
    pub(super) fn place(&self, callers: &Callers) -> Result<Place, Failure> {
        let Some(address) = &self.listen else {
            return match callers.flag() {
                Some(flag) => Err(Failure::usage(format!("{flag} is for a bridge that listens"))
                    .hint("add --listen :8000, or leave it out: a host that starts the bridge is its only caller")),
                None => Ok(Place::Standard),
            };
        };
        let defaults = HttpOptions::default();
        let replay_events = self.replay_events.unwrap_or(defaults.replay_events);
        let options = defaults
            .with_path(&self.path)
            .with_sse(Some(self.sse_path.clone()))
            .with_messages(&self.message_path)
            .with_stateless(self.stateless)
            .with_health(self.health)
            .with_health_paths(self.health_paths.clone())
            .with_replay_events(replay_events)
            .with_allowed_hosts(self.hosts.clone())
            .with_allowed_origins(self.origins.clone())
            .with_auth(callers.authorization(&self.path)?);
        let (options, is_local) = match address.strip_prefix("unix:") {
            Some(path) => (options.with_unix(Some(path.into())), true),
            None => {
                let (host, port) = host_and_port(address)?;
                let is_local = is_loopback(&host);
                (options.with_host(host).with_port(port), is_local)
            }
        };
        if !is_local && callers.flag().is_none() {
            return Err(Failure::usage(format!("--listen {address}: everyone on the network could use the server"))
                .hint("name the callers with --tokens FILE or --issuer URL, or allow everyone with --no-auth"));
        }
        Ok(Place::Http(Box::new(options)))
    }
}

/// The options for an address that only this machine reaches.
pub(in crate::commands) fn on_this_machine(address: &str) -> Result<HttpOptions, Failure> {
    if let Some(path) = address.strip_prefix("unix:") {
        return Ok(HttpOptions::default().with_unix(Some(path.into())));
    }
    let (host, port) = host_and_port(address)?;
    if !is_loopback(&host) {
        return Err(Failure::usage(format!("--listen {address}: this command serves this machine only"))
            .hint("listen on 127.0.0.1; `trunkline bridge` serves others"));
    }
    Ok(HttpOptions::default().with_host(host).with_port(port))
}

/// The host and port of an address; without a host, this machine only.
fn host_and_port(address: &str) -> Result<(String, u16), Failure> {
    let wrong = || {
        Failure::usage(format!("--listen: {address:?} is no address"))
            .hint("127.0.0.1:8000, :8000 for this machine only, or unix:/run/mcp.sock")
    };
    let (host, port) = address.rsplit_once(':').unwrap_or(("", address));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    Ok((host.to_owned(), port.parse().map_err(|_| wrong())?))
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_without_a_host_are_of_this_machine() {
        for (address, host, port) in [
            (":8000", "127.0.0.1", 8000),
            ("8000", "127.0.0.1", 8000),
            ("0.0.0.0:80", "0.0.0.0", 80),
            ("[::1]:9", "::1", 9),
            ("localhost:0", "localhost", 0),
        ] {
            assert_eq!(host_and_port(address).unwrap(), (host.to_owned(), port), "{address}");
            assert_eq!(is_loopback(host), host != "0.0.0.0", "{host}");
        }
        for address in ["", "a", "127.0.0.1:", "127.0.0.1:65536", "http://127.0.0.1:1/"] {
            assert!(host_and_port(address).is_err(), "{address}");
        }
    }
}
