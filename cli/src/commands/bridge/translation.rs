//! Takes over what a person wrote for another bridge.

use super::{
    flags::{Bridge, Level},
    other_bridges::{Gateways, OtherBridges, Proxies, Remote},
};
use crate::{
    failure::Failure,
    flags::{Era, Transport},
    login::{NO_RESOURCE, object},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::time::Duration;

/// How often mcp-remote pings by default.
const PING_INTERVAL: Duration = Duration::from_secs(30);
/// A time without an end, for a bridge.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Bridge {
    /// Takes over what the person wrote for another bridge. Returns what to tell about it.
    pub(super) fn translate(&mut self) -> Result<Vec<String>, Failure> {
        let other = std::mem::take(&mut self.other);
        other.check()?;
        let mut notes = other.notes();
        let OtherBridges { gateways, proxies, remote } = other;
        self.target_of(&gateways)?;
        self.place_of(&gateways, &proxies, remote.host.as_deref())?;
        self.credentials_of(&gateways, &proxies, &mut notes);
        self.login_of(&remote)?;
        self.connection_of(&proxies, &remote);
        let level = gateways.log_level.as_deref().map(str::to_lowercase);
        let level = match level.as_deref() {
            Some("none" | "critical") => Some(Level::None),
            Some("error") => Some(Level::Error),
            Some("warning") => Some(Level::Warn),
            Some("debug") => Some(Level::Debug),
            Some(_) => Some(Level::Info),
            None if remote.debug => Some(Level::Debug),
            None if remote.silent => Some(Level::None),
            None => None,
        };
        self.log = self.log.or(level);
        if let Some(date) = gateways.protocol_version {
            self.connection.revision.get_or_insert(date);
        }
        Ok(notes)
    }

    fn target_of(&mut self, other: &Gateways) -> Result<(), Failure> {
        let url = other.sse.as_ref().or(other.streamable_http.as_ref());
        if let Some(url) = url {
            self.words.insert(0, url.clone());
        }
        if other.sse.is_some() {
            self.connection.transport = Transport::Sse;
        }
        let Some(command) = &other.stdio else { return Ok(()) };
        // A shell would be between the bridge and the server, and swallow its signals.
        if command.contains(['|', '&', ';', '<', '>', '`']) || command.contains("$(") {
            return Err(Failure::usage(format!("--stdio {command:?}: no shell runs the command"))
                .hint(format!("trunkline bridge … -- sh -c {}", quoted(command))));
        }
        self.connection.command_line.get_or_insert_with(|| command.clone());
        Ok(())
    }

    fn place_of(&mut self, other: &Gateways, proxies: &Proxies, host: Option<&str>) -> Result<(), Failure> {
        let listening = &mut self.listening;
        match other.output_transport.as_deref() {
            None | Some("streamableHttp" | "sse" | "stdio") => {}
            Some("ws") => {
                return Err(Failure::usage("--outputTransport ws: no revision of the protocol has WebSocket")
                    .hint("use streamableHttp, which every current client speaks"));
            }
            Some(word) => {
                return Err(
                    Failure::usage(format!("--outputTransport {word}: unknown")).hint("streamableHttp, sse or stdio")
                );
            }
        }
        // supergateway listens on 8000 for a command, and speaks stdio for a URL.
        let serves_http = match other.output_transport.as_deref() {
            Some(word) => word != "stdio",
            None => other.stdio.is_some() || other.port.is_some(),
        };
        if serves_http && listening.listen.is_none() {
            let host = host.unwrap_or("127.0.0.1");
            let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
            listening.listen = Some(format!("{host}:{}", other.port.unwrap_or(8000)));
        } else if let Some(host) = host {
            self.connection.login.callback_host.get_or_insert_with(|| host.to_owned());
        }
        let endpoint_of = |server: &str| proxies.endpoint.clone().filter(|_| proxies.server.as_deref() == Some(server));
        for (given, ours) in [
            (other.other_sse_path.clone().or_else(|| endpoint_of("sse")), &mut listening.sse_path),
            (other.streamable_http_path.clone().or_else(|| endpoint_of("stream")), &mut listening.path),
            (other.other_message_path.clone(), &mut listening.message_path),
        ] {
            if let Some(path) = given {
                *ours = path;
            }
        }
        match other.session_timeout {
            // mcp-proxy keeps sessions for ever then.
            Some(0) => listening.idle = FOREVER,
            Some(milliseconds) => listening.idle = Duration::from_millis(milliseconds),
            None => {}
        }
        listening.replay_events = proxies.event_store_max_events.or(proxies.no_event_store.then_some(0));
        listening.health_paths.clone_from(&other.health_endpoints);
        match &other.cors {
            Some(origins) if origins.is_empty() => listening.origins.push("*".to_owned()),
            Some(origins) => listening.origins.extend(origins.iter().cloned()),
            None => {}
        }
        Ok(())
    }

    /// Takes over credentials from the command line, and warns about them.
    fn credentials_of(&mut self, gateways: &Gateways, proxies: &Proxies, notes: &mut Vec<String>) {
        let (headers, login) = (&mut self.connection.headers, &mut self.connection.login);
        headers.extend(proxies.header_pairs.chunks(2).map(|pair| pair.join(": ")));
        if let Some(token) = &gateways.oauth2_bearer {
            headers.push(format!("Authorization: Bearer {token}"));
        }
        if let (Some(name), Some(password)) = (&proxies.username, &proxies.password) {
            headers.push(format!("Authorization: Basic {}", STANDARD.encode(format!("{name}:{password}"))));
        }
        if let Some(url) = &proxies.token_url {
            login.as_client = true;
            login.token_endpoint.get_or_insert_with(|| url.clone());
        }
        login.client_secret.clone_from(&proxies.client_secret);
        for (given, flag, instead) in [
            (&gateways.oauth2_bearer, "--oauth2Bearer", "--bearer-env VARIABLE"),
            (&proxies.client_secret, "--client-secret", "--client-secret-env VARIABLE"),
            (&proxies.password, "--password", "--header 'Authorization: Basic ${VARIABLE}'"),
        ] {
            if given.is_some() {
                notes.push(format!(
                    "bridge: {flag}: others on this machine see it in the list of processes; pass it with {instead}"
                ));
            }
        }
    }

    fn login_of(&mut self, other: &Remote) -> Result<(), Failure> {
        let login = &mut self.connection.login;
        if let Some(given) = &other.static_oauth_client_info {
            let client = object("--static-oauth-client-info", given)?;
            let text = |name: &str| client[name].as_str().map(expanded).transpose();
            login.client_id = match login.client_id.take() {
                Some(id) => Some(id),
                None => text("client_id")?,
            };
            login.client_secret = text("client_secret")?;
        }
        if let Some(given) = &other.static_oauth_client_metadata {
            let client = object("--static-oauth-client-metadata", given)?;
            let text = |name: &str| client[name].as_str().map(str::to_owned);
            login.client_name = text("client_name");
            let scopes = text("scope").unwrap_or_default();
            login.scopes.extend(scopes.split_whitespace().map(str::to_owned));
        }
        // mcp-remote takes an empty one for none.
        if other.disable_resource_parameter || login.resource.as_deref() == Some("") {
            login.resource = Some(NO_RESOURCE.to_owned());
        }
        login.login_timeout = other.auth_timeout;
        login.success_url.clone_from(&other.auth_success_url);
        Ok(())
    }

    fn connection_of(&mut self, proxies: &Proxies, remote: &Remote) {
        let connection = &mut self.connection;
        connection.variables.extend(proxies.variable_pairs.chunks(2).map(|pair| pair.join("=")));
        connection.inherit_env |= proxies.pass_environment;
        if let Some(file) = proxies.verify_ssl.as_ref().filter(|value| !is_yes(value)) {
            connection.ca.get_or_insert_with(|| file.into());
        }
        if let Some(era) = proxies.upstream_protocol.filter(|_| connection.era == Era::Auto) {
            connection.era = era;
        }
        for (given, ours) in [
            (proxies.request_timeout, &mut connection.timeout),
            (proxies.connection_timeout, &mut connection.connect_timeout),
        ] {
            if let Some(milliseconds) = given {
                *ours = Duration::from_millis(milliseconds);
            }
        }
        connection.ping_interval = remote.ping_interval.or(remote.keep_alive.then_some(PING_INTERVAL));
    }
}

fn is_yes(value: &str) -> bool {
    matches!(&*value.to_lowercase(), "true" | "1" | "yes" | "on")
}

/// A value in which `${VARIABLE}` is replaced.
fn expanded(text: &str) -> Result<String, Failure> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once('}') else { return Ok(text.to_owned()) };
        let value = std::env::var(name)
            .map_err(|_| Failure::usage(format!("--static-oauth-client-info: the variable {name} is not set")))?;
        whole += &value;
        whole += rest;
    }
    Ok(whole)
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
