//! The flags for a connection, the same for every command.

use crate::{
    failure::Failure,
    login_flags::{self, Login, LoginFlags},
};
use clap::{Arg, Args, ValueEnum, builder::FalseyValueParser};
use std::{path::PathBuf, time::Duration};
use trunkline::{Revision, RevisionChoice};

const HEADING: &str = "Connection (each flag is also a variable: --era is TRUNKLINE_ERA)";

/// Hides the flags that nearly every command has from `-h`, which points to `--help`.
fn only_in_long_help(flag: Arg) -> Arg {
    match flag.get_help_heading() {
        Some(HEADING | login_flags::HEADING) => flag.hide_short_help(true),
        _ => flag,
    }
}

/// The flags for a connection. Each is also an environment variable: `--era` is `TRUNKLINE_ERA`.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = HEADING, mut_args(only_in_long_help))]
pub(crate) struct ConnectionFlags {
    /// Start this command as the server; split as a shell would, but not run by one.
    #[arg(long = "command", value_name = "COMMAND", env = "TRUNKLINE_COMMAND", hide_env = true)]
    pub(crate) command_line: Option<String>,
    /// Send a header with each HTTP request: `Name: value`, where `${VARIABLE}` and
    /// `${VARIABLE:-default}` are replaced. Repeatable.
    #[arg(long = "header", value_name = "HEADER", env = "TRUNKLINE_HEADER", hide_env = true, value_delimiter = '\n')]
    pub(crate) headers: Vec<String>,
    /// Read headers from a file, one a line.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_HEADER_FILE", hide_env = true)]
    pub(crate) header_file: Option<PathBuf>,
    /// Send the access token that this environment variable has.
    #[arg(long, value_name = "VARIABLE", env = "TRUNKLINE_BEARER_ENV", hide_env = true)]
    pub(crate) bearer_env: Option<String>,
    /// `oauth`: log in if the server asks for it, which is the default without other credentials;
    /// `none`: never log in, nor use an earlier login.
    #[arg(long, value_name = "HOW", env = "TRUNKLINE_AUTH", hide_env = true, hide_possible_values = true)]
    pub(crate) auth: Option<Login>,
    /// The revisions to try: all (`auto`), those with a session (`legacy`), or those without
    /// (`modern`).
    #[arg(
        long,
        default_value = "auto",
        env = "TRUNKLINE_ERA",
        hide_env = true,
        hide_possible_values = true,
        conflicts_with = "revision"
    )]
    pub(crate) era: Era,
    /// Speak exactly this revision, such as 2025-11-25.
    #[arg(long, value_name = "DATE", env = "TRUNKLINE_REVISION", hide_env = true)]
    pub(crate) revision: Option<String>,
    /// How to speak over HTTP: detected (`auto`), or the older HTTP+SSE (`sse`).
    #[arg(long, default_value = "auto", env = "TRUNKLINE_TRANSPORT", hide_env = true, hide_possible_values = true)]
    pub(crate) transport: Transport,
    /// Set an environment variable of the server's process. Repeatable.
    #[arg(long = "env", value_name = "NAME=VALUE", env = "TRUNKLINE_ENV", hide_env = true, value_delimiter = '\n')]
    pub(crate) variables: Vec<String>,
    /// Let the server's process inherit all environment variables; by default few, without secrets.
    #[arg(long, env = "TRUNKLINE_INHERIT_ENV", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) inherit_env: bool,
    /// The working directory of the server's process.
    #[arg(long, value_name = "FOLDER", env = "TRUNKLINE_CWD", hide_env = true)]
    pub(crate) cwd: Option<PathBuf>,
    /// Maximum time for a request without progress.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time, env = "TRUNKLINE_TIMEOUT", hide_env = true)]
    pub(crate) timeout: Duration,
    /// Maximum time to start the server and connect.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time, env = "TRUNKLINE_CONNECT_TIMEOUT", hide_env = true)]
    pub(crate) connect_timeout: Duration,
    /// Trust the certificates in this file, in PEM.
    #[arg(long, value_name = "FILE", env = "TRUNKLINE_CA", hide_env = true)]
    pub(crate) ca: Option<PathBuf>,
    /// Reach servers on other machines through this proxy.
    #[arg(long, value_name = "URL", env = "TRUNKLINE_PROXY", hide_env = true)]
    pub(crate) proxy: Option<String>,
    /// Allow `http://` for servers on other machines.
    #[arg(long, env = "TRUNKLINE_ALLOW_HTTP", hide_env = true, value_parser = FalseyValueParser::new())]
    pub(crate) allow_http: bool,
    /// How often to ping a server that keeps a session.
    #[arg(skip)]
    pub(crate) ping_interval: Option<Duration>,
    #[command(flatten)]
    pub(crate) login: LoginFlags,
}

/// The revisions to try.
#[derive(ValueEnum, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Era {
    #[default]
    Auto,
    Legacy,
    Modern,
}

/// How to speak over HTTP.
#[derive(ValueEnum, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Transport {
    #[default]
    // The other words are those of mcp-remote and mcp-proxy.
    #[value(aliases = ["http", "http-first", "http-only", "streamablehttp"])]
    Auto,
    #[value(aliases = ["sse-first", "sse-only"])]
    Sse,
}

impl ConnectionFlags {
    /// The revisions to try.
    pub(crate) fn revisions(&self) -> Result<RevisionChoice, Failure> {
        let Some(name) = &self.revision else {
            return Ok(match self.era {
                Era::Auto => RevisionChoice::Auto,
                Era::Legacy => RevisionChoice::Legacy,
                Era::Modern => RevisionChoice::Modern,
            });
        };
        Revision::parse(name).map(RevisionChoice::Pinned).ok_or_else(|| {
            let all = Revision::ALL.map(Revision::as_str).join(", ");
            Failure::usage(format!("--revision: {name:?} is no revision")).hint(format!("one of {all}"))
        })
    }

    /// The revisions to try, for a message.
    pub(crate) fn revisions_in_words(&self) -> String {
        match (&self.revision, self.era) {
            (Some(date), _) => format!("revision {date}"),
            (None, Era::Auto) => "any revision".to_owned(),
            (None, Era::Legacy) => "legacy revisions".to_owned(),
            (None, Era::Modern) => "modern revisions".to_owned(),
        }
    }

    /// The environment variables of the server's process.
    pub(crate) fn process_variables(&self) -> Result<Vec<(String, String)>, Failure> {
        let pair = |word: &String| {
            let pair = word.split_once('=').filter(|(name, _)| !name.is_empty());
            pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
                .ok_or_else(|| Failure::usage("--env: a variable is NAME=VALUE").hint("--env LEVEL=debug"))
        };
        self.variables.iter().map(pair).collect()
    }

    /// The headers of each request, with their placeholders.
    pub(crate) fn all_headers(&self) -> Result<Vec<(String, String)>, Failure> {
        let file = self.header_file.as_deref();
        let from_file = file.map(|path| read(path, "--header-file")).transpose()?.unwrap_or_default();
        let lines = from_file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let header = |line: &str| {
            let parts = line.split_once(':').filter(|(name, _)| !name.trim().is_empty());
            parts.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).ok_or_else(|| {
                // The value may be a secret.
                Failure::usage("--header: a header is `Name: value`").hint("--header 'X-Team: weather'")
            })
        };
        lines.chain(self.headers.iter().map(String::as_str)).map(header).collect()
    }
}

/// Reads a time such as `90s` or `5m`; a bare number is in seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string()),
        Err(_) => humantime::parse_duration(text).map_err(|error| error.to_string()),
    }
}

/// Reads a file that a flag names.
pub(crate) fn read(path: &std::path::Path, flag: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format!("{flag}: {} cannot be read: {error}", path.display())))
}
