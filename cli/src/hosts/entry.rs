//! The entry of a server, as each host writes it.

use super::host::{Host, Reference, Shape};
use crate::{failure::Failure, secrets};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use trunkline::client::ServerEntry;

/// How the header with an access token begins.
const BEARER: &str = "authorization: bearer ";

/// A server that a host should use. In its strings, `${NAME}` is an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    /// A program to start.
    Command { words: Vec<String>, variables: BTreeMap<String, String>, folder: Option<String> },
    /// An HTTP endpoint.
    Url { url: String, headers: BTreeMap<String, String>, is_sse: bool },
}

impl Server {
    /// A configured server, whose placeholders were kept.
    pub(crate) fn of_entry(entry: ServerEntry) -> Result<Self, Failure> {
        match entry {
            ServerEntry::Command { command, env, cwd, .. } => {
                Ok(Self::Command { words: command, variables: env, folder: cwd })
            }
            ServerEntry::Url { url, headers, http_sse, .. } => Ok(Self::Url { url, headers, is_sse: http_sse }),
            _ => Err(Failure::usage("the server is of an unknown kind")),
        }
    }
}

/// Writes entries of one host.
pub(crate) struct Writer<'a> {
    pub(crate) host: &'static Host,
    /// Copy the values of variables, and secrets.
    pub(crate) literal: bool,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// This program, for hosts that only start programs.
    pub(crate) program: &'a str,
}

impl Writer<'_> {
    /// The entry of a server.
    pub(crate) fn entry(&self, server: &Server) -> Result<Value, Failure> {
        self.check_secrets(server)?;
        let entry = match (self.host.shape, server) {
            (Shape::Codex, _) => self.codex(server),
            (Shape::Usual { url: None, .. }, Server::Url { .. }) => self.entry(&self.bridged(server)),
            (_, Server::Command { words, variables, folder }) => self.command(words, variables, folder.as_deref()),
            (_, Server::Url { url, headers, is_sse }) => self.url(url, headers, *is_sse),
        }?;
        match secrets::of_entry(&entry).first() {
            // In an argument or a URL.
            Some(secret) if !self.literal => {
                let message = format!("{} looks like a secret, which would be plain text in the file", secret.member);
                Err(Failure::usage(message).hint("let the server read it from a variable, or copy it with --literal"))
            }
            _ => Ok(entry),
        }
    }

    /// Refuses to copy secrets into a file.
    fn check_secrets(&self, server: &Server) -> Result<(), Failure> {
        let values = match server {
            Server::Command { variables, .. } => variables,
            Server::Url { headers, .. } => headers,
        };
        let Some((name, _)) = values.iter().find(|(name, value)| secrets::is_secret(name, value)) else {
            return Ok(());
        };
        if self.literal {
            return Ok(());
        }
        let hint = match server {
            Server::Command { .. } => format!(
                "set {name} in the environment of the host, and give its name alone: --env {name}; or copy the value with --literal"
            ),
            Server::Url { .. } => {
                format!("--header '{name}: ${{VARIABLE}}' refers to a variable; --literal copies the value")
            }
        };
        Err(Failure::usage(format!("{name} looks like a secret, which would be plain text in the file")).hint(hint))
    }

    fn command(
        &self,
        words: &[String],
        variables: &BTreeMap<String, String>,
        folder: Option<&str>,
    ) -> Result<Value, Failure> {
        let words = words.iter().map(|word| self.text(word)).collect::<Result<Vec<_>, _>>()?;
        let (program, arguments) = words.split_first().ok_or_else(|| Failure::usage("the command is empty"))?;
        let variables = self.texts(variables)?;
        let mut entry = Map::new();
        match self.host.shape {
            Shape::Opencode => {
                entry.insert("type".to_owned(), "local".into());
                entry.insert("command".to_owned(), json!(words));
                add(&mut entry, "environment", variables);
            }
            Shape::Goose => {
                entry.extend([("type".to_owned(), "stdio".into()), ("enabled".to_owned(), true.into())]);
                entry.insert("cmd".to_owned(), program.as_str().into());
                entry.insert("args".to_owned(), json!(arguments));
                add(&mut entry, "envs", variables);
            }
            Shape::Usual { .. } | Shape::Gemini | Shape::Codex => {
                if matches!(self.host.shape, Shape::Usual { types: true, .. }) {
                    entry.insert("type".to_owned(), "stdio".into());
                }
                entry.insert("command".to_owned(), program.as_str().into());
                entry.insert("args".to_owned(), json!(arguments));
                add(&mut entry, "env", variables);
            }
        }
        let has_folder = matches!(self.host.shape, Shape::Usual { cwd: true, .. } | Shape::Gemini | Shape::Codex);
        match folder {
            Some(folder) if has_folder => {
                entry.insert("cwd".to_owned(), self.text(folder)?.into());
            }
            Some(folder) => {
                let message =
                    format!("{} starts servers in a folder of its own choice, not in {folder}", self.host.title);
                return Err(Failure::usage(message).hint("give absolute paths, in a command without a folder"));
            }
            None => {}
        }
        Ok(entry.into())
    }

    fn url(&self, url: &str, headers: &BTreeMap<String, String>, is_sse: bool) -> Result<Value, Failure> {
        let mut entry = Map::new();
        let (kind, member) = match self.host.shape {
            Shape::Gemini => (None, if is_sse { "url" } else { "httpUrl" }),
            Shape::Opencode => (Some("remote"), "url"),
            Shape::Goose => (Some(if is_sse { "sse" } else { "streamable_http" }), "uri"),
            Shape::Usual { types, url, .. } => {
                (types.then_some(if is_sse { "sse" } else { "http" }), url.unwrap_or("url"))
            }
            Shape::Codex => (None, "url"),
        };
        entry.extend(kind.map(|kind| ("type".to_owned(), kind.into())));
        if self.host.shape == Shape::Goose {
            entry.insert("enabled".to_owned(), true.into());
        }
        entry.insert(member.to_owned(), self.text(url)?.into());
        add(&mut entry, "headers", self.texts(headers)?);
        Ok(entry.into())
    }

    /// A URL as a command: this program joins the host and the server.
    fn bridged(&self, server: &Server) -> Server {
        let Server::Url { url, headers, is_sse } = server else { return server.clone() };
        let mut words = vec![self.program.to_owned(), "bridge".to_owned(), url.clone()];
        if *is_sse {
            words.extend(["--transport".to_owned(), "sse".to_owned()]);
        }
        for (name, value) in headers {
            words.extend(["--header".to_owned(), format!("{name}: {value}")]);
        }
        Server::Command { words, variables: BTreeMap::new(), folder: None }
    }

    /// Codex replaces nothing in strings: members of its own have the names of variables.
    fn codex(&self, server: &Server) -> Result<Value, Failure> {
        let whole = |value: &str| placeholder(value).filter(|_| !self.literal).map(str::to_owned);
        match server {
            Server::Command { words, variables, folder } => {
                let inherits = |(name, value): (&String, &String)| whole(value).as_ref() == Some(name);
                let (inherited, own): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    variables.clone().into_iter().partition(|(name, value)| inherits((name, value)));
                let mut entry = self.command(words, &own, folder.as_deref())?;
                if !inherited.is_empty() {
                    entry["env_vars"] = json!(inherited.keys().collect::<Vec<_>>());
                }
                Ok(entry)
            }
            Server::Url { url, headers, is_sse } => {
                if *is_sse {
                    return Err(Failure::usage("Codex does not speak HTTP+SSE")
                        .hint("enter the command `trunkline bridge URL --transport sse` instead"));
                }
                let mut entry = json!({"url": self.text(url)?});
                let (mut own, mut named) = (BTreeMap::new(), Map::new());
                for (name, value) in headers {
                    let line = format!("{name}: {value}");
                    let is_bearer = line.to_ascii_lowercase().starts_with(BEARER);
                    let token = line.get(BEARER.len()..).filter(|_| is_bearer).and_then(whole);
                    match (token, whole(value)) {
                        (Some(token), _) => entry["bearer_token_env_var"] = token.into(),
                        (None, Some(variable)) => drop(named.insert(name.clone(), variable.into())),
                        (None, None) => drop(own.insert(name.clone(), value.clone())),
                    }
                }
                let own = self.texts(&own)?;
                if let Some(entry) = entry.as_object_mut() {
                    add(entry, "http_headers", own);
                    add(entry, "env_http_headers", named);
                }
                Ok(entry)
            }
        }
    }

    fn texts(&self, values: &BTreeMap<String, String>) -> Result<Map<String, Value>, Failure> {
        values.iter().map(|(name, value)| Ok((name.clone(), self.text(value)?.into()))).collect()
    }

    /// A string with the placeholders of the host.
    fn text(&self, text: &str) -> Result<String, Failure> {
        let mut written = String::new();
        let mut rest = text;
        while let Some((before, (name, after))) =
            rest.split_once("${").and_then(|(before, inside)| Some((before, inside.split_once('}')?)))
        {
            written += before;
            written += &self.reference(name)?;
            rest = after;
        }
        Ok(written + rest)
    }

    fn reference(&self, name: &str) -> Result<String, Failure> {
        if self.literal {
            return (self.variable)(name).ok_or_else(|| {
                Failure::usage(format!("--literal: the variable {name} is not set"))
                    .hint(format!("set {name}, and try again"))
            });
        }
        match self.host.reference {
            Reference::Dollar => Ok(format!("${{{name}}}")),
            Reference::DollarEnv => Ok(format!("${{env:{name}}}")),
            Reference::Braces => Ok(format!("{{env:{name}}}")),
            Reference::Members => {
                let message = format!("Codex takes {name} only as a variable of the same name, or as a whole header");
                Err(Failure::usage(message).hint(format!("--env {name}, or copy the value with --literal")))
            }
            Reference::None => {
                let message = format!(
                    "{} replaces no variables in its file, so ${{{name}}} would stay as it is",
                    self.host.title
                );
                Err(Failure::usage(message).hint("--literal copies the value into the file"))
            }
        }
    }
}

fn add(entry: &mut Map<String, Value>, member: &str, values: Map<String, Value>) {
    if !values.is_empty() {
        entry.insert(member.to_owned(), values.into());
    }
}

/// The name in a string that is one placeholder.
fn placeholder(value: &str) -> Option<&str> {
    value.strip_prefix("${")?.strip_suffix('}').filter(|name| !name.contains('}'))
}

#[cfg(test)]
mod tests {
    use super::{super::find, *};

    fn map(values: &[(&str, &str)]) -> BTreeMap<String, String> {
        values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn command(variables: &[(&str, &str)]) -> Server {
        let words = ["npx", "-y", "weather"].map(str::to_owned).to_vec();
        Server::Command { words, variables: map(variables), folder: None }
    }

    fn url(headers: &[(&str, &str)], is_sse: bool) -> Server {
        Server::Url { url: "https://x.example/mcp".to_owned(), headers: map(headers), is_sse }
    }

    fn written(host: &str, server: &Server, literal: bool) -> Result<String, String> {
        let variable = |name: &str| (name == "KEY").then(|| "the-secret".to_owned());
        let writer = Writer { host: find(host).unwrap(), literal, variable: &variable, program: "trunkline" };
        let text = |failure: Failure| failure.lines().into_iter().map(|(_, line)| line).collect::<Vec<_>>().join("; ");
        writer.entry(server).map(|entry| entry.to_string()).map_err(text)
    }

    #[test]
    fn each_host_gets_a_command_in_its_own_form() {
        let server = command(&[("KEY", "${KEY}"), ("LEVEL", "debug")]);
        for (host, expected) in [
            (
                "claude-code",
                r#"{"type":"stdio","command":"npx","args":["-y","weather"],"env":{"KEY":"${KEY}","LEVEL":"debug"}}"#,
            ),
            ("cursor", r#"{"command":"npx","args":["-y","weather"],"env":{"KEY":"${env:KEY}","LEVEL":"debug"}}"#),
            (
                "vscode",
                r#"{"type":"stdio","command":"npx","args":["-y","weather"],"env":{"KEY":"${env:KEY}","LEVEL":"debug"}}"#,
            ),
            ("codex", r#"{"command":"npx","args":["-y","weather"],"env":{"LEVEL":"debug"},"env_vars":["KEY"]}"#),
            ("gemini", r#"{"command":"npx","args":["-y","weather"],"env":{"KEY":"${KEY}","LEVEL":"debug"}}"#),
            ("windsurf", r#"{"command":"npx","args":["-y","weather"],"env":{"KEY":"${env:KEY}","LEVEL":"debug"}}"#),
            (
                "opencode",
                r#"{"type":"local","command":["npx","-y","weather"],"environment":{"KEY":"{env:KEY}","LEVEL":"debug"}}"#,
            ),
        ] {
            assert_eq!(written(host, &server, false).as_deref(), Ok(expected), "{host}");
        }
        for host in ["claude-desktop", "zed", "goose"] {
            let refused = written(host, &server, false).unwrap_err();
            assert!(refused.contains("replaces no variables") && refused.contains("--literal"), "{host}: {refused}");
            assert!(written(host, &server, true).unwrap().contains(r#""KEY":"the-secret""#), "{host}");
        }
    }

    #[test]
    fn each_host_gets_a_url_in_its_own_form() {
        let server = url(&[("X-Key", "${KEY}"), ("X-Team", "a")], false);
        for (host, expected) in [
            (
                "claude-code",
                r#"{"type":"http","url":"https://x.example/mcp","headers":{"X-Key":"${KEY}","X-Team":"a"}}"#,
            ),
            ("cursor", r#"{"url":"https://x.example/mcp","headers":{"X-Key":"${env:KEY}","X-Team":"a"}}"#),
            (
                "codex",
                r#"{"url":"https://x.example/mcp","http_headers":{"X-Team":"a"},"env_http_headers":{"X-Key":"KEY"}}"#,
            ),
            ("gemini", r#"{"httpUrl":"https://x.example/mcp","headers":{"X-Key":"${KEY}","X-Team":"a"}}"#),
            ("windsurf", r#"{"serverUrl":"https://x.example/mcp","headers":{"X-Key":"${env:KEY}","X-Team":"a"}}"#),
            (
                "opencode",
                r#"{"type":"remote","url":"https://x.example/mcp","headers":{"X-Key":"{env:KEY}","X-Team":"a"}}"#,
            ),
        ] {
            assert_eq!(written(host, &server, false).as_deref(), Ok(expected), "{host}");
        }
        assert_eq!(
            written("claude-desktop", &url(&[], true), false).as_deref(),
            Ok(r#"{"command":"trunkline","args":["bridge","https://x.example/mcp","--transport","sse"]}"#)
        );
        assert_eq!(written("gemini", &url(&[], true), false).as_deref(), Ok(r#"{"url":"https://x.example/mcp"}"#));
        assert!(written("codex", &url(&[], true), false).unwrap_err().contains("HTTP+SSE"));
    }

    #[test]
    fn secrets_are_not_copied_by_accident() {
        let given = command(&[("API_KEY", "0123456789")]);
        let refused = written("cursor", &given, false).unwrap_err();
        assert!(
            refused.contains("API_KEY") && refused.contains("--env API_KEY") && !refused.contains("0123"),
            "{refused}"
        );
        assert!(written("cursor", &given, true).unwrap().contains("0123456789"));
        let header = url(&[("X-Key", "0123456789")], false);
        assert!(written("cursor", &header, false).unwrap_err().contains("--header 'X-Key: ${VARIABLE}'"));
        let words = ["npx", "weather", "--api-key", "0123456789"].map(str::to_owned).to_vec();
        let argument = Server::Command { words, variables: map(&[]), folder: None };
        assert!(written("cursor", &argument, false).unwrap_err().contains("args[2] looks like a secret"));
        assert!(written("cursor", &argument, true).is_ok());
        let unset = written("cursor", &command(&[("NONE", "${NONE}")]), true).unwrap_err();
        assert!(unset.contains("NONE is not set"), "{unset}");
        let renamed = written("codex", &command(&[("OTHER", "${KEY}")]), false).unwrap_err();
        assert!(renamed.contains("same name"), "{renamed}");
    }
}
