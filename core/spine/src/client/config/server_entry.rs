//! One server of a configuration.

use super::{
    auth,
    config_error::{ConfigError, ConfigValue},
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
        /// Set to `true` to inherit the environment of this process; the default is that of
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
    pub(super) fn read(entry: &ConfigValue<'_>) -> Result<Self, ConfigError> {
        let kind = entry.member("type").map(|kind| kind.text()).transpose()?;
        if let Some(kind) = kind.filter(|kind| *kind != STDIO && !HTTP_TYPES.contains(kind)) {
            let known = "stdio, http, streamable-http and sse";
            return Err(entry.error_in("type", &format!("{kind:?} is unknown; the types are {known}")));
        }
        check_names(entry)?;
        let mut urls = URLS.into_iter().filter_map(|name| Some((name, entry.member(name)?)));
        let url = urls.next();
        if let (Some((one, _)), Some((other, _))) = (&url, urls.next()) {
            return Err(entry.error(&format!("has both \"{one}\" and \"{other}\": keep one of them")));
        }
        match (entry.member("command").is_some(), url) {
            (true, Some(_)) => Err(entry.error("has both \"command\" and \"url\": keep one of them")),
            (false, None) => Err(entry.error("needs either \"command\", a program to start, or \"url\"")),
            (true, None) if entry.given(AUTH).or(entry.given(OAUTH)).is_some() => {
                Err(entry.error("has \"auth\" or \"oauth\", which are for a server with a \"url\""))
            }
            (true, None) if kind.is_some_and(|kind| kind != STDIO) => {
                Err(entry.error_in("type", "a server with a \"command\" has the type \"stdio\""))
            }
            (false, Some(_)) if kind == Some(STDIO) => {
                Err(entry.error_in("type", "a server of the type \"stdio\" has a \"command\", not a \"url\""))
            }
            (true, None) => command(entry),
            (false, Some((name, _))) => Ok(Self::Url {
                url: text(entry, name)?.unwrap_or_default(),
                headers: map(entry, "headers")?,
                http_sse: kind == Some(HTTP_SSE),
                auth: auth::read(entry)?,
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

/// Refuses members that are misspelled or not supported.
fn check_names(entry: &ConfigValue<'_>) -> Result<(), ConfigError> {
    if let Some(file) = entry.member("envFile") {
        let instead = "put its variables in \"env\" or in the environment of this program";
        return Err(file.error(&format!("is not supported: {instead}")));
    }
    for (name, member) in entry.members()?.filter(|(name, _)| !MEMBERS.contains(&name.as_str())) {
        // Unknown members may belong to other hosts.
        if let Some(known) = nearest(name, MEMBERS.into_iter()) {
            return Err(member.error(&format!("is unknown: did you mean \"{known}\"?")));
        }
    }
    Ok(())
}

/// A program to start.
fn command(entry: &ConfigValue<'_>) -> Result<ServerEntry, ConfigError> {
    let mut command = vec![text(entry, "command")?.unwrap_or_default()];
    if command[0].is_empty() {
        return Err(entry.error_in("command", "is empty; it must name the program to start"));
    }
    command.extend(entry.given("args").map(|args| args.texts()).transpose()?.unwrap_or_default());
    let cwd = text(entry, "cwd")?.map(|folder| in_home(entry, folder));
    let stderr = text(entry, "stderr")?;
    if stderr.as_deref().is_some_and(|word| !DESTINATIONS.contains(&word)) {
        return Err(entry.error_in("stderr", &format!("must be one of {}", DESTINATIONS.join(", "))));
    }
    let (stderr_file, env) = (text(entry, "stderrFile")?, map(entry, "env")?);
    let boolean = |given: ConfigValue<'_>| given.value.as_bool().ok_or_else(|| given.error("must be true or false"));
    let inherit_env = entry.given("inheritEnv").map(boolean).transpose()?;
    Ok(ServerEntry::Command { command, env, cwd, inherit_env, stderr, stderr_file })
}

/// Expands `~` at the start of a path, as a shell does.
fn in_home(entry: &ConfigValue<'_>, folder: String) -> String {
    let rest = folder.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    rest.and_then(|rest| Some((entry.variable)(placeholders::HOME)? + rest)).unwrap_or(folder)
}

fn text(entry: &ConfigValue<'_>, name: &str) -> Result<Option<String>, ConfigError> {
    entry.given(name).map(|member| member.replaced()).transpose()
}

fn map(entry: &ConfigValue<'_>, name: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    let Some(member) = entry.given(name) else { return Ok(BTreeMap::new()) };
    member.members()?.map(|(key, value)| Ok((key.clone(), value.replaced()?))).collect()
}
