//! One server of a configuration.

use super::{
    config_error::{ConfigError, ConfigLocation},
    placeholders,
};
use crate::protocol::known_names::nearest;
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// A server as described by an entry of `mcpServers`, with its placeholders replaced.
///
/// `${NAME}` and `${NAME:-default}` in `command`, `args`, `env`, `cwd`, `url`, `headers` and `auth`
/// are replaced with environment variables, and so is `${env:NAME}`, which some hosts write. A host
/// sets other variables, such as `${workspaceFolder}` and `${input:key}`, with
/// [`ClientOptions::variables`](crate::ClientOptions::variables). `${userHome}`, and `~` at the
/// start of `cwd`, are replaced with the user's home directory.
///
/// ```
/// use serde_json::json;
/// use trunkline::client::ServerEntry;
///
/// let entry = ServerEntry::from_value(&json!({"command": "python", "args": ["weather.py"]}));
/// assert!(matches!(entry, Ok(ServerEntry::Command { .. })));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEntry {
    /// `{"command", "args", "env", "cwd", "inheritEnv", "stderr", "stderrFile"}`: a program that
    /// serves on its standard input and output. It is started without a shell.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Additional environment variables.
        env: BTreeMap<String, String>,
        /// The working directory; that of this process by default.
        cwd: Option<String>,
        /// Whether it inherits the environment of this process; the default is that of
        /// [`ChildCommand`](crate::ChildCommand).
        inherit_env: Option<bool>,
        /// The destination of its standard error: `inherit`, `keep` or `discard`.
        stderr: Option<String>,
        /// The path of a file for standard error.
        stderr_file: Option<String>,
    },
    /// `{"url", "headers", "auth"}`: an HTTP endpoint.
    Url {
        /// The URL.
        url: String,
        /// Headers sent with each request.
        headers: BTreeMap<String, String>,
        /// Set for type `sse`: the server only supports HTTP+SSE (2024-11-05). Without a type, such
        /// a server is detected with one extra request.
        http_sse: bool,
        /// `OAuthOptions` as JSON, for this server only. They are parsed when the client connects.
        auth: Option<Value>,
    },
}

/// The member for authorization options.
pub(super) const AUTH: &str = "auth";
/// The same in Claude Code's format.
pub(super) const OAUTH: &str = "oauth";
/// The supported members.
const MEMBERS: [&str; 14] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "inheritEnv",
    "stderr",
    "stderrFile",
    "url",
    "serverUrl",
    "httpUrl",
    "headers",
    AUTH,
    OAUTH,
];
/// Names of the URL: the usual one, Windsurf's and the Gemini CLI's.
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];
/// The destinations of a program's standard error.
pub(super) const DESTINATIONS: [&str; 3] = ["inherit", "keep", "discard"];
/// The values of `type` that are allowed with a URL.
const HTTP_TYPES: [&str; 4] = ["http", "streamable-http", "streamableHttp", HTTP_SSE];
const HTTP_SSE: &str = "sse";
const STDIO: &str = "stdio";

impl ServerEntry {
    pub(super) fn read(
        entry: &Value,
        location: &ConfigLocation,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let members = location.object(entry)?;
        let reader = EntryReader { location, members, variable };
        let kind = members.get("type").map(|kind| location.member("type").text(kind)).transpose()?;
        if let Some(kind) = kind.filter(|kind| *kind != STDIO && !HTTP_TYPES.contains(kind)) {
            let known = "stdio, http, streamable-http and sse";
            return Err(location.member("type").error(&format!("{kind:?} is unknown; the types are {known}")));
        }
        reader.check_names()?;
        let mut urls = URLS.into_iter().filter(|name| members.contains_key(*name));
        let url = urls.next();
        if let (Some(one), Some(other)) = (url, urls.next()) {
            return Err(location.error(&format!("has both \"{one}\" and \"{other}\": keep one of them")));
        }
        match (members.contains_key("command"), url.is_some()) {
            (true, true) => Err(location.error("has both \"command\" and \"url\": keep one of them")),
            (false, false) => Err(location.error("needs either \"command\", a program to start, or \"url\"")),
            (true, false) if reader.given(AUTH).or(reader.given(OAUTH)).is_some() => {
                Err(location.error("has \"auth\" or \"oauth\", which are for a server with a \"url\""))
            }
            (true, false) if kind.is_some_and(|kind| kind != STDIO) => {
                Err(location.member("type").error("a server with a \"command\" has the type \"stdio\""))
            }
            (false, true) if kind == Some(STDIO) => {
                Err(location.member("type").error("a server of the type \"stdio\" has a \"command\", not a \"url\""))
            }
            (true, false) => reader.command(),
            (false, true) => Ok(Self::Url {
                url: url.map(|name| reader.text(name)).transpose()?.flatten().unwrap_or_default(),
                headers: reader.map("headers")?,
                http_sse: kind == Some(HTTP_SSE),
                auth: reader.auth()?,
            }),
        }
    }
}

/// Environment variables and headers may hold secrets, so only their names are shown.
impl fmt::Debug for ServerEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { command, env, cwd, inherit_env, stderr, stderr_file } => f
                .debug_struct("Command")
                .field("command", command)
                .field("env", &env.keys())
                .field("cwd", cwd)
                .field("inherit_env", inherit_env)
                .field("stderr", stderr)
                .field("stderr_file", stderr_file)
                .finish(),
            Self::Url { url, headers, http_sse, auth } => f
                .debug_struct("Url")
                .field("url", url)
                .field("headers", &headers.keys())
                .field("http_sse", http_sse)
                .field("auth", &auth.as_ref().and_then(Value::as_object).map(|auth| auth.keys().collect::<Vec<_>>()))
                .finish(),
        }
    }
}

/// Reads the members of an entry.
pub(super) struct EntryReader<'a> {
    pub(super) location: &'a ConfigLocation,
    members: &'a serde_json::Map<String, Value>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl EntryReader<'_> {
    /// Refuses members that are misspelled or not supported.
    fn check_names(&self) -> Result<(), ConfigError> {
        if self.members.contains_key("envFile") {
            let instead = "put its variables in \"env\" or in the environment of this program";
            return Err(self.location.member("envFile").error(&format!("is not supported: {instead}")));
        }
        for name in self.members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
            // Unknown members may belong to other hosts.
            if let Some(known) = nearest(name, MEMBERS.into_iter()) {
                return Err(self.location.member(name).error(&format!("is unknown: did you mean \"{known}\"?")));
            }
        }
        Ok(())
    }

    /// A program to start.
    fn command(&self) -> Result<ServerEntry, ConfigError> {
        let mut command = vec![self.text("command")?.unwrap_or_default()];
        if command[0].is_empty() {
            return Err(self.location.member("command").error("is empty; it must name the program to start"));
        }
        command.extend(self.texts("args")?);
        let cwd = self.text("cwd")?.map(|folder| self.in_home(folder));
        let stderr = self.text("stderr")?;
        if stderr.as_deref().is_some_and(|word| !DESTINATIONS.contains(&word)) {
            let wrong = format!("must be one of {}", DESTINATIONS.join(", "));
            return Err(self.location.member("stderr").error(&wrong));
        }
        let stderr_file = self.text("stderrFile")?;
        let (env, inherit_env) = (self.map("env")?, self.boolean("inheritEnv")?);
        Ok(ServerEntry::Command { command, env, cwd, inherit_env, stderr, stderr_file })
    }

    fn text(&self, name: &str) -> Result<Option<String>, ConfigError> {
        self.given(name).map(|value| self.replaced(value, &self.location.member(name))).transpose()
    }

    /// Expands `~` at the start of a path, as a shell does.
    fn in_home(&self, folder: String) -> String {
        let rest = folder.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
        rest.and_then(|rest| Some((self.variable)(placeholders::HOME)? + rest)).unwrap_or(folder)
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>, ConfigError> {
        let wrong = || self.location.member(name).error("must be true or false");
        self.given(name).map(|value| value.as_bool().ok_or_else(wrong)).transpose()
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, ConfigError> {
        let Some(value) = self.given(name) else { return Ok(Vec::new()) };
        let location = self.location.member(name);
        let items = value.as_array().ok_or_else(|| location.error("must be a list of strings"))?;
        let numbered = items.iter().enumerate();
        numbered.map(|(index, item)| self.replaced(item, &location.member(&index.to_string()))).collect()
    }

    fn map(&self, name: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        let Some(value) = self.given(name) else { return Ok(BTreeMap::new()) };
        let location = self.location.member(name);
        let members = location.object(value)?.iter();
        members.map(|(key, value)| Ok((key.clone(), self.replaced(value, &location.member(key))?))).collect()
    }

    /// A member; `null` counts as missing.
    pub(super) fn given(&self, name: &str) -> Option<&Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn replaced(&self, value: &Value, location: &ConfigLocation) -> Result<String, ConfigError> {
        placeholders::replace(location.text(value)?, self.variable).map_err(|problem| location.error(&problem))
    }
}
