//! Parses the messages of `open`. Errors name options that only the other side has.

use crate::{
    BridgeError, PortState,
    host_json::read_member,
    message::{Configured, Group, Memory, OpenMessage},
    open::endpoint_auth::authorization,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::sync::Arc;
use trunkline::{
    client::ClientOptions,
    protocol::{describe::Described, options::Options},
    transport::{HttpEndpoint, HttpOptions, Target},
};

const OPEN: &str = "open";

/// A listener or connection to open.
pub(super) enum Opened {
    /// A listener of a server.
    Listener(u64),
    /// A connection of a client.
    Connection(Box<ClientOptions>),
}

/// Where a server listens.
pub(super) enum Endpoint {
    Stdio,
    #[cfg(unix)]
    Pipe(OwnedFd, OwnedFd),
    #[cfg_attr(not(feature = "http-server"), allow(dead_code, reason = "It is refused unread."))]
    Http(Box<HttpOptions>),
    /// No socket: a web framework passes the requests. Without a path, every path is served. Host,
    /// port and Unix socket have no effect.
    Mounted(Option<String>, Box<HttpOptions>),
}

/// How a client reaches its server.
pub(crate) enum Connecting {
    /// A child process or an endpoint.
    Server(Target),
    /// A server of this process.
    Memory(Memory),
    /// A server from a configuration.
    Config(Configured),
    /// Several servers.
    Group(Group),
    /// A custom transport, with its functions among the handlers.
    Channel,
}

/// Reads what is opened.
pub(super) fn opened(given: &mut OpenMessage) -> Result<Opened, BridgeError> {
    match (given.server, given.client.take()) {
        (Some(_), None) if !given.handlers.is_empty() || given.auth.is_some() => {
            invalid("handlers and auth are for clients; a server registers its features and uses transport.auth")
        }
        (None, Some(_)) if given.foreground || given.signals => invalid("foreground and signals are for listeners"),
        (Some(server), None) => Ok(Opened::Listener(server)),
        (None, Some(mut client)) => {
            // Hosts may also pass some of the options in a separate member.
            if let Some(options) = client.shift_remove("options") {
                let _: ClientOptions = read_member(OPEN, "client.options", options.clone())?;
                client.extend(options.as_object().cloned().unwrap_or_default());
            }
            let options = read_member(OPEN, "client", Value::Object(client))?;
            Ok(Opened::Connection(Box::new(options)))
        }
        _ => invalid("either server or client must be given"),
    }
}

/// Reads where a server listens.
pub(super) fn endpoint(state: &Arc<PortState>, mut given: Map<String, Value>) -> Result<Endpoint, BridgeError> {
    match type_of(&mut given)?.as_str() {
        "stdio" => nothing_else("stdio", &given).map(|()| Endpoint::Stdio),
        "http" => http_endpoint(state, given),
        _ => invalid("a server listens on stdio or http"),
    }
}

fn http_endpoint(state: &Arc<PortState>, mut given: Map<String, Value>) -> Result<Endpoint, BridgeError> {
    if given.contains_key("url") {
        return invalid("a server over http takes host and port, not transport.url");
    }
    if given.contains_key("headers") {
        return invalid("transport.headers is for clients, not for listeners");
    }
    // As for options: null is absent.
    given.retain(|_, value| !value.is_null());
    let auth = given.shift_remove("auth");
    // `true` means the default path.
    if given.get("sse") == Some(&Value::Bool(true)) {
        given.shift_remove("sse");
    }
    let mounted = given.shift_remove("mounted").map(|mounted| read_member(OPEN, "transport.mounted", mounted));
    let is_mounted = mounted.transpose()?.unwrap_or(false);
    let has = |name: &&str| given.contains_key(*name);
    if let Some(name) = ["host", "port", "unix"].iter().find(|name| is_mounted && has(name)) {
        return invalid(&format!(
            "transport.{name} is for a server with its own socket; a mounted one has no transport.host, port or unix: the web framework listens"
        ));
    }
    if has(&"unix") && (has(&"host") || has(&"port")) {
        return invalid("a server listens on transport.unix or on host and port, not on both");
    }
    let has_path = has(&"path");
    let options: HttpOptions = transport(given)?;
    if is_mounted && options.health && !has_path {
        return invalid(
            "transport.health of a mounted server needs transport.path; without one, the web framework must answer probes",
        );
    }
    let path = has_path.then(|| options.path.clone());
    let options = Box::new(options.with_auth(auth.map(|auth| authorization(state, auth)).transpose()?));
    Ok(if is_mounted { Endpoint::Mounted(path, options) } else { Endpoint::Http(options) })
}

/// Reads where a client connects.
pub(super) fn connecting(mut given: Map<String, Value>) -> Result<Connecting, BridgeError> {
    match type_of(&mut given)?.as_str() {
        #[cfg(feature = "child-process")]
        "child" => transport::<trunkline::ChildCommand>(given).map(|command| Connecting::Server(command.into())),
        #[cfg(not(feature = "child-process"))]
        "child" => Err(BridgeError::without("child-process")),
        "group" => transport(given).map(Connecting::Group),
        "config" => transport(given).map(Connecting::Config),
        "memory" => transport(given).map(Connecting::Memory),
        "http" => {
            let is_listeners = |name: &&String| {
                ["mounted", "auth"].contains(&name.as_str())
                    || HttpOptions::OBJECT.fields.iter().any(|field| field.json == **name)
            };
            if let Some(option) = given.keys().find(is_listeners) {
                return invalid(&format!(
                    "transport.{option} is for listeners; a client over http has url and headers"
                ));
            }
            if !given.contains_key("url") {
                return invalid("a client over http needs transport.url");
            }
            transport::<HttpEndpoint>(given).map(|endpoint| Connecting::Server(endpoint.into()))
        }
        "channel" => nothing_else("channel", &given).map(|()| Connecting::Channel),
        "stdio" => invalid("a client reaches a server over stdio as a child process: use transport type child"),
        other => {
            invalid(&format!("transport.type: {other:?} is not one of channel, child, config, group, http and memory"))
        }
    }
}

fn transport<T: Described + DeserializeOwned>(given: Map<String, Value>) -> Result<T, BridgeError> {
    read_member(OPEN, "transport", Value::Object(given))
}

fn type_of(given: &mut Map<String, Value>) -> Result<String, BridgeError> {
    match given.shift_remove("type") {
        Some(Value::String(kind)) => Ok(kind),
        _ => invalid("transport.type must be a string: stdio, http, channel, child, config, group or memory"),
    }
}

fn nothing_else(kind: &str, given: &Map<String, Value>) -> Result<(), BridgeError> {
    match given.keys().next() {
        Some(name) => invalid(&format!("transport.{name}: unknown option; {kind} takes none")),
        None => Ok(()),
    }
}

fn invalid<T>(problem: &str) -> Result<T, BridgeError> {
    Err(BridgeError::invalid(format!("{OPEN}: {problem}")))
}
