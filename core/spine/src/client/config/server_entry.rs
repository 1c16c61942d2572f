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
        /// The URL as it is written, if it has placeholders: errors and logs show it instead, since
        /// the values of these may be secret.
        shown_url: Option<String>,
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
const MEMBERS: [&str; 23] = [
    "type",
    "command",
    "cmd",
    "args",
    "env",
    "environment",
    "envs",
    "env_keys",
    VARIABLES,
    "cwd",
    "inheritEnv",
    "stderr",
    "stderrFile",
    "url",
    "serverUrl",
    "httpUrl",
    "uri",
    "headers",
    "http_headers",
    HEADER_VARIABLES,
    TOKEN_VARIABLE,
    AUTH,
    OAUTH,
];
/// Names of the program: the usual one and goose's.
const COMMANDS: [&str; 2] = ["command", "cmd"];
/// Names of the variables of its process: the usual one, opencode's and goose's.
const ENVIRONMENTS: [&str; 3] = ["env", "environment", "envs"];
/// Codex: names of variables that the process inherits.
const VARIABLES: &str = "env_vars";
/// Names of the URL: the usual one, Windsurf's, the Gemini CLI's and goose's.
const URLS: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];
/// Names of the headers: the usual one and Codex's.
const HEADERS: [&str; 2] = ["headers", "http_headers"];
/// Codex: variables that have the values of headers.
const HEADER_VARIABLES: &str = "env_http_headers";
/// Codex: the variable that has an access token.
const TOKEN_VARIABLE: &str = "bearer_token_env_var";
/// The destinations of a program's standard error.
pub(super) const DESTINATIONS: [&str; 3] = ["inherit", "keep", "discard"];
/// The values of `type` that are allowed with a URL. opencode has `remote`, goose has underscores.
const HTTP_TYPES: [&str; 6] = ["http", "streamable-http", "streamableHttp", "streamable_http", "remote", HTTP_SSE];
const HTTP_SSE: &str = "sse";
/// The values of `type` that are allowed with a command: the usual one and opencode's.
const STDIO_TYPES: [&str; 2] = ["stdio", "local"];

impl ServerEntry {
    /// Returns whether its headers have credentials, so that it needs no login.
    pub fn has_credentials(&self) -> bool {
        match self {
            Self::Url { headers, .. } => headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")),
            Self::Command { .. } => false,
        }
    }

    pub(super) fn read(entry: &ConfigValue<'_>) -> Result<Self, ConfigError> {
        let kind = entry.member("type").map(|kind| kind.text()).transpose()?;
        let is_stdio = kind.map(|kind| STDIO_TYPES.contains(&kind));
        if let Some(kind) = kind.filter(|kind| is_stdio == Some(false) && !HTTP_TYPES.contains(kind)) {
            let known = "stdio, http, streamable-http and sse";
            return Err(entry.error_in("type", &format!("{kind:?} is unknown; the types are {known}")));
        }
        check_names(entry)?;
        let mut urls = URLS.into_iter().filter_map(|name| Some((name, entry.member(name)?)));
        let url = urls.next();
        if let (Some((one, _)), Some((other, _))) = (&url, urls.next()) {
            return Err(entry.error(&format!("has both \"{one}\" and \"{other}\": keep one of them")));
        }
        let program = COMMANDS.into_iter().find(|name| entry.member(name).is_some());
        match (program.is_some(), url) {
            (true, Some(_)) => Err(entry.error("has both \"command\" and \"url\": keep one of them")),
            (false, None) => Err(entry.error("needs either \"command\", a program to start, or \"url\"")),
            (true, None) if entry.given(AUTH).or(entry.given(OAUTH)).is_some() => {
                Err(entry.error("has \"auth\" or \"oauth\", which are for a server with a \"url\""))
            }
            (true, None) if is_stdio == Some(false) => {
                Err(entry.error_in("type", "a server with a \"command\" has the type \"stdio\""))
            }
            (false, Some(_)) if is_stdio == Some(true) => {
                Err(entry.error_in("type", "a server of the type \"stdio\" has a \"command\", not a \"url\""))
            }
            (true, None) => command(entry, program.unwrap_or(COMMANDS[0])),
            (false, Some((name, given))) => {
                let url = text(entry, name)?.unwrap_or_default();
                let written = given.value.as_str().filter(|written| *written != url);
                Ok(Self::Url {
                    shown_url: written.map(str::to_owned),
                    url,
                    headers: headers(entry)?,
                    http_sse: kind == Some(HTTP_SSE),
                    auth: auth::read(entry)?,
                })
            }
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
            Self::Url { url, shown_url, headers, http_sse, auth } => f
                .debug_struct("Url")
                .field("url", shown_url.as_ref().unwrap_or(url))
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

/// A program to start, which is in the member `name`.
fn command(entry: &ConfigValue<'_>, name: &str) -> Result<ServerEntry, ConfigError> {
    // opencode has the arguments in the same list.
    let listed = entry.given(name).filter(|given| given.value.is_array());
    let mut command = match listed {
        Some(words) => words.texts()?,
        None => vec![text(entry, name)?.unwrap_or_default()],
    };
    if command.first().is_none_or(String::is_empty) {
        return Err(entry.error_in(name, "is empty; it must name the program to start"));
    }
    command.extend(entry.given("args").map(|args| args.texts()).transpose()?.unwrap_or_default());
    let cwd = text(entry, "cwd")?.map(|folder| in_home(entry, folder));
    let stderr = text(entry, "stderr")?;
    if stderr.as_deref().is_some_and(|word| !DESTINATIONS.contains(&word)) {
        return Err(entry.error_in("stderr", &format!("must be one of {}", DESTINATIONS.join(", "))));
    }
    let (stderr_file, env) = (text(entry, "stderrFile")?, variables(entry)?);
    let boolean = |given: ConfigValue<'_>| given.value.as_bool().ok_or_else(|| given.error("must be true or false"));
    let inherit_env = entry.given("inheritEnv").map(boolean).transpose()?;
    Ok(ServerEntry::Command { command, env, cwd, inherit_env, stderr, stderr_file })
}

/// Expands `~` at the start of a path, as a shell does.
fn in_home(entry: &ConfigValue<'_>, folder: String) -> String {
    let rest = folder.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    rest.and_then(|rest| Some((entry.variable)(placeholders::HOME)? + rest)).unwrap_or(folder)
}

/// The variables of a program.
fn variables(entry: &ConfigValue<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut all = maps(entry, &ENVIRONMENTS)?;
    if let Some(inherited) = entry.given(VARIABLES) {
        for item in inherited.items()? {
            let named = item.given("name").unwrap_or(item);
            let name = named.text()?;
            all.extend((entry.variable)(name).map(|value| (name.to_owned(), value)));
        }
    }
    Ok(all)
}

/// The headers of each request.
fn headers(entry: &ConfigValue<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut all = maps(entry, &HEADERS)?;
    if let Some(named) = entry.given(HEADER_VARIABLES) {
        for (header, name) in named.members()? {
            all.extend((entry.variable)(name.text()?).map(|value| (header.clone(), value)));
        }
    }
    if let Some(name) = entry.given(TOKEN_VARIABLE) {
        let token = placeholders::replace(&format!("${{{}}}", name.text()?), entry.variable);
        let token = token.map_err(|problem| name.error(&problem))?;
        all.insert("Authorization".to_owned(), format!("Bearer {token}"));
    }
    Ok(all)
}

fn text(entry: &ConfigValue<'_>, name: &str) -> Result<Option<String>, ConfigError> {
    entry.given(name).map(|member| member.replaced()).transpose()
}

/// The strings of these objects.
fn maps(entry: &ConfigValue<'_>, names: &[&str]) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut all = BTreeMap::new();
    for member in names.iter().filter_map(|name| entry.given(name)) {
        for (key, value) in member.members()? {
            all.insert(key.clone(), value.replaced()?);
        }
    }
    Ok(all)
}
