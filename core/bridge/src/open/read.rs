//! Reads the messages of `open`.

use crate::{
    BridgeError, Given, config,
    message::{Connecting, Listening, Open, OpenConnection, OpenListener, OpenMessage},
};
use serde_json::{Map, Value};
use trunkline::{client::ClientOptions, protocol::options::Options, transport::HttpOptions};

const OPEN: &str = "open";

const TRANSPORT: &str = "transport";

/// Reads what `open` is given.
pub(crate) fn open(given: impl Given) -> Result<Open, BridgeError> {
    let OpenMessage { server, client, transport, handlers, auth, wait, host_driven_reads, span, foreground, signals } =
        given.read(OPEN)?;
    match (server, client) {
        (Some(_), None) if !handlers.is_empty() || auth.is_some() => Err(BridgeError::invalid(
            "open: handlers and auth are for clients; a server registers its features and uses transport.auth",
        )),
        (None, Some(_)) if foreground || signals => {
            Err(BridgeError::invalid("open: foreground and signals are for listeners"))
        }
        (Some(server), None) => {
            let transport = listening(transport)?;
            Ok(Open::Listener(OpenListener { server, transport, wait, host_driven_reads, foreground, signals }))
        }
        (None, Some(mut client)) => {
            // Hosts may also give what has numbers in it apart.
            if let Some(options) = client.shift_remove("options") {
                let _: ClientOptions = config::read_member(OPEN, "client.options", options.clone())?;
                client.extend(options.as_object().cloned().unwrap_or_default());
            }
            let client = config::read_member(OPEN, "client", Value::Object(client))?;
            let transport = connecting(transport)?;
            Ok(Open::Connection(OpenConnection { client, transport, handlers, auth, wait, host_driven_reads, span }))
        }
        _ => Err(BridgeError::invalid("open: either server or client must be given")),
    }
}

/// Where a server listens; what a client alone has is named.
fn listening(mut given: Map<String, Value>) -> Result<Listening, BridgeError> {
    match type_of(&mut given)?.as_str() {
        "stdio" => nothing_else(&given).map(|()| Listening::Stdio),
        "http" => {
            if given.contains_key("url") {
                return Err(BridgeError::invalid("open: a server over http takes host and port, not transport.url"));
            }
            if given.contains_key("headers") {
                let text = "open: transport.headers is for clients, not for listeners";
                return Err(BridgeError::invalid(text));
            }
            // As for options: null is absent.
            given.retain(|_, value| !value.is_null());
            let auth = given.shift_remove("auth");
            // `true` means the default path.
            if given.get("sse") == Some(&Value::Bool(true)) {
                given.shift_remove("sse");
            }
            let mounted =
                given.shift_remove("mounted").map(|mounted| config::read_member(OPEN, "transport.mounted", mounted));
            if mounted.transpose()?.unwrap_or(false) {
                if let Some(name) = ["host", "port", "unix"].iter().find(|name| given.contains_key(**name)) {
                    return Err(BridgeError::invalid(format!(
                        "open: transport.{name} is for a server with a socket of its own; a mounted one has no transport.host, port or unix: the web framework listens"
                    )));
                }
                let path = given.get("path").is_some();
                let options: HttpOptions = config::read_member(OPEN, TRANSPORT, Value::Object(given))?;
                if options.health && !path {
                    return Err(BridgeError::invalid(
                        "open: transport.health of a mounted server needs transport.path; without one, the web framework must answer probes",
                    ));
                }
                return Ok(Listening::Mounted { path: path.then(|| options.path.clone()), options, auth });
            }
            if given.contains_key("unix") && (given.contains_key("host") || given.contains_key("port")) {
                return Err(BridgeError::invalid(
                    "open: a server listens on transport.unix or on host and port, not on both",
                ));
            }
            let options = config::read_member(OPEN, TRANSPORT, Value::Object(given))?;
            Ok(Listening::Http { options, auth })
        }
        _ => Err(BridgeError::invalid("open: a server listens on stdio or http")),
    }
}

/// Where a client connects; what a listener alone has is named.
fn connecting(mut given: Map<String, Value>) -> Result<Connecting, BridgeError> {
    match type_of(&mut given)?.as_str() {
        "child" => config::read_member(OPEN, TRANSPORT, Value::Object(given)).map(Connecting::Child),
        "group" => config::read_member(OPEN, TRANSPORT, Value::Object(given)).map(Connecting::Group),
        "config" => config::read_member(OPEN, TRANSPORT, Value::Object(given)).map(Connecting::Config),
        "memory" => config::read_member(OPEN, TRANSPORT, Value::Object(given)).map(Connecting::Memory),
        "http" => {
            let is_listeners = |name: &&String| {
                ["mounted", "auth"].contains(&name.as_str())
                    || HttpOptions::OBJECT.fields.iter().any(|field| field.json == **name)
            };
            if let Some(option) = given.keys().find(is_listeners) {
                let text = format!("open: transport.{option} is for listeners; a client over http has url and headers");
                return Err(BridgeError::invalid(text));
            }
            if !given.contains_key("url") {
                return Err(BridgeError::invalid("open: a client over http needs transport.url"));
            }
            config::read_member(OPEN, TRANSPORT, Value::Object(given)).map(Connecting::Http)
        }
        "channel" => match given.keys().next() {
            Some(name) => {
                Err(BridgeError::invalid(format!("open: transport.{name}: unknown option; channel takes none")))
            }
            None => Ok(Connecting::Channel),
        },
        "stdio" => Err(BridgeError::invalid(
            "open: a client reaches a server over stdio as a child process: use transport type child",
        )),
        other => Err(BridgeError::invalid(format!(
            "open: transport.type: {other:?} is not one of channel, child, config, group, http and memory"
        ))),
    }
}

fn type_of(given: &mut Map<String, Value>) -> Result<String, BridgeError> {
    match given.shift_remove("type") {
        Some(Value::String(kind)) => Ok(kind),
        _ => Err(BridgeError::invalid(
            "open: transport.type must be a string: stdio, http, channel, child, config, group or memory",
        )),
    }
}

fn nothing_else(given: &Map<String, Value>) -> Result<(), BridgeError> {
    match given.keys().next() {
        Some(name) => Err(BridgeError::invalid(format!("open: transport.{name}: unknown option; stdio takes none"))),
        None => Ok(()),
    }
}
