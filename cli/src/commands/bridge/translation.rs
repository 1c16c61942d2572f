//! Takes over what a person wrote for another bridge.

use super::{
    flags::{Bridge, Level},
    other_bridges::OtherBridges,
};
use crate::{failure::Failure, flags::Transport, login::object};
use std::time::Duration;

impl Bridge {
    /// Takes over what the person wrote for another bridge. Returns what to tell about it.
    pub(super) fn translate(&mut self) -> Result<Vec<String>, Failure> {
        let other = std::mem::take(&mut self.other);
        other.check()?;
        let mut notes = other.notes();
        self.target_of(&other)?;
        self.place_of(&other)?;
        self.login_of(&other, &mut notes)?;
        let level = match other.log_level.as_deref() {
            Some("none") => Some(Level::None),
            Some("debug") => Some(Level::Debug),
            Some(_) => Some(Level::Info),
            None if other.debug => Some(Level::Debug),
            None if other.silent => Some(Level::None),
            None => None,
        };
        self.log = self.log.or(level);
        if let Some(date) = other.protocol_version {
            self.connection.revision.get_or_insert(date);
        }
        Ok(notes)
    }

    fn target_of(&mut self, other: &OtherBridges) -> Result<(), Failure> {
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

    fn place_of(&mut self, other: &OtherBridges) -> Result<(), Failure> {
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
            listening.listen = Some(format!("127.0.0.1:{}", other.port.unwrap_or(8000)));
        }
        for (given, ours) in [
            (&other.other_sse_path, &mut listening.sse_path),
            (&other.other_message_path, &mut listening.message_path),
            (&other.streamable_http_path, &mut listening.path),
        ] {
            if let Some(path) = given {
                ours.clone_from(path);
            }
        }
        if let Some(milliseconds) = other.session_timeout {
            listening.idle = Duration::from_millis(milliseconds);
        }
        listening.health |= !other.health_endpoints.is_empty();
        match &other.cors {
            Some(origins) if origins.is_empty() => listening.origins.push("*".to_owned()),
            Some(origins) => listening.origins.extend(origins.iter().cloned()),
            None => {}
        }
        Ok(())
    }

    fn login_of(&mut self, other: &OtherBridges, notes: &mut Vec<String>) -> Result<(), Failure> {
        if let Some(token) = &other.oauth2_bearer {
            self.connection.headers.push(format!("Authorization: Bearer {token}"));
            notes.push("--oauth2Bearer: others on this machine see the token in the list of processes; pass it with --bearer-env VARIABLE".to_owned());
        }
        let text = |value: &serde_json::Value, name: &str| value[name].as_str().map(str::to_owned);
        if let Some(given) = &other.static_oauth_client_info {
            let client = object("--static-oauth-client-info", given)?;
            self.connection.login.client_id =
                self.connection.login.client_id.take().or_else(|| text(&client, "client_id"));
            self.connection.login.client_secret = text(&client, "client_secret");
        }
        if let Some(given) = &other.static_oauth_client_metadata {
            let client = object("--static-oauth-client-metadata", given)?;
            self.connection.login.client_name = text(&client, "client_name");
            let scopes = text(&client, "scope").unwrap_or_default();
            self.connection.login.scopes.extend(scopes.split_whitespace().map(str::to_owned));
        }
        if other.disable_resource_parameter {
            self.connection.login.resource = Some("none".to_owned());
        }
        self.connection.login.login_timeout = other.auth_timeout.map(Duration::from_secs);
        Ok(())
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        bridge: Bridge,
    }

    /// The bridge after the words of another one, and the notes.
    fn read(words: &str) -> Result<(Bridge, Vec<String>), String> {
        let words = shlex::split(words).unwrap();
        let mut bridge = Words::try_parse_from(words).map_err(|error| error.to_string())?.bridge;
        let text = |failure: Failure| failure.lines().into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        let notes = bridge.translate().map_err(text)?;
        Ok((bridge, notes))
    }

    #[test]
    fn lines_of_supergateway_are_understood() {
        let line = "supergateway --stdio 'npx -y some-server /tmp' --port 9000 --outputTransport streamableHttp \
                    --stateful --sessionTimeout 60000 --ssePath /s --messagePath /m --healthEndpoint /healthz \
                    --cors --baseUrl https://x --logLevel debug";
        let (bridge, notes) = read(line).unwrap();
        assert_eq!(bridge.connection.command_line.as_deref(), Some("npx -y some-server /tmp"));
        let listening = &bridge.listening;
        assert_eq!(listening.listen.as_deref(), Some("127.0.0.1:9000"));
        assert_eq!((&*listening.sse_path, &*listening.message_path, &*listening.path), ("/s", "/m", "/mcp"));
        assert_eq!((listening.idle, listening.health), (Duration::from_secs(60), true));
        assert_eq!(listening.origins, ["*"]);
        assert_eq!(bridge.log, Some(Level::Debug));
        assert_eq!(notes.len(), 1, "{notes:?}");

        let (bridge, _) = read("supergateway --stdio server").unwrap();
        assert_eq!(bridge.listening.listen.as_deref(), Some("127.0.0.1:8000"));
        let (bridge, notes) = read("supergateway --sse https://x/sse --oauth2Bearer t").unwrap();
        assert_eq!((&*bridge.words, bridge.connection.transport), (&["https://x/sse".to_owned()][..], Transport::Sse));
        assert_eq!((bridge.listening.listen, notes.len()), (None, 1));
        let (bridge, _) = read("supergateway --streamableHttp https://x/mcp --outputTransport sse").unwrap();
        assert_eq!((&*bridge.words[0], &*bridge.listening.listen.unwrap()), ("https://x/mcp", "127.0.0.1:8000"));

        for (line, problem) in [
            ("x --stdio 'a && b'", "-- sh -c 'a && b'"),
            ("x --stdio \"it's a | b\"", r"-- sh -c 'it'\''s a | b'"),
            ("x --stdio a --outputTransport ws", "no revision"),
            ("x --stdio a --outputTransport tcp", "streamableHttp, sse or stdio"),
        ] {
            let failure = read(line).err().unwrap();
            assert!(failure.contains(problem), "{failure}");
        }
    }

    #[test]
    fn lines_of_mcp_remote_are_understood() {
        let line = "mcp-remote https://x/sse 9696 --transport sse-only --protocol auto --allow-http --header X:y \
                    --static-oauth-client-info '{\"client_id\": \"c\", \"client_secret\": \"s\"}' \
                    --static-oauth-client-metadata '{\"scope\": \"a b\", \"client_name\": \"n\"}' \
                    --auth-timeout 60 --host 127.0.0.1 --debug --enable-proxy --keep-alive --resource none --ignore-tool 'delete*'";
        let (bridge, notes) = read(line).unwrap();
        assert_eq!(bridge.words, ["https://x/sse", "9696"]);
        assert_eq!((bridge.connection.transport, bridge.log), (Transport::Sse, Some(Level::Debug)));
        assert_eq!(bridge.tool_deny, ["delete*"]);
        let login = &bridge.connection.login;
        assert_eq!((login.client_id.as_deref(), login.client_secret.as_deref()), (Some("c"), Some("s")));
        assert_eq!(
            (login.client_name.as_deref(), &login.scopes[..]),
            (Some("n"), &["a".to_owned(), "b".to_owned()][..])
        );
        assert_eq!(login.login_timeout, Some(Duration::from_secs(60)));
        assert_eq!(notes.len(), 1, "{notes:?}");
        for transport in ["http-only", "http-first", "sse-first", "auto", "sse"] {
            assert!(read(&format!("x https://x/ --transport {transport}")).is_ok(), "{transport}");
        }
        let failure = read("x https://x/ --auth-success-url x").err().unwrap();
        assert!(failure.contains("does not yet"), "{failure}");
        let failure = read("x https://x/ --static-oauth-client-info nonsense").err().unwrap();
        assert!(failure.contains("this is no JSON"), "{failure}");
    }
}
